//! `cofferdam reload`: has a running server look at its components again.

use super::clean;
use super::operator::{Operator, OperatorError};
use crate::admin::Reloaded;
use std::fmt::Write as _;

/// Prints what changed and what was refused; `false` if something was.
///
/// # Errors
/// [`OperatorError`].
pub fn reload(operator: &Operator) -> Result<bool, OperatorError> {
    let reloaded: Reloaded = operator.post("/reload")?;
    print!("{}", told(&reloaded));
    Ok(reloaded.refused.is_empty())
}

fn told(reloaded: &Reloaded) -> String {
    let Reloaded {
        added,
        replaced,
        removed,
        unchanged,
        refused,
    } = reloaded;
    let mut text = String::new();
    for (what, tools) in [
        ("added", added),
        ("replaced", replaced),
        ("removed", removed),
    ] {
        for tool in tools {
            let _ = writeln!(text, "{what:<9} {}", clean(tool));
        }
    }
    let _ = writeln!(text, "unchanged {unchanged} tools");
    for refused in refused {
        let (name, reason) = (clean(&refused.name), clean(&refused.reason));
        let _ = writeln!(text, "refused   {name}: {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::Refused;

    #[test]
    fn what_changed_is_told_tool_by_tool() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut reloaded = Reloaded {
            added: names(&["a", "b"]),
            replaced: names(&["c"]),
            removed: names(&["d"]),
            unchanged: 4,
            refused: Vec::new(),
        };
        let changes = "added     a\nadded     b\nreplaced  c\nremoved   d\nunchanged 4 tools\n";
        assert_eq!(told(&reloaded), changes);
        reloaded.refused.push(Refused {
            name: "x.wasm".to_owned(),
            reason: "no \u{1b}[31mcomponent\n".to_owned(),
        });
        let refused = "refused   x.wasm: no \u{fffd}[31mcomponent\u{fffd}\n";
        assert_eq!(told(&reloaded), format!("{changes}{refused}"));
    }
}
