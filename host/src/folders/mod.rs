//! Folders that are served as resources, without a component.
//!
//! Invariants: only files of the folder are read, whatever a URI says and whatever becomes of the folder
//! meanwhile; what is hidden, a link, or no file is answered as what is not there; a file is read whole
//! or not at all, up to a bound, off the threads that serve everybody.

mod index;
mod kind;
mod open;
mod path;

pub use kind::{is_text, media_type};
pub use path::FilePath;

use crate::limits::{FOLDER_ENTRIES, FOLDER_READS};
use crate::protocol::{
    Blob, Body, CacheHints, CacheScope, ReadAnswer, ResourceContents, TemplateError, UriTemplate,
    raw,
};
use index::Index;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use serde_json::value::RawValue;
use serde_json::{Map, json};
use std::io::{self, Read as _};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Why a folder is not listed.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be opened or read.
    #[error("cannot read the folder: {0}")]
    Unreadable(#[source] io::Error),
    /// There is more in it than is looked at.
    #[error(
        "there are more than {FOLDER_ENTRIES} files and folders in it (FOLDER_ENTRIES); name a folder in \
         it, or set index = false"
    )]
    TooMany,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not there, or not to be read.
    #[error("there is no such file")]
    Missing,
    /// It is larger than it may be.
    #[error("The file has more bytes than are served; the limit is {0} (files.max-file-bytes)")]
    TooLarge(u64),
    /// The system says so.
    #[error("The file cannot be read: {0}")]
    Io(io::Error),
}

impl From<Errno> for ReadError {
    fn from(error: Errno) -> Self {
        match error {
            // A link is answered by LOOP or NOTDIR; what the server may not read is not for callers, either.
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::MLINK
            | Errno::ISDIR
            | Errno::NAMETOOLONG
            | Errno::INVAL
            | Errno::NXIO
            | Errno::ACCESS
            | Errno::PERM => Self::Missing,
            error => Self::Io(error.into()),
        }
    }
}

/// What an operator said of a folder.
#[derive(Clone, Debug)]
pub struct FolderOptions {
    /// Where it is.
    pub path: PathBuf,
    /// What the URIs of its files begin with; ends with `/`.
    pub uri: String,
    /// For people.
    pub title: Option<String>,
    /// What is in it.
    pub description: Option<String>,
    /// Largest file, bytes. Larger ones are not listed, and refused.
    pub max_file_bytes: u64,
    /// Serve files and folders whose names begin with a dot.
    pub hidden: bool,
    /// List the files, and tell of changes.
    pub index: bool,
}

/// A folder that is served.
pub struct Folder {
    path: PathBuf,
    uri: Arc<str>,
    text: Arc<str>,
    template: UriTemplate,
    /// What its reads are counted and logged under.
    label: Arc<str>,
    /// Stands for it as a source.
    source: Arc<str>,
    definition: Box<RawValue>,
    max_file_bytes: u64,
    hidden: bool,
    index: bool,
    reads: Arc<Semaphore>,
}

