//! Guests in other languages than Rust: a folder for each, with its sources and a link to the library
//! of its language. Its compiler is a published package, whose version an example of the language
//! pins; it is installed into `target/tools/` when it is first needed. They compile for seconds, so a component is built again only when something
//! in that folder changed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result};

use super::{component, file, place, workshop};
use crate::checkout::Checkout;
use crate::process::{quiet, say};

/// What language tools leave in a folder; it is not part of the guest.
const LEFTOVERS: [&str; 2] = ["__pycache__", "node_modules"];

/// How the guests of a language are built.
pub(super) struct Language {
    /// Installs the compiler, which a folder of the checkout pins, or finds it installed. A failure
    /// means that it cannot be had here.
    pub(super) compiler: fn(&Checkout) -> Result<Command>,
    /// What the compiler is told so that it makes `component.wasm` of what is in the folder, in parts.
    pub(super) arguments: &'static [&'static [&'static str]],
}

impl Language {
    /// A guest of this name, which lies in this folder of the checkout.
    pub(super) const fn guest(self, name: &'static str, folder: &'static str) -> Foreign {
        Foreign {
            name,
            folder,
            language: self,
            on_demand: false,
        }
    }
}

/// A guest.
pub(super) struct Foreign {
    pub(super) name: &'static str,
    folder: &'static str,
    language: Language,
    on_demand: bool,
}

impl Foreign {
    /// The same guest, built only when it is named.
    pub(super) const fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    /// Is it to be built when these are named, or none is?
    pub(super) fn is_wanted(&self, names: &[&str]) -> bool {
        names.contains(&self.name) || (names.is_empty() && !self.on_demand)
    }

    /// Brings the component up to date. If that needs the compiler, and it cannot be had, there is no
    /// component afterwards, and the reason is returned.
    pub(super) fn build(&self, checkout: &Checkout) -> Result<Option<Error>> {
        let files = files(&checkout.root.join(self.folder))?;
        let fingerprint = self.fingerprint(&files);
        let component = file(checkout, self.name);
        let stamp = component.with_extension("fingerprint");
        let is_ours = |old: String| old == fingerprint;
        if component.is_file() && fs::read_to_string(&stamp).is_ok_and(is_ours) {
            return Ok(None);
        }
        // What is there is out of date: no test shall take it for the present one.
        for old in [&stamp, &component] {
            if old.exists() {
                fs::remove_file(old).with_context(|| old.display().to_string())?;
            }
        }
        let mut compiler = match (self.language.compiler)(checkout) {
            Ok(compiler) => compiler,
            Err(missing) => return Ok(Some(missing)),
        };

        say!("building {}", self.name);
        // From a copy: a compiler may write beside what it reads.
        let copy = workshop(checkout).join(self.name);
        write(&files, &copy)?;
        quiet(
            compiler
                .args(self.language.arguments.concat())
                .current_dir(&copy),
        )?;
        let built = copy.join("component.wasm");
        component::of_module(&built)?;
        place(checkout, self.name, &built)?;
        // Written last, so that it stands for the component beside it.
        fs::write(&stamp, fingerprint)?;
        Ok(None)
    }

    /// Differs when something differs that the component is made of.
    fn fingerprint(&self, files: &BTreeMap<PathBuf, Vec<u8>>) -> String {
        // Another Rust may hash differently. Then everything is built once more, which does no harm.
        let mut hasher = DefaultHasher::new();
        (self.language.arguments, files).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// All files in a folder, also in those that it links to, by their path in it.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = PathBuf::from(entry?.file_name());
        let path = folder.join(&name);
        if LEFTOVERS
            .iter()
            .any(|leftover| name.as_os_str() == *leftover)
        {
            continue;
        }
        if path.is_dir() {
            let inner = files(&path)?.into_iter();
            all.extend(inner.map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            all.insert(name, bytes);
        }
    }
    Ok(all)
}

/// Makes a folder that holds these files and nothing else.
fn write(files: &BTreeMap<PathBuf, Vec<u8>>, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_what_is_linked_and_no_leftovers() -> Result<()> {
        let place = tempfile::tempdir()?;
        let at = |path: &str| place.path().join(path);
        fs::create_dir_all(at("contract"))?;
        fs::write(at("contract/world.wit"), "world")?;
        fs::create_dir_all(at("guest/node_modules"))?;
        fs::write(at("guest/node_modules/package.js"), "package")?;
        fs::write(at("guest/tools.js"), "tools")?;
        std::os::unix::fs::symlink("../contract", at("guest/wit"))?;

        let read = files(&at("guest"))?;
        let expected = [("tools.js", "tools"), ("wit/world.wit", "world")];
        let expected = expected.map(|(path, text)| (PathBuf::from(path), text.into()));
        assert_eq!(read, BTreeMap::from(expected));

        fs::create_dir_all(at("copy"))?;
        fs::write(at("copy/old.js"), "old")?;
        write(&read, &at("copy"))?;
        assert_eq!(files(&at("copy"))?, read);
        assert!(!at("copy/wit").is_symlink());
        Ok(())
    }
}
