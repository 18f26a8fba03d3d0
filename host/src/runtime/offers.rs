//! Prompts, resources and completions, from the guest contract's types to the protocol's.
//!
//! Invariant: a description that passes is one that a client may get as it is, whether it was told at load
//! or listed for a request.

use super::convert::{annotations, body, content, object_of, role};
use super::wit::{completion, prompts, resources};
use crate::limits::{CURSOR_BYTES, RESOURCES_PER_COMPONENT};
use crate::protocol::{
    Annotations, CacheHints, CacheScope, Completion, ListedPage, ListedResource, PromptAnswer,
    PromptMessage, ReadAnswer, ResourceContents, is_uri, raw,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A prompt's answer.
pub(super) fn prompt(result: prompts::PromptResult) -> Result<PromptAnswer, String> {
    let messages = result.messages.into_iter().map(|message| {
        Ok::<_, String>(PromptMessage {
            role: role(message.role),
            content: content(message.content)?,
        })
    });
    Ok(PromptAnswer {
        description: result.description,
        messages: messages.collect::<Result<_, _>>()?,
        meta: object_of("meta", result.meta)?,
    })
}

/// What a resource holds. How long it may be cached, the guest says; for whom, the server has a word in.
pub(super) fn contents(result: resources::ResourceContents) -> Result<ReadAnswer, String> {
    let parts = result.contents.into_iter().map(|part| {
        Ok::<_, String>(ResourceContents {
            uri: part.uri,
            mime_type: part.mime_type,
            body: body(part.body),
            meta: object_of("meta", part.meta)?,
        })
    });
    let private = CacheHints {
        ttl_ms: 0,
        cache_scope: CacheScope::Private,
    };
    // What JavaScript can count to.
    const LONGEST: u64 = (1 << 53) - 1;
    Ok(ReadAnswer {
        contents: parts.collect::<Result<_, _>>()?,
        cache: result.cache.map_or(private, |hint| CacheHints {
            ttl_ms: hint.ttl_ms.min(LONGEST),
            cache_scope: match hint.private {
                true => CacheScope::Private,
                false => CacheScope::Public,
            },
        }),
        meta: object_of("meta", result.meta)?,
    })
}

/// Values.
pub(super) fn completion(result: completion::CompletionResult) -> Completion {
    Completion::new(result.values, result.total, result.has_more)
}

/// A page of resources.
pub(super) fn page(page: resources::ResourcePage) -> Result<ListedPage, String> {
    let (listed, most) = (page.resources.len(), RESOURCES_PER_COMPONENT);
    if listed > most {
        return Err(format!(
            "a page of {listed} resources; the limit is {most} (RESOURCES_PER_COMPONENT)"
        ));
    }
    let next = page.next_cursor;
    if next.as_ref().is_some_and(|next| next.len() > CURSOR_BYTES) {
        return Err(format!(
            "a cursor of more than {CURSOR_BYTES} bytes (CURSOR_BYTES)"
        ));
    }
    let listed = page.resources.into_iter().map(|resource| {
        let uri = resource.uri.clone();
        match definition(resource) {
            Ok(definition) => Ok(ListedResource { uri, definition }),
            Err(reason) => {
                let uri: String = uri.chars().take(128).collect();
                Err(format!("resource {uri:?}: {reason}"))
            }
        }
    });
    Ok(ListedPage {
        resources: listed.collect::<Result<_, String>>()?,
        next,
    })
}

/// MCP's `Resource` or `ResourceTemplate`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

/// A resource's description, as clients get it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn definition(resource: resources::ListedResource) -> Result<Box<RawValue>, String> {
    if !is_uri(&resource.uri) {
        return Err("the uri must be an absolute URI".to_owned());
    }
    Ok(raw(&Definition {
        uri: Some(resource.uri),
        uri_template: None,
        name: named(resource.name)?,
        title: resource.title,
        description: resource.description,
        mime_type: resource.mime_type,
        size: resource.size,
        annotations: annotations(resource.annotations)?,
        meta: object_of("meta", resource.meta)?,
    }))
}

/// A template's description, as clients get it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn template(template: resources::ResourceTemplate) -> Result<Box<RawValue>, String> {
    Ok(raw(&Definition {
        uri: None,
        uri_template: Some(template.uri_template),
        name: named(template.name)?,
        title: template.title,
        description: template.description,
        mime_type: template.mime_type,
        size: None,
        annotations: annotations(template.annotations)?,
        meta: object_of("meta", template.meta)?,
    }))
}

fn named(name: String) -> Result<String, String> {
    match name.is_empty() {
        true => Err("the name must not be empty".to_owned()),
        false => Ok(name),
    }
}
