//! What the macros make of a resource's function, and how a component answers the server with it.
//!
//! A component's table holds its resources by their URI or URI template, which is how the server names
//! what it reads.

use crate::bindings::cofferdam::tool::types::CallError;
use crate::bindings::resources::exports::cofferdam::tool::resources::{ListCall, ResourceCall};
use crate::listing::{List, page_of_lists};
use crate::tool::log_panics;
use crate::{
    Call, CompletionResult, Error, ResourceContents, ResourcePage, ResourceSet, Result, Typed,
};
use std::str::FromStr;

/// What reads one resource.
type Read = fn(&Call, &str, &[(String, String)]) -> Result<ResourceContents>;

/// A resource, or what a template stands for: what [`resource`](macro@crate::resource) makes of a
/// function.
pub trait Resource {
    /// Its URI, or its URI template.
    const URI: &'static str;

    /// Some variable has a function that completes it.
    const COMPLETES: bool;

    /// There is a function that lists what the template stands for.
    const LISTS: bool;

    /// Adds its description.
    fn describe(set: &mut ResourceSet);

    /// A page of what the template stands for; an empty one if nothing lists it.
    ///
    /// # Errors
    /// What the function that lists it failed with.
    fn list(call: &Call, cursor: Option<&str>) -> Result<ResourcePage>;

    /// Reads it. If a variable does not parse, there is no such resource.
    ///
    /// # Errors
    /// What the function failed with.
    fn read(call: &Call, uri: &str, variables: &[(String, String)]) -> Result<ResourceContents>;

    /// Completes a variable; one that nothing completes has no values.
    ///
    /// # Errors
    /// What the function that completes it failed with.
    fn complete(argument: &str, typed: &Typed) -> Result<CompletionResult>;
}

/// Reads a variable; none if it does not parse.
#[doc(hidden)]
#[must_use]
pub fn variable<T: FromStr>(variables: &[(String, String)], name: &str) -> Option<T> {
    let (_, value) = variables.iter().find(|(of, _)| of == name)?;
    value.parse().ok()
}

/// One row of a component's table of resources.
#[doc(hidden)]
#[allow(missing_docs)]
pub struct ResourceEntry {
    pub uri: &'static str,
    pub describe: fn(&mut ResourceSet),
    pub list: Option<List>,
    pub read: Read,
}

/// Answers `describe-resources`.
#[doc(hidden)]
#[must_use]
pub fn describe_resources(resources: &[ResourceEntry]) -> ResourceSet {
    log_panics();
    let mut set = ResourceSet {
        resources: Vec::new(),
        templates: Vec::new(),
        dynamic: resources.iter().any(|entry| entry.list.is_some()),
    };
    for entry in resources {
        (entry.describe)(&mut set);
    }
    set
}

/// Answers `list-resources`: the pages of one template after those of another.
#[doc(hidden)]
pub fn list_resources(
    resources: &[ResourceEntry],
    page: ListCall,
) -> std::result::Result<ResourcePage, CallError> {
    log_panics();
    let call = Call::of_server(page.features);
    let lists: Vec<_> = resources.iter().filter_map(|entry| entry.list).collect();
    page_of_lists(&lists, &call, page.cursor.as_deref()).map_err(Error::into_call_error)
}

