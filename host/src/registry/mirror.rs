//! A folder that keeps what registries gave: manifests and components by their digests, and what
//! each tag stood for when it was last asked for.
//!
//! Invariant: a file named by a digest holds the bytes of that digest, or is not there: it is written
//! beside and renamed, and checked when it is read. What a tag stands for changes only where the
//! operator said that it may.

use super::{Client, Digest, Manifest, Pull, Reference, RegistryError};
use crate::files;
use crate::limits::COMPONENT_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What the names of files begin with that are not whole.
const PART: &str = ".part-";

/// A folder of components from registries. One process writes to it.
#[derive(Clone, Debug)]
pub struct Mirror {
    folder: PathBuf,
}

/// What is done with a tag that stands for something else than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedTag {
    /// It is an error.
    Refuse,
    /// What it stands for now is taken.
    Follow,
}

/// A component that was had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is; see [`Fetched::read`].
    pub path: PathBuf,
    /// Its own digest: SHA-256, lower-case hexadecimal.
    pub digest: String,
    /// The manifest's digest, to pin it by.
    pub manifest: Digest,
    /// Its minisign signature.
    pub signature: Option<String>,
    /// Why this is what was had before: the registry could not be asked, or the tag moved and may
    /// not.
    pub stale: Option<String>,
}

impl Fetched {
    /// Its bytes, looked at once more.
    ///
    /// # Errors
    /// [`FetchError::Io`], [`FetchError::Changed`].
    pub fn read(&self) -> Result<Vec<u8>, FetchError> {
        let bytes = fs::read(&self.path);
        let bytes = bytes.map_err(|error| FetchError::Io(self.path.clone(), error))?;
        match Digest::of(&bytes).hex() == self.digest {
            true => Ok(bytes),
            false => Err(FetchError::Changed(self.path.clone())),
        }
    }
}

/// Why a component cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The registry did not give it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A tag stands for something else than before.
    #[error(
        "{reference}: the tag moved from {before} to {now}; to take that, pin it ({reference}@{now}), \
         or let it move with `follow = true` in its [[tools]]"
    )]
    Moved {
        /// What was asked for.
        reference: String,
        /// What it stood for.
        before: Digest,
        /// What it stands for.
        now: Digest,
    },
    /// The folder or a file of it cannot be used.
    #[error("cannot keep components of registries in {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// A file was changed.
    #[error("{0} was changed; remove it to ask the registry again")]
    Changed(PathBuf),
    /// The work was dropped.
    #[error("the server stops")]
    Stopped,
}

/// What a tag stood for.
#[derive(Deserialize, Serialize)]
struct Tag {
    reference: String,
    manifest: String,
}

impl Mirror {
    /// In a folder, which is made if need be. What was left half-written there is removed.
    ///
    /// # Errors
    /// [`FetchError::Io`].
    pub fn open(folder: &Path) -> Result<Self, FetchError> {
        let mirror = Self {
            folder: folder.to_owned(),
        };
        files::make_folder(folder).map_err(|error| mirror.failed(error))?;
        for name in mirror.names()? {
            if name.starts_with(PART) {
                mirror.remove(&name)?;
            }
        }
        Ok(mirror)
    }

    /// Has what a reference stands for: by its digest from the folder, if it is there, and else from
    /// the registry. A tag is asked for each time.
    ///
    /// # Errors
    /// [`FetchError`]. A registry that does not answer is one only if nothing was had before.
    pub async fn fetch(
        &self,
        client: &Client,
        reference: &Reference,
        moved: MovedTag,
    ) -> Result<Fetched, FetchError> {
        let (mirror, client, reference) = (self.clone(), client.clone(), reference.clone());
        let fetching = move || match reference.digest() {
            Some(digest) => mirror.pinned(&client, &reference, digest),
            None => mirror.tagged(&client, &reference, moved),
        };
        let fetched = tokio::task::spawn_blocking(fetching).await;
        fetched.map_err(|_| FetchError::Stopped)?
    }

