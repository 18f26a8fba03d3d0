//! What components say that changed, told among the nodes of a store.
//!
//! Invariant: whoever listens on any node hears of it, sooner or later: what cannot be told is told
//! later, and a node that was cut off takes it that anything changed.

use crate::catalog::{Saying, Updates};
use crate::limits::{CHANGE_INTERVAL, STORE_PAUSE};
use crate::store::{News, Shared};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Tells others what is said here, and notes here what others say.
pub(super) async fn follow(
    shared: Arc<dyn Shared>,
    updates: Arc<Updates>,
    heard: mpsc::UnboundedReceiver<News>,
) {
    updates.outbox().open();
    tokio::join!(tell(&*shared, &updates), hear(&updates, heard));
}

async fn tell(shared: &dyn Shared, updates: &Updates) {
    loop {
        let changed = updates.outbox().take().await;
        let told: Vec<String> = changed.iter().map(Saying::told).collect();
        let mut pause = CHANGE_INTERVAL;
        if let Err(error) = shared.say(&told).await {
            tracing::warn!(%error, "other nodes cannot be told of changed resources; trying again");
            updates.outbox().add(changed);
            pause = STORE_PAUSE;
        }
        // What is said meanwhile is told at once.
        sleep(pause).await;
    }
}

async fn hear(updates: &Updates, mut heard: mpsc::UnboundedReceiver<News>) {
    while let Some(news) = heard.recv().await {
        match news {
            News::Said(text) => match Saying::heard(&text) {
                Some(Saying::One(update)) => updates.note(&update),
                Some(Saying::Resources(source)) => updates.note_resources(Some(&source)),
                None => {}
            },
            News::Missed => updates.note_anything(),
            News::Changed(_) | News::Gone => {}
        }
    }
}
