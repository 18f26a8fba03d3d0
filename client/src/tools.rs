//! `cofferdam tools`.

use crate::arguments::{Format, ToolsArguments};
use crate::connect::connect;
use crate::failure::Failure;
use crate::schema::wants;
use crate::session::{Session, Stop, deadline};
use crate::show::{self, ShowError};
use crate::{Exit, clean};
use serde_json::{Value, json};

/// Lists the tools of a server.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn tools(arguments: &ToolsArguments, session: &Session) -> Result<Exit, Failure> {
    let peer = connect(&arguments.server)?;
    let listed = async { Ok(peer.tools().await?) };
    let listed = session
        .work(deadline(arguments.server.timeout)?, listed)
        .await;
    let tools = listed.unwrap_or_else(|stop| match stop {
        Stop::Pressed => Err(Failure::Cancelled("nothing was called".to_owned())),
        Stop::Late => Err(Failure::Timeout(
            "the server did not list its tools".to_owned(),
        )),
    })?;
    if arguments.output == Format::Json {
        show::json(&json!({ "tools": tools }))?;
        return Ok(Exit::Done);
    }
    let described: Vec<String> = tools.iter().map(describe).collect();
    show::line(&described.join("\n\n")).map_err(ShowError::from)?;
    Ok(Exit::Done)
}

/// A tool in some lines: its name, what it does, and a line for each argument.
fn describe(tool: &Value) -> String {
    let said = |value: &Value| value.as_str().map(clean::line).unwrap_or_default();
    let mut lines = vec![said(&tool["name"])];
    let description = said(&tool["description"]);
    if !description.is_empty() {
        lines.push(format!("  {description}"));
    }
    let schema = &tool["inputSchema"];
    let needed = schema["required"].as_array();
    for (name, wanted) in schema["properties"].as_object().into_iter().flatten() {
        let is_needed = needed.is_some_and(|needed| needed.contains(&Value::from(name.as_str())));
        let optional = if is_needed { "" } else { ", optional" };
        let description = said(&wanted["description"]);
        let description = if description.is_empty() {
            description
        } else {
            format!(": {description}")
        };
        let name = clean::line(name);
        lines.push(format!(
            "    {name} ({}{optional}){description}",
            wants(schema, wanted)
        ));
    }
    lines.join("\n")
}