    fn pinned(
        &self,
        client: &Client,
        reference: &Reference,
        digest: &Digest,
    ) -> Result<Fetched, FetchError> {
        if let Some(manifest) = self.held(digest)? {
            return Ok(self.fetched(&manifest, None));
        }
        let manifest = self.take(client.pull(reference)?)?;
        Ok(self.fetched(&manifest, None))
    }

    fn tagged(
        &self,
        client: &Client,
        reference: &Reference,
        moved: MovedTag,
    ) -> Result<Fetched, FetchError> {
        let before = self.tag(reference)?;
        let taken = client.pull(reference).map_err(FetchError::from);
        let taken = taken.and_then(|pull| {
            let now = pull.manifest().digest.clone();
            match &before {
                Some(before) if *before != now && moved == MovedTag::Refuse => {
                    Err(FetchError::Moved {
                        reference: reference.to_string(),
                        before: before.clone(),
                        now,
                    })
                }
                _ => match self.held(&now)? {
                    Some(manifest) => Ok(manifest),
                    None => self.take(pull),
                },
            }
        });
        match (taken, before) {
            (Ok(manifest), before) => {
                if before.as_ref() != Some(&manifest.digest) {
                    self.note(reference, &manifest.digest)?;
                }
                Ok(self.fetched(&manifest, None))
            }
            (Err(FetchError::Registry(error)), Some(before)) if error.is_silence() => {
                match self.held(&before)? {
                    Some(manifest) => Ok(self.fetched(&manifest, Some(error.to_string()))),
                    None => Err(error.into()),
                }
            }
            // What it stood for is as good as before.
            (Err(error @ FetchError::Moved { .. }), Some(before)) => match self.held(&before)? {
                Some(manifest) => Ok(self.fetched(&manifest, Some(error.to_string()))),
                None => Err(error),
            },
            (Err(error), _) => Err(error),
        }
    }

    /// Removes the components that `keep` does not want, by their digests (lower-case hexadecimal),
    /// and what is known of them. Gives how many components. Nothing may be fetched meanwhile.
    ///
    /// # Errors
    /// [`FetchError::Io`].
    pub fn prune(&self, keep: impl Fn(&str) -> bool) -> Result<usize, FetchError> {
        let names = self.names()?;
        let mut removed = 0;
        for name in &names {
            if let Some(digest) = digest_in(name, ".wasm")
                && !keep(digest.hex())
            {
                self.remove(name)?;
                removed += 1;
            }
        }
        let mut known = HashSet::new();
        for name in &names {
            if let Some(digest) = digest_in(name, ".json") {
                let manifest = self.manifest(&digest)?;
                if manifest.is_some_and(|it| keep(it.component.hex())) {
                    known.insert(digest.to_string());
                } else {
                    self.remove(name)?;
                }
            }
        }
        for name in names.iter().filter(|name| name.starts_with("tag-")) {
            let tag = fs::read(self.folder.join(name)).map_err(|error| self.failed(error))?;
            let tag = serde_json::from_slice::<Tag>(&tag);
            if !tag.is_ok_and(|tag| known.contains(&tag.manifest)) {
                self.remove(name)?;
            }
        }
        Ok(removed)
    }

    fn fetched(&self, manifest: &Manifest, stale: Option<String>) -> Fetched {
        Fetched {
            path: self.component_path(&manifest.component),
            digest: manifest.component.hex().to_owned(),
            manifest: manifest.digest.clone(),
            signature: manifest.signature.clone(),
            stale,
        }
    }

    /// Takes a component and its manifest, in this order: a manifest that is there has its component.
    fn take(&self, pull: Pull<'_>) -> Result<Manifest, FetchError> {
        let path = self.component_path(&pull.manifest().component);
        let mut part = self.part()?;
        let manifest = pull.component(&mut part)?;
        self.settle(part, &path)?;
        self.write(&manifest_name(&manifest.digest), manifest.bytes())?;
        Ok(manifest)
    }

