//! What a file is, by its name.
//!
//! Invariant: only what is text by its type is ever sent as text.

/// Endings of names, and what files are that have them.
const TYPES: &[(&str, &str)] = &[
    ("adoc", "text/asciidoc"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cfg", "text/plain"),
    ("conf", "text/plain"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("ini", "text/plain"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("py", "text/x-python"),
    ("rs", "text/x-rust"),
    ("rst", "text/x-rst"),
    ("rtf", "application/rtf"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tex", "text/x-tex"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("wit", "text/plain"),
    ("xhtml", "application/xhtml+xml"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Whole names, in capitals, of files that are text without an ending that says so.
const TEXTS: [&str; 8] = [
    "AUTHORS",
    "CHANGELOG",
    "CONTRIBUTING",
    "COPYING",
    "DOCKERFILE",
    "LICENSE",
    "MAKEFILE",
    "README",
];

/// The media type of a file with this name (the last one of its path).
#[must_use]
pub fn media_type(name: &[u8]) -> &'static str {
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    let known = match name.rsplit_once('.') {
        Some((_, end)) => {
            let mut types = TYPES.iter();
            types
                .find(|(known, _)| known.eq_ignore_ascii_case(end))
                .map(|(_, kind)| *kind)
        }
        None => {
            let mut texts = TEXTS.iter();
            texts
                .any(|text| text.eq_ignore_ascii_case(&name))
                .then_some("text/plain")
        }
    };
    known.unwrap_or("application/octet-stream")
}

/// True for types whose files are text.
#[must_use]
pub fn is_text(media_type: &str) -> bool {
    const OTHERS: [&str; 7] = [
        "application/json",
        "application/jsonl",
        "application/rtf",
        "application/sql",
        "application/toml",
        "application/xml",
        "application/yaml",
    ];
    media_type.starts_with("text/") || media_type.ends_with("+xml") || OTHERS.contains(&media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_files_are() {
        for (name, kind, text) in [
            ("a/b.MD", "text/markdown", true),
            ("a.json", "application/json", true),
            ("a.svg", "image/svg+xml", true),
            ("a.tar.gz", "application/gzip", false),
            ("a.png", "image/png", false),
            ("a.unheard-of", "application/octet-stream", false),
            ("dir.md/readme", "text/plain", true),
            ("md", "application/octet-stream", false),
            ("", "application/octet-stream", false),
        ] {
            assert_eq!(media_type(name.as_bytes()), kind, "{name}");
            assert_eq!(is_text(kind), text, "{name}");
        }
        assert!(
            TYPES.is_sorted_by(|(a, _), (b, _)| a < b),
            "in order, and each once"
        );
    }
}
