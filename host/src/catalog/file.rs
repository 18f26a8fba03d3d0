//! Files of components: as they were last seen, and which of their versions serves.
//!
//! Invariants: a file that cannot serve leaves what served before in its place; what is served by one, or
//! is a folder's, no other takes.

use super::choose::{Choice, Clash, Offer, choose};
use super::find::{Found, Look, Stamp};
use super::load::digest;
use super::{LiveCatalog, Name, Refused, Served};
use crate::config::{Location, Source};
use crate::folders::Shelf;
use crate::limits::COMPONENT_BYTES;
use crate::signature::{self, PublicKey, SignatureError, Signer};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// A file as it was last seen.
pub(super) struct File {
    pub(super) found: Found,
    pub(super) stamp: Option<Stamp>,
    /// What is there, or why it cannot serve.
    pub(super) there: Result<Arc<Served>, String>,
    /// What serves.
    pub(super) active: Option<Arc<Served>>,
}

impl LiveCatalog {
    /// What a file has come to.
    pub(super) async fn look(&self, found: Found, known: Option<File>, look: Look) -> File {
        let again = look == Look::Everything;
        let stamp = Stamp::of(&found.path);
        let active = known.as_ref().and_then(|known| known.active.clone());
        let (stamp, there) = match (stamp, known) {
            (Err(error), _) => (None, Err(error.to_string())),
            (Ok(stamp), Some(known))
                if known.stamp == Some(stamp) && !(again && known.there.is_err()) =>
            {
                (Some(stamp), known.there)
            }
            (Ok(stamp), _) => {
                let there = self.load_file(&found, stamp, active.as_ref()).await;
                (Some(stamp), there)
            }
        };
        File {
            found,
            stamp,
            there,
            active,
        }
    }

    async fn load_file(
        &self,
        found: &Found,
        stamp: Stamp,
        active: Option<&Arc<Served>>,
    ) -> Result<Arc<Served>, String> {
        if stamp.size() > COMPONENT_BYTES {
            let size = stamp.size();
            return Err(format!(
                "the file has {size} bytes; the limit is {COMPONENT_BYTES}"
            ));
        }
        let path = found.path.clone();
        let (bytes, digest) = spawn_blocking(move || read(path, stamp))
            .await
            .map_err(|error| error.to_string())??;
        let source = &self.sources[found.source];
        let signer = self.signer(found, source, &bytes)?;
        let same =
            |active: &&Arc<Served>| active.digest == digest && active.signer() == signer.as_ref();
        if let Some(active) = active.filter(same) {
            return Ok(Arc::clone(active));
        }
        let loader = &self.loader;
        let offers = loader.offers(&found.name, &digest, &bytes, source, signer);
        let offers = offers.await?;
        self.loader
            .archive
            .keep(&digest, &bytes)
            .map_err(|error| error.to_string())?;
        self.note_alive(&offers.component);
        Ok(Arc::new(Served {
            name: found.name.clone(),
            digest,
            since: SystemTime::now(),
            offers,
        }))
    }

