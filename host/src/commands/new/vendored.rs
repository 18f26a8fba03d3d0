//! What a project has a copy of: the contract, and the library of its language.
//!
//! Each file is named here, so that nothing else that lies in those folders gets into the program. The
//! tests compare the names with what is there.

use super::File;
use super::language::Language;

/// Files of a folder of this repository.
struct Source {
    /// The folder, from the repository's root.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the tests compare the names with what is there")
    )]
    folder: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

macro_rules! source {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        Source {
            folder: $folder,
            files: &[$((
                $file,
                include_bytes!(concat!("../../../../", $folder, "/", $file)),
            )),+],
        }
    };
}

const CONTRACT: Source = source!("wit":
    "changes.wit",
    "completion.wit",
    "handler.wit",
    "log.wit",
    "prompts.wit",
    "resources.wit",
    "task.wit",
    "types.wit",
    "world.wit",
);

const RUST: Source = source!("guest-sdk":
    "Cargo.toml",
    "macros/Cargo.toml",
    "macros/src/argument.rs",
    "macros/src/expand.rs",
    "macros/src/export.rs",
    "macros/src/lib.rs",
    "macros/src/options.rs",
    "macros/src/prompt.rs",
    "macros/src/resource.rs",
    "macros/src/signature.rs",
    "macros/src/template.rs",
    "src/ask.rs",
    "src/bindings.rs",
    "src/call.rs",
    "src/changes.rs",
    "src/completion.rs",
    "src/content.rs",
    "src/contents.rs",
    "src/error.rs",
    "src/heap.rs",
    "src/host.rs",
    "src/lib.rs",
    "src/listing.rs",
    "src/log.rs",
    "src/prompt.rs",
    "src/resource.rs",
    "src/result.rs",
    "src/schema.rs",
    "src/step.rs",
    "src/testing/mod.rs",
    "src/testing/run.rs",
    "src/tool.rs",
    "src/uri.rs",
);

const JS: Source = source!("guest-sdk/js":
    "README.md",
    "ask.js",
    "call.js",
    "changes.js",
    "engine.js",
    "errors.js",
    "index.d.ts",
    "index.js",
    "offers.js",
    "package.json",
    "results.js",
    "schema.js",
    "tools.js",
    "wit/world.wit",
);

const PYTHON: Source = source!("guest-sdk/python/cofferdam":
    "__init__.py",
    "answers.py",
    "ask.py",
    "call.py",
    "errors.py",
    "log.py",
    "offers.py",
    "py.typed",
    "results.py",
    "schema.py",
    "tool.py",
);

const C: Source = source!("guest-sdk/c":
    "README.md",
    "ask.c",
    "cofferdam.c",
    "cofferdam.h",
    "gen/everything.c",
    "gen/everything.h",
    "gen/everything_component_type.o",
    "gen/tool.c",
    "gen/tool.h",
    "gen/tool_component_type.o",
    "inside.h",
    "json.c",
    "offers.h",
    "offers/changes.c",
    "offers/completion.c",
    "offers/prompts.c",
    "offers/read.c",
    "offers/resources.c",
    "offers/shared.c",
    "offers/shared.h",
    "result.c",
);

impl Source {
    /// The files under another folder, that of a project.
    fn under(&self, folder: &str) -> impl Iterator<Item = File> {
        self.files.iter().map(move |(path, bytes)| File {
            path: format!("{folder}/{path}"),
            bytes: bytes.to_vec(),
        })
    }
}

/// What a project in this language has a copy of.
pub(super) fn files(language: Language) -> Vec<File> {
    let (library, place, contract) = match language {
        // Beside each other, as in this repository: the library names the contract by `../wit`.
        Language::Rust => (RUST, "cofferdam/guest-sdk", "cofferdam/wit"),
        Language::Js => (JS, "cofferdam", "cofferdam/wit/deps/tool"),
        Language::Python => (PYTHON, "cofferdam", "wit"),
        // What it is made from is in `gen`.
        Language::C => return C.under("cofferdam").collect(),
    };
    let library = library.under(place);
    library.chain(CONTRACT.under(contract)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// Adds the files in a folder, by their paths from `top`.
    fn walk(top: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            let skipped = [
                "__pycache__",
                "node_modules",
                "target",
                "js",
                "python",
                "c",
                "wit/deps",
            ];
            if skipped
                .iter()
                .any(|it| name.split('/').next() == Some(it) || name == *it)
            {
                continue;
            }
            if path.is_dir() {
                walk(top, &path, found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_libraries_is_named() {
        for source in [CONTRACT, RUST, JS, PYTHON, C] {
            let top = root().join(source.folder);
            let mut found = BTreeSet::new();
            walk(&top, &top, &mut found);
            let named = source.files.iter().map(|(path, _)| (*path).to_owned());
            assert_eq!(named.collect::<BTreeSet<_>>(), found, "{}", source.folder);
        }
    }

    #[test]
    fn a_project_in_rust_uses_the_versions_of_this_workspace() {
        let read = |text: &str| -> toml::Table { toml::from_str(text).unwrap() };
        let ours = read(&fs::read_to_string(root().join("Cargo.toml")).unwrap());
        let theirs = read(include_str!("templates/rust/workspace.toml"));
        let (ours, theirs) = (&ours["workspace"], &theirs["workspace"]);
        for (name, version) in theirs["dependencies"].as_table().unwrap() {
            // Ours name folders of this repository by other paths.
            if !name.starts_with("cofferdam-") {
                assert_eq!(version, &ours["dependencies"][name], "{name}");
            }
        }
        assert_eq!(theirs["package"], ours["package"]);
        assert_eq!(theirs["lints"], ours["lints"]);
    }
}
