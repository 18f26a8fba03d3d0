//! Every number of the client, in one place, with what happens when it is reached.

use std::time::Duration;

/// Time to connect to a server. Longer: the server counts as out of reach.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// Time to answer a request that runs no tool. Longer: the server counts as out of reach.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);
/// Time for the answer to `tasks/cancel` after Ctrl-C. Longer: the command ends without it.
pub(crate) const CANCEL: Duration = Duration::from_secs(10);
/// Largest message of a server, bytes. Larger: an error.
pub(crate) const MESSAGE_BYTES: usize = 64 << 20;
/// What is read of an answer that is no message, bytes. The rest is left.
pub(crate) const REFUSAL_BYTES: usize = 64 << 10;
/// Pages of a list of tools. More: an error.
pub(crate) const LIST_PAGES: usize = 1_000;
/// Rounds of questions of a call that is no task. More: an error.
pub(crate) const ROUNDS: usize = 100;
/// Wait before a call that the server wants to have again, without asking anything.
pub(crate) const BUSY: Duration = Duration::from_millis(500);
/// Attempts to reach a server again while a task is followed. More: the last error.
pub(crate) const ATTEMPTS: u32 = 12;
/// Wait before the first of them; it doubles with each.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest wait between two of them.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Silence of a stream after which the task is looked at by `tasks/get`.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);
/// Polling interval of a task that names none.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// The shortest polling interval. A shorter one of a server counts as this.
pub(crate) const SHORTEST_POLL: Duration = Duration::from_millis(100);
/// The longest polling interval. A longer one of a server counts as this.
pub(crate) const LONGEST_POLL: Duration = Duration::from_secs(60);
/// Reasons that are told of one value that does not fit its schema. More: left out.
pub(crate) const REASONS: usize = 8;
/// Characters of a text of others that are shown in a line or a question. More: cut.
pub(crate) const LINE_CHARS: usize = 2_000;
/// Steps from one `$ref` to the next. More: the schema counts as one that allows anything.
pub(crate) const REFERENCES: usize = 16;
/// Largest file that is read as an argument, bytes. Larger: an error.
pub(crate) const FILE_BYTES: u64 = 64 << 20;
/// Entries of a menu that are shown at once. More: the menu scrolls.
pub(crate) const MENU_ENTRIES: usize = 12;
