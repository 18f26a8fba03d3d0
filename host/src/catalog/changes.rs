//! What a reload did, for operators and logs.

use super::{Catalog, Refused, Served};
use serde::{Deserialize, Serialize};

/// What a reload did.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Components that serve now, and did not.
    pub added: Vec<Change>,
    /// Components of which another version serves now.
    pub changed: Vec<Change>,
    /// Components that do not serve any more.
    pub removed: Vec<Change>,
    /// Files that do not serve as they are.
    pub refused: Vec<Refused>,
    /// Components that serve now.
    pub serving: usize,
}

/// A component that changed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What the operator calls it.
    pub name: String,
    /// The digest of what serves now; of what served last, if it was removed.
    pub digest: String,
    /// The names of its tools.
    pub tools: Vec<String>,
}

impl Changes {
    pub(super) fn between(before: &Catalog, after: &Catalog) -> Self {
        let mut changes = Self {
            refused: after.refused.clone(),
            serving: after.components.len(),
            ..Self::default()
        };
        let find = |catalog: &Catalog, name: &str| {
            let mut components = catalog.components.iter();
            components.find(|it| it.name == name).cloned()
        };
        for now in &after.components {
            match find(before, &now.name) {
                None => changes.added.push(Change::of(now)),
                Some(then) if then.digest != now.digest => changes.changed.push(Change::of(now)),
                Some(_) => {}
            }
        }
        let gone = before.components.iter();
        let gone = gone.filter(|then| find(after, &then.name).is_none());
        changes.removed = gone.map(|then| Change::of(then)).collect();
        changes
    }

    /// Tells what is new.
    pub(super) fn log(&self, known: &[Refused]) {
        for (what, changes) in [
            ("added", &self.added),
            ("changed", &self.changed),
            ("removed", &self.removed),
        ] {
            for change in changes {
                tracing::info!(digest = change.digest, "{what} {}", change.name);
            }
        }
        for refused in self.refused.iter().filter(|it| !known.contains(it)) {
            refused.log();
        }
    }
}

impl Refused {
    pub(super) fn log(&self) {
        let Self { name, reason, .. } = self;
        match &self.serving {
            Some(digest) => tracing::error!("refused {name}: {reason}; {digest} serves on"),
            None => tracing::error!("refused {name}: {reason}"),
        }
    }
}

impl Change {
    fn of(served: &Served) -> Self {
        Self {
            name: served.name.clone(),
            digest: served.digest.clone(),
            tools: served
                .offers
                .tools
                .iter()
                .map(|it| it.name.to_string())
                .collect(),
        }
    }
}
