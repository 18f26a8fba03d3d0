//! `completion/complete`.

use super::call::{Asking, Prepared, answer, shorten};
use super::sight::completes;
use super::{MethodResult, Server};
use crate::call::{Complete, Events, Reply, Target, unknown_resource};
use crate::catalog::{Component, Sight as _};
use crate::metrics::Outcome;
use crate::protocol::{Completion, Params, Request, RpcError, object, raw};
use crate::runtime::Reference;
use crate::tenants::Caller;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;

impl Server {
    pub(super) async fn complete(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let (params, call) = (&request.params, Asking::of(request));
        let reply = self.complete_reply(caller, params, call, events).await?;
        answer(request.id, reply)
    }

    /// Completes an argument, and counts what it came to.
    pub(super) async fn complete_reply(
        &self,
        caller: &Caller,
        params: &Params<'_>,
        mut call: Asking<'_>,
        events: &Arc<Events>,
    ) -> Result<Reply, RpcError> {
        if !completes(&self.catalog.now(), &caller.tenant) {
            return Err(RpcError::method_not_found());
        }
        let asked = Asked::read(params)?;
        let complete = self.find(caller, asked)?;
        let label = Arc::clone(&complete.label);
        let (counters, counted) =
            self.count(caller, "completion/complete", &label, &mut call.trace);
        if !complete.component.program.completes() {
            let nothing = raw(&Completion::default());
            return counted.end(Ok((Outcome::Result, Reply::Outcome(Ok(nothing)))));
        }
        let target = Target::Complete(Box::new(complete));
        let run = self.run(caller, &call, events, Prepared::new(target, counters));
        counted.end(run.await)
    }

    /// What is to be completed, if there is such an argument.
    fn find(&self, caller: &Caller, asked: Asked) -> Result<Complete, RpcError> {
        let Asked {
            reference,
            argument,
            context,
        } = asked;
        let catalog = self.catalog.now();
        let unknown = |what: String| RpcError::invalid_params(what);
        let complete = |component: &Arc<Component>, label: &Arc<str>, reference, has: bool| {
            if !has {
                let name = shorten(&argument.0);
                return Err(unknown(format!(
                    "Invalid params: there is no argument {name:?}"
                )));
            }
            Ok(Complete {
                component: Arc::clone(component),
                label: Arc::clone(label),
                reference,
                argument: argument.clone(),
                context: context.clone(),
            })
        };
        match reference {
            Reference::Prompt(name) => {
                let prompt = catalog.prompt(&name).filter(|it| caller.tenant.prompt(it));
                let prompt =
                    prompt.ok_or_else(|| unknown(format!("Unknown prompt: {}", shorten(&name))))?;
                let own = Reference::Prompt(prompt.own_name.clone());
                complete(
                    &prompt.component,
                    &prompt.label,
                    own,
                    prompt.has(&argument.0),
                )
            }
            Reference::Template(text) => {
                let template = catalog.template(&text);
                let template = template.filter(|it| caller.tenant.template(it));
                let template = template.ok_or_else(|| unknown_resource(&text))?;
                let has = template.template.names().any(|it| it == argument.0);
                let own = Reference::Template(text);
                complete(&template.component, &template.label, own, has)
            }
        }
    }
}

/// What a client asks to be completed.
struct Asked {
    reference: Reference,
    argument: (String, String),
    context: Vec<(String, String)>,
}

impl Asked {
    fn read(params: &Params<'_>) -> Result<Self, RpcError> {
        let member = |name: &str, value: Option<&RawValue>| {
            let value = value.ok_or_else(|| bad(&format!("missing {name:?}")))?;
            object(name, value)
        };
        let mut reference = member("ref", params.reference)?;
        let mut text = |name: &str| match reference.remove(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(bad(&format!("ref.{name} must be a string"))),
        };
        let reference = match &*text("type")? {
            "ref/prompt" => Reference::Prompt(text("name")?),
            "ref/resource" => Reference::Template(text("uri")?),
            _ => return Err(bad("ref.type must be ref/prompt or ref/resource")),
        };
        let mut argument = member("argument", params.argument)?;
        let (name, value) = (argument.remove("name"), argument.remove("value"));
        let (Some(Value::String(name)), Some(Value::String(value))) = (name, value) else {
            return Err(bad("argument.name and argument.value must be strings"));
        };
        let context = params.context.map(|context| object("context", context));
        let context = context.transpose()?.unwrap_or_default();
        Ok(Self {
            reference,
            argument: (name, value),
            context: given(context)?,
        })
    }
}

/// Arguments that have a value already.
fn given(mut context: Map<String, Value>) -> Result<Vec<(String, String)>, RpcError> {
    let Some(arguments) = context.remove("arguments") else {
        return Ok(Vec::new());
    };
    let strings = || bad("context.arguments must be an object of strings");
    let Value::Object(arguments) = arguments else {
        return Err(strings());
    };
    let text = |(name, value)| match value {
        Value::String(value) => Ok((name, value)),
        _ => Err(strings()),
    };
    arguments.into_iter().map(text).collect()
}

fn bad(what: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {what}"))
}
