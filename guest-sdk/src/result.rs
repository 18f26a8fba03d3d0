//! From what a handler returns to the contract's `tool-result`.

use crate::{
    Audio, Content, EmbeddedResource, Error, Image, ResourceLink, Result, ToolResult, schema,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

impl ToolResult {
    /// A result that shows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            content: Vec::new(),
            structured: None,
            is_error: false,
            meta: None,
        }
    }

    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().with(Content::text(text))
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Sets the structured content. Without any content block, the server shows it as text too.
    ///
    /// # Errors
    /// [`Error::Rpc`] if the value has no JSON form (a map whose keys are no strings).
    pub fn structured<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Self> {
        self.structured = Some(json(value)?);
        Ok(self)
    }

    /// Marks the result as an error of the tool, which its content explains.
    #[must_use]
    pub fn error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Sets the result's `_meta`, a JSON object.
    #[must_use]
    pub fn meta(mut self, meta: &serde_json::Map<String, Value>) -> Self {
        // A map of strings to values always has a JSON form.
        self.meta = serde_json::to_string(meta).ok();
        self
    }

    /// Appends another result: its content after ours, its structured content and `_meta` in place
    /// of ours if it has any, an error if either is one.
    fn merge(mut self, other: Self) -> Self {
        self.content.extend(other.content);
        self.structured = other.structured.or(self.structured);
        self.meta = other.meta.or(self.meta);
        self.is_error |= other.is_error;
        self
    }
}

impl Default for ToolResult {
    fn default() -> Self {
        Self::new()
    }
}

/// Structured content: the tool declares `T`'s schema as its output schema.
///
/// ```
/// # use cofferdam_guest::prelude::*;
/// #[derive(Serialize, JsonSchema)]
/// struct Size { width: u32, height: u32 }
///
/// /// The size of a screen.
/// #[tool(read_only)]
/// fn screen_size() -> Structured<Size> {
///     Structured(Size { width: 640, height: 480 })
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured<T>(pub T);

/// What a handler may return.
///
/// * `()`, `String`, `&str`, [`Content`], [`Image`], [`Audio`], [`EmbeddedResource`],
///   [`ResourceLink`], `Vec<Content>`: content blocks.
/// * [`Structured`]: structured content with an output schema.
/// * Tuples of two to four of these: all their blocks, in order.
/// * [`ToolResult`]: anything else.
/// * `Result` of these, with [`Error`] or any `std::error::Error`.
pub trait IntoToolResult {
    /// Makes the result.
    ///
    /// # Errors
    /// What the handler failed with, or [`Error::Rpc`] if the value has no JSON form.
    fn into_tool_result(self) -> Result<ToolResult>;

    /// The schema of the structured content, if the type has one.
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new())
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult {
            content: self,
            ..ToolResult::new()
        })
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<ToolResult> {
        ToolResult::new().structured(&self.0)
    }

    fn output_schema() -> Option<Value> {
        Some(schema::of_output::<T>())
    }
}

impl<T: IntoToolResult, E: Into<Error>> IntoToolResult for std::result::Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }
}

macro_rules! one_block {
    ($($kind:ty),+) => {$(
        impl IntoToolResult for $kind {
            fn into_tool_result(self) -> Result<ToolResult> {
                Ok(ToolResult::new().with(self))
            }
        }
    )+};
}
one_block!(
    String,
    &str,
    Content,
    Image,
    Audio,
    EmbeddedResource,
    ResourceLink
);

macro_rules! tuple {
    ($($part:ident),+) => {
        impl<$($part: IntoToolResult),+> IntoToolResult for ($($part,)+) {
            #[allow(non_snake_case)]
            fn into_tool_result(self) -> Result<ToolResult> {
                let ($($part,)+) = self;
                Ok(ToolResult::new()$(.merge($part.into_tool_result()?))+)
            }

            fn output_schema() -> Option<Value> {
                None$(.or_else($part::output_schema))+
            }
        }
    };
}
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);

/// A value as JSON text.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| {
        Error::rpc(
            crate::RpcError::INTERNAL,
            format!("a value has no JSON form: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize, JsonSchema)]
    struct Size {
        width: u32,
    }

    #[test]
    fn text_becomes_one_block() {
        let result = "hello".into_tool_result().unwrap();
        assert_eq!(
            result,
            ToolResult {
                content: vec![Content::text("hello")],
                ..ToolResult::new()
            }
        );
        assert_eq!(<&str as IntoToolResult>::output_schema(), None);
    }

    #[test]
    fn nothing_becomes_an_empty_result() {
        assert_eq!(().into_tool_result().unwrap(), ToolResult::new());
    }

    #[test]
    fn a_structure_leaves_its_text_to_the_server() {
        let result = Structured(Size { width: 3 }).into_tool_result().unwrap();
        assert_eq!(
            result,
            ToolResult {
                structured: Some(r#"{"width":3}"#.to_owned()),
                ..ToolResult::new()
            }
        );
    }

    #[test]
    fn a_tuple_is_all_its_blocks_and_the_one_structure() {
        type Both = (Image, &'static str, Structured<Size>);
        let both: Both = (Image::png(vec![1]), "small", Structured(Size { width: 3 }));
        let result = both.into_tool_result().unwrap();
        assert_eq!(
            result.content,
            [Content::image(vec![1], "image/png"), Content::text("small")]
        );
        assert_eq!(result.structured.as_deref(), Some(r#"{"width":3}"#));
        assert_eq!(Both::output_schema(), Structured::<Size>::output_schema());
    }

    #[test]
    fn a_result_declares_the_schema_of_its_success() {
        let schema = <Result<Structured<Size>, std::io::Error>>::output_schema().unwrap();
        assert_eq!(schema["properties"]["width"]["type"], json!("integer"));
        let failed: Result<Structured<Size>, std::io::Error> = Err(std::io::Error::other("broken"));
        assert_eq!(failed.into_tool_result(), Err(Error::tool("broken")));
    }

    #[test]
    fn what_has_no_json_form_is_an_internal_error() {
        let map = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(
            matches!(ToolResult::new().structured(&map), Err(Error::Rpc(error)) if error.code == -32603)
        );
    }
}
