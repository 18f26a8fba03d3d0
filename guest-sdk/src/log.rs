//! Log lines: they go to the server's log under the tool's name, and to the client if it asked.
//!
//! Lines over 16 KiB are cut, and beyond 200 lines a second they are dropped. Never log secrets.
//! Compiled natively, lines go to standard error.

pub use crate::bindings::cofferdam::tool::log::Level;
use serde::Serialize;
use serde_json::{Map, Value};

/// Writes one line with further fields, which may be empty.
pub fn write(level: Level, message: &str, fields: &Map<String, Value>) {
    let fields = if fields.is_empty() {
        None
    } else {
        serde_json::to_string(fields).ok()
    };
    if cfg!(target_family = "wasm") {
        crate::bindings::cofferdam::tool::log::write(level, message, fields.as_deref());
    } else {
        eprintln!("{level:?}: {message} {}", fields.unwrap_or_default());
    }
}

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident $level:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(message: impl AsRef<str>) {
            write(Level::$level, message.as_ref(), &Map::new());
        }
    )+

        /// The levels under the names of their functions.
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        pub mod levels {
            use super::Level;
            $(pub const $name: Level = Level::$level;)+
        }
    };
}

levels! {
    /// Details for whoever debugs the tool.
    debug Debug,
    /// What normally happens.
    info Info,
    /// Normal, but worth to be seen.
    notice Notice,
    /// Something is odd.
    warning Warning,
    /// Something failed.
    error Error,
    /// A part of the tool does not work.
    critical Critical,
    /// Someone must act at once.
    alert Alert,
    /// Nothing works.
    emergency Emergency,
}

/// A field's value; one that has no JSON form is replaced by the reason.
#[doc(hidden)]
pub fn field<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(error.to_string()))
}

/// Logs a formatted line with fields: `log!(level, "format", arguments…; name = value, …)`.
///
/// The level is the name of one of the functions in [`log`](mod@crate::log).
///
/// ```
/// use cofferdam_guest::prelude::*;
///
/// let rows = 3;
/// log!(info, "read {rows} rows");
/// log!(warning, "row {} is empty", 2; file = "a.csv", rows = rows);
/// ```
#[macro_export]
macro_rules! log {
    ($level:ident, $format:literal $(, $argument:expr)* $(; $($field:ident = $value:expr),+ $(,)?)?) => {{
        #[allow(unused_mut)]
        let mut fields = $crate::__private::serde_json::Map::new();
        $($(fields.insert(
            ::std::string::String::from(::std::stringify!($field)),
            $crate::__private::field(&$value),
        );)+)?
        $crate::log::write(
            $crate::log::levels::$level,
            &::std::format!($format $(, $argument)*),
            &fields,
        );
    }};
}
