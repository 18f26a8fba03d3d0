//! What components of this node say that changed, until the other nodes of its store are told.
//!
//! Invariant: it is bounded whatever components say, and loses nothing: what is too much to be told one
//! by one is told as a change of any resource of its source.

use super::{Update, What};
use crate::limits::CHANGES_TOLD;
use crate::protocol::Kind;
use indexmap::IndexSet;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Notify;

/// What nodes tell one another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Saying {
    /// Something changed.
    One(Update),
    /// Any resource of this source may have changed.
    Resources(Arc<str>),
}

/// What is still to be told. Nothing is kept until somebody takes it.
#[derive(Default)]
pub struct Outbox {
    open: AtomicBool,
    waiting: Mutex<IndexSet<Saying>>,
    filled: Notify,
}

impl Outbox {
    /// From now on somebody takes what is put here.
    pub fn open(&self) {
        self.open.store(true, Relaxed);
    }

    /// A component of this source says that something changed.
    pub(super) fn put(&self, what: impl FnOnce() -> What, source: &Arc<str>) {
        if self.open.load(Relaxed) {
            let update = Update {
                what: what(),
                source: Some(Arc::clone(source)),
            };
            self.add([Saying::One(update)]);
        }
    }

    /// Waits until there is something to tell, and takes it.
    pub async fn take(&self) -> Vec<Saying> {
        loop {
            let taken = std::mem::take(&mut *self.waiting.lock());
            if !taken.is_empty() {
                return taken.into_iter().collect();
            }
            self.filled.notified().await;
        }
    }

    /// These are to be told, too, or could not be told yet.
    pub fn add(&self, sayings: impl IntoIterator<Item = Saying>) {
        let mut waiting = self.waiting.lock();
        for saying in sayings {
            insert(&mut waiting, saying);
        }
        self.filled.notify_one();
    }
}

fn insert(waiting: &mut IndexSet<Saying>, saying: Saying) {
    if let Some(source) = saying.resource_of() {
        let any = Saying::Resources(Arc::clone(source));
        if waiting.contains(&any) {
            return;
        }
        if waiting.len() >= CHANGES_TOLD && !waiting.contains(&saying) {
            waiting.retain(|it| it.resource_of() != Some(source));
            waiting.insert(any);
            return;
        }
    }
    waiting.insert(saying);
}

impl Saying {
    /// The source of the resource that it says changed.
    fn resource_of(&self) -> Option<&Arc<str>> {
        match self {
            Self::One(update) if matches!(update.what, What::Resource(_)) => update.source.as_ref(),
            _ => None,
        }
    }

    /// As text: the source, what changed, and of a resource its URI.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Resources(source) => format!("{source} resources"),
            Self::One(Update { what, source }) => {
                let source = source.as_deref().unwrap_or_default();
                match what {
                    What::Resource(uri) => format!("{source} resource {uri}"),
                    What::List(kind) => format!("{source} list {}", kind.wish()),
                }
            }
        }
    }

    /// What another node told. None: it is of a later version, and says something else.
    #[must_use]
    pub fn heard(text: &str) -> Option<Self> {
        let (source, what) = text.split_once(' ')?;
        let source = Arc::from(source);
        let what = match what.split_once(' ') {
            None if what == "resources" => return Some(Self::Resources(source)),
            Some(("resource", uri)) => What::Resource(uri.into()),
            Some(("list", wish)) => {
                What::List(Kind::ALL.into_iter().find(|kind| kind.wish() == wish)?)
            }
            _ => return None,
        };
        Some(Self::One(Update {
            what,
            source: Some(source),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, what: What) -> Saying {
        Saying::One(Update {
            what,
            source: Some(source.into()),
        })
    }

    fn uri(number: usize) -> Arc<str> {
        format!("a:{number}").into()
    }

    fn resource(source: &str, number: usize) -> Saying {
        of(source, What::Resource(uri(number)))
    }

    #[test]
    fn what_is_told_is_heard() {
        let mut sayings = vec![
            Saying::Resources("sha256:00".into()),
            of("sha256:00", What::Resource("a:b c".into())),
        ];
        sayings.extend(Kind::ALL.map(|kind| of("sha256:00", What::List(kind))));
        for saying in sayings {
            assert_eq!(Saying::heard(&saying.told()), Some(saying));
        }
        for odd in ["", "s", "s ", "s unheard", "s unheard of", "s list unheard"] {
            assert_eq!(Saying::heard(odd), None, "{odd}");
        }
    }

    #[tokio::test]
    async fn a_component_that_says_too_much_is_told_in_short_and_others_are_not() {
        let outbox = Outbox::default();
        let put = |source: &str, number: usize| {
            outbox.put(|| What::Resource(uri(number)), &source.into());
        };
        put("closed", 0);
        outbox.open();
        put("calm", 0);
        for number in 0..3 * CHANGES_TOLD {
            put("loud", number);
        }
        outbox.put(|| What::List(Kind::Resources), &"loud".into());
        put("calm", 1);
        let wanted = [
            resource("calm", 0),
            Saying::Resources("loud".into()),
            of("loud", What::List(Kind::Resources)),
            resource("calm", 1),
        ];
        let taken = outbox.take().await;
        assert_eq!(taken, wanted);
        put("calm", 2);
        outbox.add(taken);
        assert_eq!(outbox.take().await.len(), 5);
    }
}
