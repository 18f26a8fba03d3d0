//! From the argument to the bytes of a file: plain base64, or a `data:` URI with base64 in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_guest::prelude::*;

/// Decodes the argument. White space is passed over, as base64 often comes in lines.
pub(crate) fn read(text: &str) -> Result<Vec<u8>> {
    let base64 = match text.trim_start().strip_prefix("data:") {
        None => text,
        Some(uri) => match uri.split_once(',') {
            Some((kind, data)) if kind.to_ascii_lowercase().ends_with(";base64") => data,
            _ => bail!("a `data:` URI of an image has the form data:image/png;base64,…"),
        },
    };
    let base64: Vec<u8> = base64
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    if base64.is_empty() {
        bail!("there is no image: the argument is empty");
    }
    STANDARD
        .decode(base64)
        .map_err(|error| Error::tool(format!("the image is not valid base64: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_may_have_lines() {
        assert_eq!(read("aGVs\n  bG8=\n"), Ok(b"hello".to_vec()));
    }

    #[test]
    fn a_data_uri_holds_base64() {
        assert_eq!(
            read("data:image/png;base64,aGVsbG8="),
            Ok(b"hello".to_vec())
        );
        assert_eq!(
            read(" data:image/jpeg;name=x;BASE64,aGVsbG8="),
            Ok(b"hello".to_vec())
        );
    }

    #[test]
    fn what_is_no_image_is_said() {
        for (text, named) in [
            ("", "empty"),
            (" \n", "empty"),
            ("not base64!", "base64"),
            ("data:image/png,x", "data:"),
            ("data:", "data:"),
        ] {
            assert!(
                matches!(read(text), Err(Error::Tool(told)) if told.contains(named)),
                "{text}"
            );
        }
    }
}
