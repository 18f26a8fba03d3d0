//! Questions, one after the other and together.

use crate::{Plan, ask, ask_all};
use cofferdam_guest::prelude::*;
use serde_json::json;

/// Asks twice.
#[tool(task = "optional")]
pub(crate) fn sequence(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let first = ask(call, "first")?;
    let second = ask(call, "second")?;
    Ok(json!({ "first": first, "second": second }).to_string())
}

/// Asks two things at once.
#[tool(task = "optional")]
pub(crate) fn two_keys(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let [left, right] = ask_all(call, ["left", "right"])?;
    Ok(json!({ "left": left, "right": right }).to_string())
}
