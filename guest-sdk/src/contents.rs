//! From what a resource's function returns to the contract's `resource-contents`.

use crate::{
    CacheHint, Content, EmbeddedResource, Error, Image, ListedResource, ResourceBody,
    ResourceContent, ResourceContents, ResourceLink, Result,
};

impl ListedResource {
    /// A resource with nothing but its address and a name; set the other fields as needed.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            meta: None,
        }
    }
}

impl From<ListedResource> for ResourceLink {
    fn from(listed: ListedResource) -> Self {
        Self {
            uri: listed.uri,
            name: listed.name,
            title: listed.title,
            description: listed.description,
            mime_type: listed.mime_type,
            size: listed.size,
            annotations: listed.annotations,
        }
    }
}

impl From<ListedResource> for Content {
    fn from(listed: ListedResource) -> Self {
        Self::ResourceLink(listed.into())
    }
}

impl ResourceContent {
    /// Contents whose URI and MIME type are those of the resource.
    fn of(body: ResourceBody) -> Self {
        Self {
            uri: String::new(),
            mime_type: None,
            body,
            meta: None,
        }
    }
}

impl ResourceContents {
    /// No contents yet. A resource without any is one that does not exist.
    #[must_use]
    pub fn new() -> Self {
        Self {
            contents: Vec::new(),
            cache: None,
            meta: None,
        }
    }

    /// Adds contents. An empty URI stands for that of the resource.
    #[must_use]
    pub fn with(mut self, content: impl Into<ResourceContent>) -> Self {
        self.contents.push(content.into());
        self
    }

    /// How long a client may keep them, and whether nobody else may.
    #[must_use]
    pub fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = Some(hint);
        self
    }
}

impl Default for ResourceContents {
    fn default() -> Self {
        Self::new()
    }
}

impl From<String> for ResourceContent {
    fn from(text: String) -> Self {
        Self::of(ResourceBody::Text(text))
    }
}

impl From<&str> for ResourceContent {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<u8>> for ResourceContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of(ResourceBody::Blob(bytes))
    }
}

impl From<Image> for ResourceContent {
    fn from(image: Image) -> Self {
        Self {
            mime_type: Some(image.mime_type),
            ..image.data.into()
        }
    }
}

impl From<EmbeddedResource> for ResourceContent {
    fn from(resource: EmbeddedResource) -> Self {
        Self {
            uri: resource.uri,
            mime_type: resource.mime_type,
            ..Self::of(resource.body)
        }
    }
}

/// What a resource's function may return.
///
/// * `String`, `&str`: text. `Vec<u8>`: bytes. Both under the resource's own URI and MIME type.
/// * [`Image`]: bytes under their own MIME type.
/// * [`EmbeddedResource`], [`ResourceContent`], `Vec<ResourceContent>`: contents under their own URI
///   and MIME type. An empty URI stands for that of the resource.
/// * A pair of these: both.
/// * [`ResourceContents`]: anything else.
/// * `Option` of these: none if there is no such resource.
/// * `Result` of these, with [`Error`] or any `std::error::Error`. [`Error::Tool`] becomes the
///   JSON-RPC error -32603 with its text.
pub trait IntoResourceContents {
    /// Makes the contents.
    ///
    /// # Errors
    /// What the function failed with.
    fn into_resource_contents(self) -> Result<ResourceContents>;
}

impl IntoResourceContents for ResourceContents {
    fn into_resource_contents(self) -> Result<ResourceContents> {
        Ok(self)
    }
}

impl IntoResourceContents for Vec<ResourceContent> {
    fn into_resource_contents(self) -> Result<ResourceContents> {
        Ok(ResourceContents {
            contents: self,
            ..ResourceContents::new()
        })
    }
}

impl<T: IntoResourceContents> IntoResourceContents for Option<T> {
    fn into_resource_contents(self) -> Result<ResourceContents> {
        match self {
            Some(contents) => contents.into_resource_contents(),
            None => Ok(ResourceContents::new()),
        }
    }
}

impl<T: IntoResourceContents, E: Into<Error>> IntoResourceContents for std::result::Result<T, E> {
    fn into_resource_contents(self) -> Result<ResourceContents> {
        self.map_err(Into::into)?.into_resource_contents()
    }
}

impl<A: Into<ResourceContent>, B: Into<ResourceContent>> IntoResourceContents for (A, B) {
    fn into_resource_contents(self) -> Result<ResourceContents> {
        Ok(ResourceContents::new().with(self.0).with(self.1))
    }
}

macro_rules! one_content {
    ($($kind:ty),+) => {$(
        impl IntoResourceContents for $kind {
            fn into_resource_contents(self) -> Result<ResourceContents> {
                Ok(ResourceContents::new().with(self))
            }
        }
    )+};
}
one_content!(
    String,
    &str,
    Vec<u8>,
    Image,
    EmbeddedResource,
    ResourceContent
);

/// Sets what the contents leave to the resource.
#[doc(hidden)]
#[must_use]
pub fn filled(
    mut contents: ResourceContents,
    uri: &str,
    mime_type: Option<String>,
    cache: Option<CacheHint>,
) -> ResourceContents {
    for content in &mut contents.contents {
        if content.uri.is_empty() {
            uri.clone_into(&mut content.uri);
        }
        if content.mime_type.is_none() {
            content.mime_type.clone_from(&mime_type);
        }
    }
    contents.cache = contents.cache.or(cache);
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_also_a_link() {
        let listed = ListedResource {
            size: Some(3),
            ..ListedResource::new("notes://today", "today")
        };
        let link = ResourceLink {
            size: Some(3),
            ..ResourceLink::new("notes://today", "today")
        };
        assert_eq!(Content::from(listed), Content::ResourceLink(link));
    }
}
