//! Steps: pieces of work that a handler does once, however often it is run.
//!
//! Invariant: what a step returns is what was read from its record's bytes, in every run.

use crate::result::json;
use crate::{Call, Error, RecordError, Result, RpcError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the record keys of steps begin with.
const STEP: &str = "step:";
/// With what is put before it, a name must not be longer than a record's key.
const STEP_NAME_BYTES: usize = 256 - STEP.len();

impl Call {
    /// Does a piece of work once in a call, and returns what was recorded of it: when the handler is
    /// run again, that is recalled in place of working again. A name is 1 to 251 bytes, and each step
    /// of a call has its own. The value is recorded as JSON, at most 1 MiB, under the name with `step:`
    /// before it.
    ///
    /// The value counts exactly once: when the step has returned, its work is never done again. The
    /// work is done at least once: if the server is lost before the value is recorded, the work is done
    /// again, and what it had done outside happens twice. So let such effects be idempotent, for example
    /// by a key that an earlier step made. Inside the work, other steps may be done and questions asked.
    ///
    /// What the work reads (a clock, a random number, an answer) belongs to the step: let it reach the
    /// rest of the handler only through the value. A variable that the work changes is not changed when
    /// the value is recalled.
    ///
    /// ```
    /// use cofferdam_guest::prelude::*;
    /// use cofferdam_guest::testing::Script;
    ///
    /// fn order(call: &Call) -> Result<String> {
    ///     let key: String = call.step("key", || Ok("a key that nobody else has".to_owned()))?;
    ///     // If this is sent twice, the other side sees the same key twice.
    ///     let number: u32 = call.step("order", || Ok(place(&key)))?;
    ///     call.sleep(Duration::from_secs(86_400))?;
    ///     Ok(format!("order {number} was placed a day ago"))
    /// }
    /// # fn place(key: &str) -> u32 { key.len() as u32 }
    /// let told = Script::new().lost_everywhere(order);
    /// assert_eq!(told, Ok("order 26 was placed a day ago".to_owned()));
    /// ```
    ///
    /// # Errors
    /// What the work failed with, and nothing is recorded then. An internal error that names the step
    /// if the name is too long, or the value is too large or does not read back from JSON as `T`. What
    /// [`record`](Self::record) fails with.
    pub fn step<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if !(1..=STEP_NAME_BYTES).contains(&name.len()) {
            return Err(in_step(
                name,
                format!("its name must have 1 to {STEP_NAME_BYTES} bytes"),
            ));
        }
        let key = format!("{STEP}{name}");
        if let Some(recorded) = self.recall(&key) {
            return read_step(name, &recorded);
        }
        let recorded = json(&work()?)?;
        // What is returned now must be what is returned later, so it is read back at once.
        let value = read_step(name, recorded.as_bytes())?;
        match self.record(&key, recorded.as_bytes()) {
            Ok(()) => Ok(value),
            Err(RecordError::TooLarge(limit)) => Err(in_step(
                name,
                format!(
                    "its value is too large ({limit}); return less, or make several steps of it"
                ),
            )),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads a step's value from what is recorded of it.
fn read_step<T: DeserializeOwned>(name: &str, recorded: &[u8]) -> Result<T> {
    serde_json::from_slice(recorded).map_err(|error| {
        in_step(
            name,
            format!(
                "its recorded value cannot be read ({error}); give each step a name of its own, \
                 and a value that reads back from its JSON"
            ),
        )
    })
}

/// An internal error that names the step.
fn in_step(name: &str, fault: String) -> Error {
    let end = name.floor_char_boundary(STEP_NAME_BYTES);
    Error::rpc(
        RpcError::INTERNAL,
        format!("step `{}`: {fault}", &name[..end]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn a_step_is_done_once() {
        let script = Script::new();
        let first = script.call().step("sum", || Ok(vec![1, 2]));
        assert_eq!(first, Ok(vec![1, 2]));
        let again = (script.call()).step::<Vec<i32>>("sum", || bail("worked again"));
        assert_eq!(again, Ok(vec![1, 2]));
    }

    #[test]
    fn a_failed_step_leaves_no_record() {
        let call = Script::new().call();
        assert_eq!(
            call.step::<i32>("sum", || bail("no")),
            Err(Error::tool("no"))
        );
        assert_eq!(call.recall("step:sum"), None);
        assert_eq!(call.step("sum", || Ok(3)), Ok(3));
    }

    #[test]
    fn steps_and_records_have_keys_of_their_own() {
        let call = Script::new().call();
        assert_eq!(call.record("sum", b"mine"), Ok(()));
        assert_eq!(call.step("sum", || Ok(3)), Ok(3));
        assert_eq!(call.recall("sum"), Some(b"mine".to_vec()));
        assert_eq!(call.recall("step:sum"), Some(b"3".to_vec()));
    }

    #[test]
    fn a_step_in_a_step_is_done_once() {
        let worked = Cell::new(0);
        let handler = |call: &Call| {
            call.step("outer", || {
                let inner: i32 = call.step("inner", || {
                    worked.set(worked.get() + 1);
                    Ok(1)
                })?;
                call.sleep(Duration::from_secs(1))?;
                Ok(inner + 1)
            })
        };
        assert_eq!(Script::new().lost_everywhere(handler), Ok(2));
        // Once undisturbed, and once more when it was lost before anything was recorded.
        assert_eq!(worked.get(), 2);
    }

    #[test]
    fn a_step_returns_what_is_recorded() {
        #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
        struct Part {
            kept: u8,
            #[serde(skip)]
            left_out: u8,
        }
        let handler = |call: &Call| {
            call.step("part", || {
                Ok(Part {
                    kept: 1,
                    left_out: 2,
                })
            })
        };
        let part = Part {
            kept: 1,
            left_out: 0,
        };
        assert_eq!(Script::new().lost_everywhere(handler), Ok(part));
    }

    #[test]
    fn faults_name_their_step() {
        fn told<T: std::fmt::Debug>(outcome: Result<T>) -> String {
            match outcome {
                Err(Error::Rpc(error)) if error.code == RpcError::INTERNAL => error.message,
                other => panic!("{other:?}"),
            }
        }
        let call = Script::new().call();
        assert_eq!(
            call.step("size", || Ok("large".to_owned())),
            Ok("large".to_owned())
        );
        let text = told(call.step("size", || Ok(1)));
        assert!(
            text.starts_with("step `size`: its recorded value cannot be read"),
            "{text}"
        );
        assert!(text.contains("a name of its own"), "{text}");

        // JSON has no such number; it is noticed before it is recorded.
        let text = told(call.step("ratio", || Ok(f64::NAN)));
        assert!(text.starts_with("step `ratio`: "), "{text}");
        assert_eq!(call.recall("step:ratio"), None);

        let text = told(call.step("huge", || Ok("x".repeat(1 << 20))));
        assert!(
            text.starts_with("step `huge`: its value is too large"),
            "{text}"
        );

        for name in ["", &"ä".repeat(126)] {
            let worked = Cell::new(false);
            let text = told(call.step(name, || {
                worked.set(true);
                Ok(1)
            }));
            assert!(
                text.ends_with("its name must have 1 to 251 bytes"),
                "{text}"
            );
            assert!(!worked.get());
        }
        assert_eq!(call.step(&"x".repeat(251), || Ok(1)), Ok(1));
    }

    fn bail<T>(text: &str) -> Result<T> {
        Err(Error::tool(text))
    }
}
