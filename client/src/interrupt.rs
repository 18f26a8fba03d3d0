//! Ctrl-C: the first is heard by the command, which cancels; the second ends the program.

use crate::Exit;
use crossterm::{cursor, execute, terminal};
use tokio::signal::ctrl_c;
use tokio::sync::watch;

/// Whether Ctrl-C was pressed.
#[derive(Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on.
    pub(crate) fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            while ctrl_c().await.is_ok() {
                if sender.send_replace(true) {
                    restore_terminal();
                    std::process::exit(i32::from(Exit::Cancelled.code()));
                }
            }
        });
        Self(receiver)
    }

    /// Waits for it.
    pub(crate) async fn pressed(&mut self) {
        if self.0.wait_for(|pressed| *pressed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A prompt that is left in the middle leaves the terminal as it made it.
pub(crate) fn restore_terminal() {
    // Without a terminal there is nothing to do.
    if terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = terminal::disable_raw_mode();
        let _ = execute!(std::io::stderr(), cursor::Show);
        eprintln!();
    }
}
