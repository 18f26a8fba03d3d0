//! Results, for people or for programs, on standard output.
//!
//! Invariant: as text, nothing that a tool says reaches the terminal but harmless text, and bytes go to
//! files that were not there before; as JSON, there is one document.

use crate::arguments::{Format, OutputArguments};
use crate::{Exit, clean};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why something was not shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShowError {
    /// Standard output.
    #[error("the result cannot be written: {0}")]
    Write(#[from] io::Error),
    /// A file of `--save`.
    #[error("a part of the result cannot be saved in {0}: {1}")]
    Save(PathBuf, io::Error),
}

/// Shows the result of a tool, and tells how it ended.
///
/// # Errors
/// [`ShowError`].
pub(crate) fn result(result: &Value, output: &OutputArguments) -> Result<Exit, ShowError> {
    match output.output {
        Format::Json => json(result)?,
        Format::Text => text(result, output.save.as_deref())?,
    }
    if result["isError"] != true {
        return Ok(Exit::Done);
    }
    eprintln!("cofferdam: the tool reports an error");
    Ok(Exit::ToolError)
}

/// Writes a document.
///
/// # Errors
/// [`ShowError::Write`].
pub(crate) fn json(value: &Value) -> Result<(), ShowError> {
    Ok(line(&clean::json(&format!("{value:#}")))?)
}

/// Writes a line.
///
/// # Errors
/// If standard output takes none, but because its reader has enough.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Shows the messages of a prompt.
///
/// # Errors
/// [`ShowError`].
pub(crate) fn prompt(result: &Value, output: &OutputArguments) -> Result<(), ShowError> {
    if output.output == Format::Json {
        return json(result);
    }
    let mut folder = Folder(output.save.clone());
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().map(clean::line);
        let shown = block(&message["content"], None, &mut folder)?;
        let shown = shown.unwrap_or_default();
        line(&format!("{}: {shown}", role.unwrap_or_default()))?;
    }
    Ok(())
}

/// Shows what a resource holds: a single text as it is.
///
/// # Errors
/// [`ShowError`].
pub(crate) fn resource(result: &Value, output: &OutputArguments) -> Result<(), ShowError> {
    if output.output == Format::Json {
        return json(result);
    }
    let mut folder = Folder(output.save.clone());
    let contents = result["contents"].as_array().map_or(&[][..], Vec::as_slice);
    if let [single] = contents
        && let Some(text) = single["text"].as_str()
    {
        return Ok(line(&clean::text(text))?);
    }
    for it in contents {
        line(&match serde_json::from_value(it.clone()) {
            Ok(contents) => held(contents, &mut folder)?,
            Err(_) => clean::json(&format!("{it:#}")),
        })?;
    }
    Ok(())
}

fn text(result: &Value, save: Option<&Path>) -> Result<(), ShowError> {
    let structured = result.get("structuredContent");
    let mut folder = Folder(save.map(Path::to_owned));
    for it in result["content"].as_array().into_iter().flatten() {
        if let Some(shown) = block(it, structured, &mut folder)? {
            line(&shown)?;
        }
    }
    if let Some(structured) = structured {
        line(&clean::json(&format!("{structured:#}")))?;
    }
    Ok(())
}

/// A block of content as text. None: it is there a second time, as structured content.
fn block(
    block: &Value,
    structured: Option<&Value>,
    folder: &mut Folder,
) -> Result<Option<String>, ShowError> {
    Ok(Some(
        match serde_json::from_value::<ContentBlock>(block.clone()) {
            // Structured content is told as text, too, for those who do not read it.
            Ok(ContentBlock::Text(text))
                if structured.is_some_and(|it| is_same(it, &text.text)) =>
            {
                return Ok(None);
            }
            Ok(ContentBlock::Text(text)) => clean::text(&text.text),
            Ok(ContentBlock::Image(image)) => {
                folder.keep("image", &image.mime_type, &image.data)?
            }
            Ok(ContentBlock::Audio(audio)) => {
                folder.keep("audio", &audio.mime_type, &audio.data)?
            }
            Ok(ContentBlock::Resource(resource)) => held(resource.resource, folder)?,
            Ok(ContentBlock::ResourceLink(link)) => {
                let more = [
                    link.mime_type,
                    link.size.map(|size| format!("{size} bytes")),
                ];
                let more: Vec<String> = more.into_iter().flatten().collect();
                let more = if more.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", more.join(", "))
                };
                let title = link.title.unwrap_or(link.name);
                clean::line(&format!("link {title}: {}{more}", link.uri))
            }
            _ => clean::json(&format!("{block:#}")),
        },
    ))
}

/// What a resource holds, with its URI.
fn held(contents: ResourceContents, folder: &mut Folder) -> Result<String, ShowError> {
    Ok(match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("resource {}\n{}", clean::line(&uri), clean::text(&text))
        }
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => {
            let kind = mime_type.unwrap_or_default();
            let kept = folder.keep("resource", &kind, &blob)?;
            format!("resource {}\n{kept}", clean::line(&uri))
        }
        // What later revisions hold is for programs.
        other => clean::json(&serde_json::to_string_pretty(&other).unwrap_or_default()),
    })
}

fn is_same(structured: &Value, text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
}

/// Where bytes go: a folder of their own, unless one was named.
struct Folder(Option<PathBuf>);

impl Folder {
    /// Saves what is in base64, and tells where.
    fn keep(&mut self, what: &str, kind: &str, data: &str) -> Result<String, ShowError> {
        let kind = clean::line(kind);
        let Ok(bytes) = STANDARD.decode(data) else {
            return Ok(format!("{what} {kind}: not base64, left out"));
        };
        let path = self.write(what, ending(&kind), &bytes)?;
        Ok(format!(
            "{what} {kind}, {} bytes: {}",
            bytes.len(),
            path.display()
        ))
    }

    fn write(&mut self, what: &str, ending: &str, bytes: &[u8]) -> Result<PathBuf, ShowError> {
        let folder = match &self.0 {
            Some(folder) => {
                let failed = |error| ShowError::Save(folder.clone(), error);
                std::fs::create_dir_all(folder).map_err(failed)?;
                folder.clone()
            }
            None => {
                let folder = tempfile::Builder::new().prefix("cofferdam-").tempdir()?;
                self.0.insert(folder.keep()).clone()
            }
        };
        for number in 1.. {
            let path = folder.join(format!("{what}-{number}.{ending}"));
            let failed = |error| ShowError::Save(path.clone(), error);
            match File::create_new(&path) {
                Ok(mut file) => {
                    file.write_all(bytes).map_err(failed)?;
                    return Ok(path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(folder)
    }
}

/// The end of the name of a file with such content. A server chooses the type, but no name.
fn ending(kind: &str) -> &'static str {
    match kind.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/csv" => "csv",
        "text/html" => "html",
        "text/plain" => "txt",
        _ => "bin",
    }
}
