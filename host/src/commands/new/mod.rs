//! `cofferdam new`: a project of one tool, which builds and serves as it is.
//!
//! Invariant: a folder is made whole or not at all, and none that is there is touched. A project holds
//! all it needs of Cofferdam, the contract and the library of its language, so that it can be built
//! wherever its compiler can be had.

mod language;
mod name;
mod vendored;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use language::Language;
use name::ProjectName;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What `new` is told.
#[derive(Args)]
pub struct NewArguments {
    /// The project's name, and the folder to make: 1 to 64
    /// of a-z 0-9 and -, a letter first.
    #[arg(verbatim_doc_comment)]
    name: ProjectName,
    /// The language.
    #[arg(long, short, value_name = "LANGUAGE", default_value = "rust")]
    lang: Language,
}

/// A file of a project.
struct File {
    /// Its path in the project.
    path: String,
    bytes: Vec<u8>,
}

/// Makes the project here, and says what to do with it.
pub fn new(arguments: &NewArguments) -> Result<()> {
    let NewArguments { name, lang } = arguments;
    make(Path::new("."), name, *lang)?;
    if let Some(lacking) = lang.lacking() {
        eprintln!("{lacking}");
    }
    println!("made {name}/, a tool in {}. Next:", lang.title());
    for line in lang.next(name) {
        println!("  {line}");
    }
    Ok(())
}

fn make(parent: &Path, name: &ProjectName, language: Language) -> Result<()> {
    let folder = parent.join(name.as_str());
    let is_new = || {
        ensure!(
            fs::symlink_metadata(&folder).is_err(),
            "{} is there already: give another name, or move it away",
            folder.display()
        );
        Ok(())
    };
    is_new()?;
    // Beside its place, and moved there when it is whole.
    let part = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent)
        .context("cannot make a folder here")?;
    for file in language.files(name) {
        write(part.path(), &file).with_context(|| file.path.clone())?;
    }
    is_new()?;
    fs::rename(part.path(), &folder).with_context(|| folder.display().to_string())?;
    // What the guard would remove is no longer there.
    let _ = part.keep();
    Ok(())
}

fn write(folder: &Path, file: &File) -> Result<()> {
    let path = folder.join(&file.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, &file.bytes)?;
    if path.extension().is_some_and(|end| end == "sh") {
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn a_project_is_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let name: ProjectName = "two-words".parse().unwrap();
        for language in Language::value_variants() {
            make(place.path(), &name, *language).unwrap();
            let folder = place.path().join("two-words");
            for file in language.files(&name) {
                assert_eq!(fs::read(folder.join(&file.path)).unwrap(), file.bytes);
            }
            let error = make(place.path(), &name, *language).unwrap_err();
            assert!(error.to_string().contains("is there already"), "{error}");
            // Nothing else was left here.
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_there_too() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", place.path().join("x")).unwrap();
        make(place.path(), &"x".parse().unwrap(), Language::C).unwrap_err();
    }
}
