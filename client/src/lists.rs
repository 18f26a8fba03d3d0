//! `cofferdam tools`, `prompts` and `resources`: what a server has, in some lines each.

use crate::arguments::{Format, ListArguments};
use crate::connect::connect;
use crate::failure::Failure;
use crate::peer::{Peer, PeerError};
use crate::schema::wants;
use crate::session::{Session, Stop, deadline};
use crate::show::{self, ShowError};
use crate::{Exit, clean};
use serde_json::{Value, json};

/// Lists the tools of a server.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn tools(arguments: &ListArguments, session: &Session) -> Result<Exit, Failure> {
    let list = async |peer: &Peer| Ok(json!({ "tools": peer.tools().await? }));
    shown(arguments, session, list, |listed| {
        lines(&listed["tools"], tool)
    })
    .await
}

/// Lists the prompts of a server.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn prompts(arguments: &ListArguments, session: &Session) -> Result<Exit, Failure> {
    let list = async |peer: &Peer| {
        let prompts = peer.list("prompts/list", "prompts").await?;
        Ok(json!({ "prompts": prompts }))
    };
    shown(arguments, session, list, |listed| {
        lines(&listed["prompts"], prompt)
    })
    .await
}

/// Lists the resources of a server, and its templates.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn resources(
    arguments: &ListArguments,
    session: &Session,
) -> Result<Exit, Failure> {
    const TEMPLATES: &str = "resourceTemplates";
    let list = async |peer: &Peer| {
        let resources = peer.list("resources/list", "resources").await?;
        let templates = peer.list("resources/templates/list", TEMPLATES).await?;
        Ok(json!({ "resources": resources, TEMPLATES: templates }))
    };
    shown(arguments, session, list, |listed| {
        let resources = lines(&listed["resources"], |it| resource(it, "uri"));
        let templates = lines(&listed[TEMPLATES], |it| resource(it, "uriTemplate"));
        [resources, templates].concat()
    })
    .await
}

/// Lists something, and shows it.
async fn shown(
    arguments: &ListArguments,
    session: &Session,
    list: impl AsyncFnOnce(&Peer) -> Result<Value, PeerError>,
    described: impl FnOnce(&Value) -> Vec<String>,
) -> Result<Exit, Failure> {
    let peer = connect(&arguments.server)?;
    let listed = async { Ok(list(&peer).await?) };
    let listed = session
        .work(deadline(arguments.server.timeout)?, listed)
        .await;
    let listed = listed.unwrap_or_else(|stop| match stop {
        Stop::Pressed => Err(Failure::Cancelled("nothing was called".to_owned())),
        Stop::Late => Err(Failure::Timeout(
            "the server did not list what it has".to_owned(),
        )),
    })?;
    match arguments.output {
        Format::Json => show::json(&listed)?,
        Format::Text => {
            let described = described(&listed).join("\n\n");
            show::line(&described).map_err(ShowError::from)?;
        }
    }
    Ok(Exit::Done)
}

fn lines(list: &Value, describe: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(describe)
        .collect()
}

/// A tool: its name, what it does, and a line for each argument.
fn tool(tool: &Value) -> String {
    let mut lines = vec![said(&tool["name"])];
    lines.extend(about(tool));
    let schema = &tool["inputSchema"];
    let needed = schema["required"].as_array();
    for (name, wanted) in schema["properties"].as_object().into_iter().flatten() {
        let is_needed = needed.is_some_and(|needed| needed.contains(&Value::from(name.as_str())));
        let kind = wants(schema, wanted);
        lines.push(argument(name, Some(&kind), is_needed, wanted));
    }
    lines.join("\n")
}

/// A prompt: its name, what it is for, and a line for each argument.
fn prompt(prompt: &Value) -> String {
    let mut lines = vec![said(&prompt["name"])];
    lines.extend(about(prompt));
    for wanted in prompt["arguments"].as_array().into_iter().flatten() {
        let name = wanted["name"].as_str().unwrap_or_default();
        lines.push(argument(name, None, wanted["required"] == true, wanted));
    }
    lines.join("\n")
}

/// A resource or a template: its URI, what it is called, its type and size.
fn resource(resource: &Value, uri: &str) -> String {
    let size = resource["size"].as_u64();
    let more = [
        said(&resource["mimeType"]),
        size.map(|size| format!("{size} bytes")).unwrap_or_default(),
    ];
    let more: Vec<String> = more.into_iter().filter(|it| !it.is_empty()).collect();
    let mut first = said(&resource[uri]);
    if !more.is_empty() {
        first = format!("{first} ({})", more.join(", "));
    }
    let title = [&resource["title"], &resource["name"]].map(said);
    let title = title.into_iter().find(|title| !title.is_empty());
    let mut lines = vec![first];
    lines.extend(title.map(|title| format!("  {title}")));
    lines.extend(about(resource));
    lines.join("\n")
}

fn said(value: &Value) -> String {
    value.as_str().map(clean::line).unwrap_or_default()
}

fn about(thing: &Value) -> Option<String> {
    let description = said(&thing["description"]);
    (!description.is_empty()).then(|| format!("  {description}"))
}

fn argument(name: &str, kind: Option<&str>, is_needed: bool, wanted: &Value) -> String {
    let optional = (!is_needed).then_some("optional");
    let notes: Vec<&str> = kind.into_iter().chain(optional).collect();
    let notes = match notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", notes.join(", ")),
    };
    let description = said(&wanted["description"]);
    let description = match description.is_empty() {
        true => description,
        false => format!(": {description}"),
    };
    format!("    {}{notes}{description}", clean::line(name))
}
