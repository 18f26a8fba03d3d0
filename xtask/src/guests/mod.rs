//! Guests: the components that examples, tests and benchmarks run. Each becomes
//! `target/guests/NAME.wasm`. A file there changes only when its bytes change, and in one step, so
//! that a server that watches it never reads half a component.

mod c;
mod component;
mod foreign;
mod js;
mod python;
pub(crate) mod rust;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};

use crate::checkout::Checkout;
use crate::process::say;
use foreign::Foreign;

/// Those that are not in Rust.
fn foreign() -> impl Iterator<Item = Foreign> {
    let js = js::GUESTS.into_iter().chain(js::WEB_GUESTS);
    js.chain(python::GUESTS).chain(c::GUESTS)
}

/// Builds the guests of these names, or all if there are none.
///
/// A guest that is not in Rust and whose compiler cannot be had is an error only if it was named.
pub(crate) fn build(checkout: &Checkout, wanted: &[&str]) -> Result<()> {
    let mut rust = rust::guests(checkout)?;
    let mut names: Vec<_> = rust.iter().map(rust::Guest::name).collect();
    names.extend(foreign().map(|guest| guest.name));
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("two guests are named {}", pair[0]);
    }
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
        bail!(
            "there is no guest {unknown}; there are: {}",
            names.join(", ")
        );
    }

    let is_wanted = |name: &str| wanted.is_empty() || wanted.contains(&name);
    rust.retain(|guest| is_wanted(guest.name()));
    rust::build(checkout, rust)?;
    for guest in foreign().filter(|guest| guest.is_wanted(wanted)) {
        if let Some(missing) = guest.build(checkout)? {
            if !wanted.is_empty() {
                return Err(missing.context(format!("no compiler for {}", guest.name)));
            }
            let reason = format!("{missing:#}");
            let reason = reason.lines().next().unwrap_or_default();
            say!(
                "skipping {}, for lack of its compiler: {reason}",
                guest.name
            );
        }
    }
    Ok(())
}

/// Builds the guest of this name, which is not in Rust. Without its compiler there is no component
/// afterwards, and the reason is returned.
pub(crate) fn build_if_possible(checkout: &Checkout, wanted: &str) -> Result<Option<Error>> {
    let guest = foreign().find(|guest| guest.name == wanted);
    let guest = guest.with_context(|| format!("there is no guest {wanted}"))?;
    let missing = guest.build(checkout).with_context(|| wanted.to_owned())?;
    Ok(missing)
}

/// Where servers and tests find a component.
pub(crate) fn file(checkout: &Checkout, name: &str) -> PathBuf {
    checkout.target.join("guests").join(format!("{name}.wasm"))
}

/// The folder that guests are built in.
fn workshop(checkout: &Checkout) -> PathBuf {
    // Apart from the host's, so that the two never wait for each other.
    checkout.target.join("guest-build")
}

/// Puts a component there.
fn place(checkout: &Checkout, name: &str, built: &Path) -> Result<()> {
    let file = file(checkout, name);
    let bytes = fs::read(built).with_context(|| built.display().to_string())?;
    if fs::read(&file).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::create_dir_all(checkout.target.join("guests"))?;
    let part = file.with_extension("part");
    fs::write(&part, &bytes)?;
    fs::rename(&part, &file)?;
    say!("{} ({} bytes)", file.display(), bytes.len());
    Ok(())
}
