//! What many ask for at once is done together: one statement, and one wait for the disk, for all that came
//! while the one before it was under way. Whoever comes alone does not wait for others.
//!
//! Invariant: what cannot be done together comes back to whoever asked, who does it alone and holds up
//! nobody.

use tokio::sync::{mpsc, oneshot};

/// Most that is done together.
const MOST: usize = 256;
/// Bytes of these, about; a larger one is done alone.
const BYTES: usize = 4 << 20;

/// Work of one kind.
pub(super) struct Together<T, R>(mpsc::UnboundedSender<Asked<T, R>>);

struct Asked<T, R> {
    bytes: usize,
    work: T,
    answer: oneshot::Sender<Result<R, T>>,
}

impl<T: Send + 'static, R: Send + 'static> Together<T, R> {
    /// Done by `work`, which gives one answer for each, in their order, or gives it back. It ends when this
    /// is dropped.
    pub(super) fn new<F>(work: impl Fn(Vec<T>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Vec<Result<R, T>>> + Send,
    {
        let (queue, mut asked) = mpsc::unbounded_channel::<Asked<T, R>>();
        tokio::spawn(async move {
            let mut waiting = Vec::new();
            while asked.recv_many(&mut waiting, MOST).await > 0 {
                while !waiting.is_empty() {
                    let rest = waiting.split_off(fitting(&waiting));
                    let (all, answers): (Vec<_>, Vec<_>) =
                        waiting.into_iter().map(|it| (it.work, it.answer)).unzip();
                    for (answer, done) in answers.into_iter().zip(work(all).await) {
                        // Nobody waits any more.
                        let _ = answer.send(done);
                    }
                    waiting = rest;
                }
            }
        });
        Self(queue)
    }

    /// Has it done with what others ask for; or it is to be done alone. `None` if the runtime ends.
    pub(super) async fn ask(&self, work: T, bytes: usize) -> Option<Result<R, T>> {
        let (answer, done) = oneshot::channel();
        let asked = Asked {
            bytes,
            work,
            answer,
        };
        self.0.send(asked).ok()?;
        done.await.ok()
    }
}

/// How many of the first are done together.
fn fitting<T, R>(waiting: &[Asked<T, R>]) -> usize {
    let mut bytes = 0_usize;
    let fit = waiting.iter().take_while(|asked| {
        bytes = bytes.saturating_add(asked.bytes);
        bytes <= BYTES
    });
    fit.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test]
    async fn what_comes_meanwhile_is_done_together_and_large_things_alone() {
        let together = Together::new(|all: Vec<u32>| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let number = all.len();
            let alone = |it| if it == 2 { Err(it) } else { Ok((it, number)) };
            all.into_iter().map(alone).collect()
        });
        let together = Arc::new(together);
        let mut asked = Vec::new();
        for number in 0..6 {
            let together = Arc::clone(&together);
            let bytes = if number == 4 { BYTES + 1 } else { BYTES / 4 };
            asked.push(tokio::spawn(
                async move { together.ask(number, bytes).await },
            ));
            // In their order.
            tokio::task::yield_now().await;
        }
        let mut done = Vec::new();
        for asked in asked {
            done.push(asked.await.unwrap().unwrap());
        }
        let together = [
            Ok((0, 1)),
            Ok((1, 3)),
            Err(2),
            Ok((3, 3)),
            Ok((4, 1)),
            Ok((5, 1)),
        ];
        assert_eq!(done, together);
    }
}
