//! Commands that speak to something else than a server of their own, or make something.
//!
//! Each gives `true` if all is well, and `false` if what it told makes the program fail. What they print
//! of others holds no control characters, so that nobody writes to the terminal through them.

mod component;
mod inspect;
mod layout;
mod new;
mod operator;
mod registry;
mod reload;
mod status;

pub use component::{ComponentArguments, component};
pub use inspect::{InspectArguments, inspect};
pub use new::{NewArguments, new};
pub use operator::{Operator, OperatorError};
pub use registry::{PullArguments, PushArguments, pull, push};
pub use reload::reload;
pub use status::status;

/// A line of text, whatever others put into it.
fn clean(text: &str) -> String {
    let visible = |char: char| if is_hidden(char) { '\u{fffd}' } else { char };
    text.chars().map(visible).collect()
}

/// True of what a terminal obeys in place of showing it, the direction of writing included.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