    /// A manifest whose component is here, too.
    fn held(&self, digest: &Digest) -> Result<Option<Manifest>, FetchError> {
        let Some(manifest) = self.manifest(digest)? else {
            return Ok(None);
        };
        let path = self.component_path(&manifest.component);
        let Some(bytes) = self.read(&path)? else {
            return Ok(None);
        };
        if Digest::of(&bytes) != manifest.component {
            tracing::warn!(
                "{} was changed; the registry is asked again",
                path.display()
            );
            return Ok(None);
        }
        Ok(Some(manifest))
    }

    fn manifest(&self, digest: &Digest) -> Result<Option<Manifest>, FetchError> {
        let path = self.folder.join(manifest_name(digest));
        let Some(bytes) = self.read(&path)? else {
            return Ok(None);
        };
        let manifest = Manifest::read(bytes).ok();
        let manifest = manifest.filter(|manifest| manifest.digest == *digest);
        if manifest.is_none() {
            tracing::warn!(
                "{} was changed; the registry is asked again",
                path.display()
            );
        }
        Ok(manifest)
    }

    fn tag(&self, reference: &Reference) -> Result<Option<Digest>, FetchError> {
        let path = self.folder.join(tag_name(reference));
        let Some(bytes) = self.read(&path)? else {
            return Ok(None);
        };
        let tag = serde_json::from_slice::<Tag>(&bytes).ok();
        let tag = tag.filter(|tag| tag.reference == reference.to_string());
        let digest = tag.and_then(|tag| tag.manifest.parse().ok());
        // Not taken for a tag that was never asked for: any other manifest would do then.
        digest.map(Some).ok_or(FetchError::Changed(path))
    }

    fn note(&self, reference: &Reference, manifest: &Digest) -> Result<(), FetchError> {
        let tag = Tag {
            reference: reference.to_string(),
            manifest: manifest.to_string(),
        };
        let text = serde_json::to_vec(&tag).map_err(|error| self.failed(error.into()))?;
        self.write(&tag_name(reference), &text)
    }

    fn component_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("sha256-{}.wasm", digest.hex()))
    }

    fn failed(&self, error: io::Error) -> FetchError {
        FetchError::Io(self.folder.clone(), error)
    }

    fn names(&self) -> Result<Vec<String>, FetchError> {
        let entries = fs::read_dir(&self.folder).map_err(|error| self.failed(error))?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let names: io::Result<_> = names.collect();
        names.map_err(|error| self.failed(error))
    }

    fn remove(&self, name: &str) -> Result<(), FetchError> {
        fs::remove_file(self.folder.join(name)).map_err(|error| self.failed(error))
    }

    /// A file's bytes, if there is one and it is not larger than anything is here.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, FetchError> {
        let read =
            fs::metadata(path).and_then(|metadata| match metadata.len() <= COMPONENT_BYTES {
                true => fs::read(path).map(Some),
                false => Ok(None),
            });
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map_err(|error| self.failed(error)),
        }
    }

    fn part(&self) -> Result<NamedTempFile, FetchError> {
        let part = tempfile::Builder::new()
            .prefix(PART)
            .tempfile_in(&self.folder);
        part.map_err(|error| self.failed(error))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FetchError> {
        let mut part = self.part()?;
        part.write_all(bytes).map_err(|error| self.failed(error))?;
        self.settle(part, &self.folder.join(name))
    }

    /// Gives a file its name, when it is on disk.
    fn settle(&self, part: NamedTempFile, path: &Path) -> Result<(), FetchError> {
        let settled = part.as_file().sync_all();
        settled
            .and_then(|()| part.persist(path).map_err(|error| error.error))
            .and_then(|_| File::open(&self.folder)?.sync_all())
            .map_err(|error| self.failed(error))
    }
}

fn manifest_name(digest: &Digest) -> String {
    format!("sha256-{}.json", digest.hex())
}

fn tag_name(reference: &Reference) -> String {
    let digest = Digest::of(reference.to_string().as_bytes());
    format!("tag-{}.json", digest.hex())
}

/// The digest that a file is named by.
fn digest_in(name: &str, end: &str) -> Option<Digest> {
    let hex = name.strip_prefix("sha256-")?.strip_suffix(end)?;
    format!("sha256:{hex}").parse().ok()
}
