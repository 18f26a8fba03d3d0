//! `cofferdam reload`: has a running server look at its components again.

use super::clean;
use super::operator::{Operator, OperatorError};
use crate::catalog::Changes;
use std::fmt::Write as _;

/// Prints what changed and what was refused; `false` if something was.
///
/// # Errors
/// [`OperatorError`].
pub fn reload(operator: &Operator) -> Result<bool, OperatorError> {
    let changes: Changes = operator.post("/reload")?;
    print!("{}", told(&changes));
    Ok(changes.refused.is_empty())
}

fn told(changes: &Changes) -> String {
    let mut text = String::new();
    for (what, components) in [
        ("added", &changes.added),
        ("changed", &changes.changed),
        ("removed", &changes.removed),
    ] {
        for component in components {
            let name = clean(&component.name);
            let tools = clean(&component.tools.join(", "));
            let _ = writeln!(text, "{what:<8} {name} ({tools})");
        }
    }
    for refused in &changes.refused {
        let (name, reason) = (clean(&refused.name), clean(&refused.reason));
        let serving = match &refused.serving {
            Some(digest) => format!("; {} serves on", clean(digest)),
            None => String::new(),
        };
        let _ = writeln!(text, "refused  {name}: {reason}{serving}");
    }
    let _ = match changes.serving {
        1 => writeln!(text, "1 component serves"),
        number => writeln!(text, "{number} components serve"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Change, Refused};

    #[test]
    fn what_changed_is_told_component_by_component() {
        let change = |name: &str| Change {
            name: name.to_owned(),
            digest: "00".to_owned(),
            tools: vec!["a".to_owned(), "b".to_owned()],
        };
        let mut changes = Changes {
            added: vec![change("x.wasm")],
            changed: vec![change("y.wasm")],
            removed: vec![change("z.wasm")],
            refused: Vec::new(),
            serving: 4,
        };
        let lines = "added    x.wasm (a, b)\nchanged  y.wasm (a, b)\nremoved  z.wasm (a, b)\n";
        let end = "4 components serve\n";
        assert_eq!(told(&changes), format!("{lines}{end}"));
        changes.refused.push(Refused {
            name: "x.wasm".to_owned(),
            reason: "no \u{1b}[31mcomponent\n".to_owned(),
            serving: Some("01".to_owned()),
        });
        let refused = "refused  x.wasm: no \u{fffd}[31mcomponent\u{fffd}; 01 serves on\n";
        assert_eq!(told(&changes), format!("{lines}{refused}{end}"));
    }
}