    /// Who signed a component.
    ///
    /// # Errors
    /// Nobody whom its source trusts.
    fn signer(
        &self,
        found: &Found,
        source: &Source,
        bytes: &[u8],
    ) -> Result<Option<Signer>, String> {
        let keys = [&*source.signed_by, &*self.keys].concat();
        if keys.is_empty() {
            return Ok(None);
        }
        let signature = match &source.location {
            Location::Path(_) => signature::beside(&found.path),
            Location::Registry(_) => Ok(found.signature.clone()),
        };
        let signer = signature.and_then(|text| signature::verify(bytes, text.as_deref(), &keys));
        match signer {
            // Tenants decide for themselves.
            signer if source.signed_by.is_empty() => Ok(signer.ok()),
            Ok(signer) if signer.is_among(&source.signed_by) => Ok(Some(signer)),
            Ok(signer) => {
                let trusted = source.signed_by.iter().map(PublicKey::id).collect();
                Err(SignatureError::Untrusted(signer.key().id(), trusted).to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Reads a file as it was when it was looked at, and digests it.
fn read(path: PathBuf, stamp: Stamp) -> Result<(Vec<u8>, String), String> {
    let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    let after = Stamp::of(&path).map_err(|error| error.to_string())?;
    if after != stamp || bytes.len() as u64 != stamp.size() {
        return Err("it is being written".to_owned());
    }
    let digest = digest(&bytes);
    Ok((bytes, digest))
}

/// Lets every file's new version serve that can. Gives those that cannot, and why.
pub(super) fn settle(files: &mut [File], shelves: &[Arc<Shelf>]) -> Vec<Refused> {
    fn names(served: &Arc<Served>) -> Vec<Name<'_>> {
        served.offers.names().collect()
    }
    let folders = shelves.iter().map(|shelf| {
        let names = vec![Name::Template(shelf.folder().template())];
        Offer {
            old: Some(names.clone()),
            new: Some(names),
            same: true,
        }
    });
    let offers: Vec<_> = files
        .iter()
        .map(|file| Offer {
            old: file.active.as_ref().map(names),
            new: file.there.as_ref().ok().map(names),
            same: match (&file.active, &file.there) {
                (Some(active), Ok(there)) => Arc::ptr_eq(active, there),
                _ => false,
            },
        })
        .chain(folders)
        .collect();
    let reasons: Vec<_> = choose(&offers, |choices| shadow(&offers, choices))
        .into_iter()
        .zip(&*files)
        .map(|(choice, file)| match (choice, &file.there) {
            (Choice::New, _) => None,
            (Choice::Old(Some((name, other))), _) => {
                let other = match files.get(other) {
                    Some(file) => file.found.name.clone(),
                    None => shelves[other - files.len()]
                        .folder()
                        .path()
                        .display()
                        .to_string(),
                };
                Some(format!("{name} is served by {other} already"))
            }
            (Choice::Old(None), Err(reason)) => Some(reason.replace('\n', " ")),
            (Choice::Old(None), Ok(_)) => None,
        })
        .collect();
    let mut refused = Vec::new();
    for (file, reason) in files.iter_mut().zip(reasons) {
        match (reason, &file.there) {
            (Some(reason), _) => refused.push(Refused {
                name: file.found.name.clone(),
                reason,
                serving: file.active.as_ref().map(|active| active.digest.clone()),
            }),
            (None, Ok(there)) => {
                file.active = Some(Arc::clone(there));
                // It serves, and is not what its reference stands for.
                refused.extend(file.found.stale.iter().map(|reason| Refused {
                    name: file.found.name.clone(),
                    reason: reason.clone(),
                    serving: Some(there.digest.clone()),
                }));
            }
            (None, Err(_)) => {}
        }
    }
    refused
}

/// A new version with a resource that another file's template stands for, or with a template that stands
/// for another file's resource: it would take what is the other's.
fn shadow<'a>(offers: &[Offer<Name<'a>>], choices: &[Choice<Name<'a>>]) -> Option<Clash<Name<'a>>> {
    let is_new = |index: usize| choices[index] == Choice::New && !offers[index].same;
    let names = |index: usize| offers[index].names(&choices[index]);
    let news = (0..offers.len()).filter(|index| is_new(*index));
    let pairs = news.flat_map(|new| (0..offers.len()).map(move |other| (new, other)));
    for (new, other) in pairs.filter(|(new, other)| new != other) {
        // Of two new ones the first stays.
        if is_new(other) && new < other {
            continue;
        }
        let theirs = names(other);
        let mut ours = names(new).iter();
        if let Some(name) = ours.find(|it| theirs.iter().any(|other| it.shadows(other))) {
            return Some((new, *name, other));
        }
    }
    None
}
