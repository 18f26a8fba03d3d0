//! `[[files]]`: folders whose files are served as resources.

use super::check::{Place, refuse};
use super::{ConfigError, around, raw};
use crate::folders::{Folder, FolderOptions};
use crate::limits::{FILE_BYTES, URI_BYTES};
use crate::protocol::is_uri;
use std::path::PathBuf;
use std::sync::Arc;

/// Largest `max-file-bytes`: a file is held in memory while it is sent.
const LARGEST: u64 = 64 << 20;

impl Place<'_> {
    pub(super) fn folders(
        &self,
        raw: Vec<raw::Files>,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Vec<Arc<Folder>>, ConfigError> {
        let mut folders: Vec<Arc<Folder>> = Vec::with_capacity(raw.len());
        for (index, raw) in raw.into_iter().enumerate() {
            let key = |member: &str| format!("files[{index}].{member}");
            let path = beside(raw.path);
            refuse(&self.of(&key("path")), around::folder(&path))?;
            self.folder_uri(&key("uri"), &raw.uri)?;
            let other = folders.iter().position(|it| {
                let (ours, theirs) = (&*raw.uri, it.uri());
                ours.starts_with(theirs) || theirs.starts_with(ours)
            });
            if let Some(other) = other {
                let reason = format!(
                    "the URIs of files[{other}] begin with it, or the other way round; choose another"
                );
                return self.bad(&key("uri"), reason);
            }
            let most = raw.max_file_bytes.unwrap_or(FILE_BYTES);
            let folder = Folder::new(FolderOptions {
                path,
                uri: raw.uri,
                title: raw.title,
                description: raw.description,
                max_file_bytes: self.number(&key("max-file-bytes"), most, 1..=LARGEST)?,
                hidden: raw.hidden,
                index: raw.index.unwrap_or(true),
            });
            let folder = folder.or_else(|error| self.bad(&key("uri"), error.to_string()))?;
            folders.push(Arc::new(folder));
        }
        Ok(folders)
    }

    fn folder_uri(&self, key: &str, uri: &str) -> Result<(), ConfigError> {
        let example = "for example \"handbook:///\"";
        if !is_uri(uri) || !uri.ends_with('/') {
            let reason = format!("must be a URI that ends with /, {example}");
            return self.bad(key, reason);
        }
        if uri.contains(['{', '}', '?', '#', '%']) {
            return self.bad(key, format!("must have none of {{ }} ? # %, {example}"));
        }
        if uri.len() > URI_BYTES / 4 {
            let reason = format!("must be at most {} bytes long", URI_BYTES / 4);
            return self.bad(key, reason);
        }
        Ok(())
    }
}