/// Answers `read-resource`.
#[doc(hidden)]
pub fn read_resource(
    resources: &[ResourceEntry],
    call: ResourceCall,
) -> std::result::Result<ResourceContents, CallError> {
    log_panics();
    let name = call.template.as_ref().unwrap_or(&call.uri);
    let Some(entry) = resources.iter().find(|entry| entry.uri == name) else {
        return Ok(ResourceContents::new());
    };
    (entry.read)(&Call::of_server(call.features), &call.uri, &call.variables)
        .map_err(Error::into_call_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::bad_cursor;
    use crate::testing::Script;
    use crate::{
        CacheHint, ClientFeatures, Image, ListedResource, ResourceBody, ResourceContent,
        ResourceTemplate, RpcError,
    };

    /// Today's note.
    #[crate::resource(
        "notes://today",
        title = "Today",
        mime_type = "text/plain",
        ttl_ms = 500,
        private
    )]
    fn today() -> &'static str {
        "Nothing yet."
    }

    /// A note.
    #[crate::resource("notes://{year}/{+name}", name = "a note", mime_type = "text/plain", list = notes)]
    fn note(
        call: &Call,
        year: u16,
        #[arg(name = "name", complete = names)] note: String,
    ) -> Result<Option<String>> {
        call.progress(1, None, "")?;
        if note == "broken" {
            crate::bail!("it is torn");
        }
        Ok((year == 2026).then(|| format!("of {note}")))
    }

    fn notes() -> Vec<ListedResource> {
        let name = |n| ListedResource::new(note::uri(2026, n), "a note");
        (0..1500).map(name).collect()
    }

    fn names() -> [&'static str; 2] {
        ["a", "b/c"]
    }

    #[crate::resource("pages://{n}", list = pages)]
    fn page(n: String) -> (Vec<u8>, Image) {
        (n.into_bytes(), Image::png(vec![1]))
    }

    /// Its cursors are its own.
    fn pages(_: &Call, cursor: Option<&str>) -> Result<ResourcePage> {
        let (own, next) = match cursor {
            None => ("1", Some("x:y")),
            Some("x:y") => ("2", None),
            Some(_) => return Err(bad_cursor()),
        };
        Ok(ResourcePage {
            resources: vec![ListedResource::new(page::uri(own), "a page")],
            next_cursor: next.map(str::to_owned),
        })
    }

    fn entry<R: Resource>() -> ResourceEntry {
        ResourceEntry {
            uri: R::URI,
            describe: R::describe,
            list: R::LISTS.then_some(R::list as _),
            read: R::read,
        }
    }

    fn table() -> [ResourceEntry; 3] {
        [entry::<today>(), entry::<note>(), entry::<page>()]
    }

    fn read(uri: &str, template: Option<&str>, variables: &[(&str, &str)]) -> ResourceContents {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Vec<_> = variables.iter().map(owned).collect();
        let table = table();
        let entry = table
            .iter()
            .find(|entry| entry.uri == template.unwrap_or(uri));
        (entry.unwrap().read)(&Script::new().call(), uri, &variables).unwrap()
    }

    #[test]
    fn a_uri_is_a_resource_and_a_template_is_a_template() {
        let set = describe_resources(&table());
        assert!(set.dynamic);
        let listed = ListedResource {
            title: Some("Today".to_owned()),
            description: Some("Today's note.".to_owned()),
            mime_type: Some("text/plain".to_owned()),
            ..ListedResource::new("notes://today", "today")
        };
        assert_eq!(set.resources, [listed]);
        let template = ResourceTemplate {
            uri_template: "notes://{year}/{+name}".to_owned(),
            name: "a note".to_owned(),
            title: None,
            description: Some("A note.".to_owned()),
            mime_type: Some("text/plain".to_owned()),
            annotations: None,
            meta: None,
        };
        assert_eq!(set.templates[0], template);
        assert_eq!(set.templates[1].uri_template, "pages://{n}");
        assert!(!describe_resources(&[entry::<today>()]).dynamic);
    }

    #[test]
    fn what_is_returned_is_the_resource_under_its_uri() {
        let contents = read("notes://today", None, &[]);
        let expected = ResourceContent {
            uri: "notes://today".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            body: ResourceBody::Text("Nothing yet.".to_owned()),
            meta: None,
        };
        assert_eq!(contents.contents, [expected]);
        let hint = CacheHint {
            ttl_ms: 500,
            private: true,
        };
        assert_eq!(contents.cache, Some(hint));

        let contents = read("pages://x", Some("pages://{n}"), &[("n", "x")]);
        let [bytes, image] = contents.contents.as_slice() else {
            panic!("{contents:?}")
        };
        assert_eq!(bytes.body, ResourceBody::Blob(b"x".to_vec()));
        assert_eq!(
            (image.uri.as_str(), image.mime_type.as_deref()),
            ("pages://x", Some("image/png"))
        );
        assert_eq!(contents.cache, None);
    }

    #[test]
    fn variables_reach_the_function() {
        let template = Some("notes://{year}/{+name}");
        let read = |year: &str| read("notes://…", template, &[("year", year), ("name", "b/c")]);
        assert_eq!(
            read("2026").contents[0].body,
            ResourceBody::Text("of b/c".to_owned())
        );
        // None of either is a resource: the one by the function, the other by its type.
        for year in ["2025", "long ago"] {
            assert_eq!(read(year), ResourceContents::new());
        }
        let torn = note(&Script::new().call(), 2026, "broken".to_owned()).unwrap_err();
        assert_eq!(
            torn.into_call_error(),
            CallError::Rpc(RpcError::new(RpcError::INTERNAL, "it is torn"))
        );
    }

    #[test]
    fn a_uri_that_nothing_has_is_no_resource() {
        let unknown = ResourceCall {
            uri: "notes://tomorrow".to_owned(),
            template: None,
            variables: Vec::new(),
            features: ClientFeatures::empty(),
        };
        assert_eq!(
            read_resource(&table(), unknown),
            Ok(ResourceContents::new())
        );
    }

    #[test]
    fn lists_are_paged_one_after_another() {
        let mut cursor = None;
        let mut pages = Vec::new();
        loop {
            let call = ListCall {
                cursor,
                features: ClientFeatures::empty(),
            };
            let page = list_resources(&table(), call).unwrap();
            pages.push((page.resources.len(), page.resources[0].uri.clone()));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let expected = [
            (1000, "notes://2026/0"),
            (500, "notes://2026/1000"),
            (1, "pages://1"),
            (1, "pages://2"),
        ];
        assert_eq!(pages, expected.map(|(count, uri)| (count, uri.to_owned())));
        for wrong in ["", "7", "0:x", "x:1", "1:z", "-1"] {
            let call = ListCall {
                cursor: Some(wrong.to_owned()),
                features: ClientFeatures::empty(),
            };
            let refused = list_resources(&table(), call);
            assert!(
                matches!(&refused, Err(CallError::Rpc(error)) if error.code == RpcError::INVALID_PARAMS),
                "{wrong}: {refused:?}"
            );
        }
    }

    #[test]
    fn variables_complete() {
        const { assert!(<note as Resource>::COMPLETES && !<page as Resource>::COMPLETES) };
        let values = <note as Resource>::complete("name", &Typed::new("B"))
            .unwrap()
            .values;
        assert_eq!(values, ["b/c"]);
    }
}
