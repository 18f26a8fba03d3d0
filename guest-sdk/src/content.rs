//! Content blocks: what a result shows.

use crate::bindings::cofferdam::tool::types::{MediaContent, TextContent};
use crate::{Annotations, Content, EmbeddedResource, ResourceBody, ResourceLink};

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent {
            text: text.into(),
            annotations: None,
        })
    }

    /// An image of this MIME type, for example `image/png`.
    pub fn image(data: Vec<u8>, mime_type: impl Into<String>) -> Self {
        Self::Image(MediaContent {
            data,
            mime_type: mime_type.into(),
            annotations: None,
        })
    }

    /// A sound of this MIME type, for example `audio/wav`.
    pub fn audio(data: Vec<u8>, mime_type: impl Into<String>) -> Self {
        Self::Audio(MediaContent {
            data,
            mime_type: mime_type.into(),
            annotations: None,
        })
    }

    /// Sets hints about the block.
    #[must_use]
    pub fn annotated(mut self, annotations: Annotations) -> Self {
        let place = match &mut self {
            Self::Text(text) => &mut text.annotations,
            Self::Image(media) | Self::Audio(media) => &mut media.annotations,
            Self::ResourceLink(link) => &mut link.annotations,
            Self::EmbeddedResource(resource) => &mut resource.annotations,
        };
        *place = Some(annotations);
        self
    }
}

/// An image, as a handler's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// The encoded image.
    pub data: Vec<u8>,
    /// For example `image/png`.
    pub mime_type: String,
}

impl Image {
    /// An image of any MIME type.
    pub fn new(data: Vec<u8>, mime_type: impl Into<String>) -> Self {
        Self {
            data,
            mime_type: mime_type.into(),
        }
    }

    /// A PNG.
    pub fn png(data: Vec<u8>) -> Self {
        Self::new(data, "image/png")
    }

    /// A JPEG.
    pub fn jpeg(data: Vec<u8>) -> Self {
        Self::new(data, "image/jpeg")
    }
}

/// A sound, as a handler's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// The encoded sound.
    pub data: Vec<u8>,
    /// For example `audio/wav`.
    pub mime_type: String,
}

impl Audio {
    /// A sound of any MIME type.
    pub fn new(data: Vec<u8>, mime_type: impl Into<String>) -> Self {
        Self {
            data,
            mime_type: mime_type.into(),
        }
    }

    /// A WAV.
    pub fn wav(data: Vec<u8>) -> Self {
        Self::new(data, "audio/wav")
    }
}

impl EmbeddedResource {
    /// A resource that is text.
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            body: ResourceBody::Text(text.into()),
            annotations: None,
        }
    }

    /// A resource that is bytes.
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            body: ResourceBody::Blob(bytes),
            annotations: None,
        }
    }
}

impl ResourceLink {
    /// A link with nothing but its address and a name; set the other fields as needed.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Image> for Content {
    fn from(image: Image) -> Self {
        Self::image(image.data, image.mime_type)
    }
}

impl From<Audio> for Content {
    fn from(audio: Audio) -> Self {
        Self::audio(audio.data, audio.mime_type)
    }
}

impl From<EmbeddedResource> for Content {
    fn from(resource: EmbeddedResource) -> Self {
        Self::EmbeddedResource(resource)
    }
}

impl From<ResourceLink> for Content {
    fn from(link: ResourceLink) -> Self {
        Self::ResourceLink(link)
    }
}
