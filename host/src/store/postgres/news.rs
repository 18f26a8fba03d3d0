//! What other nodes tell (`LISTEN`), over a connection of its own.
//!
//! Invariant: whoever hears of it can learn all: each time that the line comes up it is told that anything
//! may have changed. A message has ids of tasks, or names a resource or list that changed, and nothing that
//! is in a task.

use super::pool::{Fault, Line};
use super::statements as sql;
use crate::limits::{DATABASE_CONNECT_TIME, NEWS_PAUSE, NEWS_PAUSE_MOST};
use crate::store::News;
use crate::task::TaskId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::future::poll_fn;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;

/// What is told when a node is gone.
const GONE: &str = "gone";

/// What comes after the sender in what is not about tasks: no id looks like that.
pub(super) const SAID: &str = "said ";

/// Follows what others tell until nobody listens. What begins with `own` is this node's.
pub(super) fn follow(line: Line, own: String) -> mpsc::UnboundedReceiver<News> {
    let (tell, news) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut pause = NEWS_PAUSE;
        loop {
            tokio::select! {
                () = tell.closed() => return,
                (fault, was_up) = listen(&line, &own, &tell) => {
                    if was_up {
                        pause = NEWS_PAUSE;
                        tracing::warn!("nodes cannot tell this one of changes now: {fault}");
                    } else {
                        tracing::debug!("nodes cannot tell this one of changes yet: {fault}");
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(NEWS_PAUSE_MOST);
        }
    });
    news
}

/// Listens until the line is down. Gives why, and whether it was up.
async fn listen(line: &Line, own: &str, tell: &mpsc::UnboundedSender<News>) -> (Fault, bool) {
    let connected = timeout(DATABASE_CONNECT_TIME, line.connect()).await;
    let (client, mut connection) = match connected {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return (error.into(), false),
        Err(_) => return (Fault::slow(DATABASE_CONNECT_TIME), false),
    };
    let mut is_up = false;
    let listen = client.batch_execute(sql::LISTEN);
    let listen = timeout(DATABASE_CONNECT_TIME, listen);
    tokio::pin!(listen);
    loop {
        tokio::select! {
            listening = &mut listen, if !is_up => match listening {
                Ok(Ok(())) => {
                    is_up = true;
                    // Nobody hears it any more if the receiver is gone.
                    let _ = tell.send(News::Missed);
                }
                Ok(Err(error)) => return (error.into(), false),
                Err(_) => return (Fault::slow(DATABASE_CONNECT_TIME), false),
            },
            message = poll_fn(|context| connection.poll_message(context)) => match message {
                Some(Ok(AsyncMessage::Notification(message))) => {
                    for news in read(message.payload(), own) {
                        let _ = tell.send(news);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return (error.into(), is_up),
                None => return (Fault::closed(), is_up),
            },
        }
    }
}

/// What a message says, if it is another node's: who it is from, and ids of tasks.
fn read(message: &str, own: &str) -> Vec<News> {
    if message == GONE {
        return vec![News::Gone];
    }
    let Some((_, told)) = message.split_once(' ') else {
        return Vec::new();
    };
    if message.starts_with(own) {
        return Vec::new();
    }
    if let Some(said) = told.strip_prefix(SAID) {
        return vec![News::Said(said.to_owned())];
    }
    let ids = told.split(' ');
    let changed = |id: &str| {
        let bytes = STANDARD.decode(id).ok()?;
        Some(News::Changed(TaskId::from_bytes(bytes.try_into().ok()?)))
    };
    ids.filter_map(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_heard_and_nothing_else() {
        let ids = [TaskId::random(), TaskId::random()];
        let [one, two] = ids.map(|id| STANDARD.encode(id.as_bytes()));
        let told = format!("b {one} {two}");
        assert_eq!(read(&told, "a "), ids.map(News::Changed));
        assert_eq!(read(&told, "b "), []);
        assert_eq!(read(GONE, "a "), [News::Gone]);
        assert_eq!(read("b said a:b c", "a "), [News::Said("a:b c".to_owned())]);
        assert_eq!(read("b said a:b c", "b "), []);
        for odd in ["", "b", "b AAAA", "b ?"] {
            assert_eq!(read(odd, "a "), [], "{odd}");
        }
    }
}