impl Folder {
    /// A folder as an operator wants it served.
    ///
    /// # Errors
    /// Its URI is none.
    pub fn new(options: FolderOptions) -> Result<Self, TemplateError> {
        let FolderOptions {
            path,
            uri,
            title,
            description,
            max_file_bytes,
            hidden,
            index,
        } = options;
        let text = format!("{uri}{{+path}}");
        let template = UriTemplate::parse(&text)?;
        let mut parts = uri.split(['/', ':']).filter(|part| !part.is_empty());
        let mut definition = json!({
            "name": parts.next_back().unwrap_or(&uri),
            "uriTemplate": text,
        });
        for (member, value) in [("title", title), ("description", description)] {
            if let Some(value) = value {
                definition[member] = value.into();
            }
        }
        Ok(Self {
            label: format!("resource:{text}").into(),
            source: format!("files:{uri}").into(),
            definition: raw(&definition),
            text: text.into(),
            uri: uri.into(),
            path,
            template,
            max_file_bytes,
            hidden,
            index,
            reads: Arc::new(Semaphore::new(FOLDER_READS)),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// What the URIs of its files begin with.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The template of its files.
    #[must_use]
    pub fn template(&self) -> &UriTemplate {
        &self.template
    }

    /// The template's text.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// What reads of its files are counted and logged under.
    #[must_use]
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Stands for it as a source.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// MCP's description of the template.
    #[must_use]
    pub fn definition(&self) -> &RawValue {
        &self.definition
    }

    /// True if its files are listed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.index
    }

    /// Opens the folder, and looks at what is in it if it is listed. Blocks.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn look(self: &Arc<Self>) -> Result<Shelf, FolderError> {
        let root = open::root(&self.path).map_err(|error| FolderError::Unreadable(error.into()))?;
        let files = match self.index {
            true => index::scan(root.as_fd(), self)?,
            false => Index::new(),
        };
        Ok(Shelf {
            folder: Arc::clone(self),
            root: Some(root),
            files,
        })
    }
}

/// A folder as it was when it was looked at last. Its files are read as they are.
pub struct Shelf {
    folder: Arc<Folder>,
    /// None: it is gone.
    root: Option<OwnedFd>,
    files: Index,
}

impl Shelf {
    /// A folder that is gone.
    #[must_use]
    pub fn gone(folder: &Arc<Folder>) -> Self {
        Self {
            folder: Arc::clone(folder),
            root: None,
            files: Index::new(),
        }
    }

    /// Which folder.
    #[must_use]
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// How many files are listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// True if no file is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The file that a URI stands for, whether it is there or not.
    #[must_use]
    pub fn file(&self, uri: &str) -> Option<FilePath> {
        let rest = uri.strip_prefix(&*self.folder.uri)?;
        FilePath::read(rest, self.folder.hidden)
    }

    /// The URIs of the listed files after this one (of all, if there is none), in their order, with MCP's
    /// descriptions.
    pub fn files_after(&self, uri: Option<&str>) -> impl Iterator<Item = (&Arc<str>, &RawValue)> {
        let after = uri.map_or(Bound::Unbounded, Bound::Excluded);
        let files = self.files.range::<str, _>((after, Bound::Unbounded));
        files.map(|(uri, entry)| (uri, &*entry.definition))
    }

    /// The URIs of files that are not as they were on an earlier shelf of the same folder.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> Vec<Arc<str>> {
        index::changes(&before.files, &self.files)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(self: Arc<Self>, path: FilePath) -> Result<ReadAnswer, ReadError> {
        let reads = Arc::clone(&self.folder.reads);
        let stopped = |_| ReadError::Io(io::Error::other("the server stops"));
        let place = reads.acquire_owned().await.map_err(stopped)?;
        let read = spawn_blocking(move || {
            // Kept until the file is read, also if nobody waits for it any more.
            let _place = place;
            self.read_now(&path)
        });
        read.await.map_err(|error| ReadError::Io(error.into()))?
    }

    fn read_now(&self, path: &FilePath) -> Result<ReadAnswer, ReadError> {
        let root = self.root.as_ref().ok_or(ReadError::Missing)?;
        let most = self.folder.max_file_bytes;
        let (file, stat) = open::file(root, path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > most {
            return Err(ReadError::TooLarge(most));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // It may grow meanwhile.
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(ReadError::Io)?;
        if bytes.len() as u64 > most {
            return Err(ReadError::TooLarge(most));
        }
        let kind = media_type(path.bytes());
        let body = match is_text(kind) {
            true => String::from_utf8(bytes).map_err(|error| error.into_bytes()),
            false => Err(bytes),
        };
        Ok(ReadAnswer {
            contents: vec![ResourceContents {
                uri: format!("{}{}", self.folder.uri, path.to_uri()),
                mime_type: Some(kind.to_owned()),
                body: body.map_or_else(|bytes| Body::Blob(Blob(bytes)), Body::Text),
                meta: Map::new(),
            }],
            // It may be another one the next moment.
            cache: CacheHints {
                ttl_ms: 0,
                cache_scope: CacheScope::Public,
            },
            meta: Map::new(),
        })
    }
}

#[cfg(test)]
mod tests;
