//! What a project is made of in each language: its own files, from templates, and what it has a copy of.

use super::name::ProjectName;
use super::{File, vendored};
use clap::ValueEnum;
use std::path::Path;
use std::process::{Command, Stdio};

/// A language that tools are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    Rust,
    /// JavaScript, on QuickJS.
    Js,
    Python,
    C,
}

/// A file's path in the project, and its template.
type Template = (&'static str, &'static str);

const RUST: &[Template] = &[
    (
        ".cargo/config.toml",
        include_str!("templates/rust/config.toml"),
    ),
    ("Cargo.toml", include_str!("templates/rust/manifest.toml")),
    ("README.md", include_str!("templates/rust/README.md")),
    (
        "cofferdam/Cargo.toml",
        include_str!("templates/rust/workspace.toml"),
    ),
    ("src/lib.rs", include_str!("templates/rust/lib.rs")),
];

const JS: &[Template] = &[
    ("README.md", include_str!("templates/js/README.md")),
    ("package.json", include_str!("templates/js/package.json")),
    ("tools.js", include_str!("templates/js/tools.js")),
];

const PYTHON: &[Template] = &[
    ("README.md", include_str!("templates/python/README.md")),
    ("build.sh", include_str!("templates/python/build.sh")),
    ("tools.py", include_str!("templates/python/tools.py")),
];

const C: &[Template] = &[
    ("README.md", include_str!("templates/c/README.md")),
    ("build.sh", include_str!("templates/c/build.sh")),
    ("tools.c", include_str!("templates/c/tools.c")),
];

/// What every project has.
const COMMON: &[Template] = &[
    (".gitignore", include_str!("templates/gitignore")),
    ("cases.toml", include_str!("templates/cases.toml")),
];

/// It imports nothing but Cofferdam's own interfaces.
const RUST_TARGET: &str = "wasm32-unknown-unknown";

/// The compilers, as the examples pin them.
const PYTHON_COMPILER: &str = include_str!("../../../../examples/prose/requirements.txt");
const C_COMPILER: &str = include_str!("../../../../examples/chart/requirements.txt");

impl Language {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Js => "JavaScript",
            Self::Python => "Python",
            Self::C => "C",
        }
    }

    /// All files of a project of this name.
    pub(super) fn files(self, name: &ProjectName) -> Vec<File> {
        let templates = match self {
            Self::Rust => RUST,
            Self::Js => JS,
            Self::Python => PYTHON,
            Self::C => C,
        };
        let filled = |text: &str| {
            text.replace("{{name}}", name.as_str())
                .replace("{{component}}", &self.component(name))
        };
        let templates = templates.iter().chain(COMMON);
        let mut files: Vec<_> = templates
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                bytes: filled(text).into_bytes(),
            })
            .collect();
        let compiler = match self {
            Self::Rust | Self::Js => None,
            Self::Python => Some(PYTHON_COMPILER),
            Self::C => Some(C_COMPILER),
        };
        files.extend(compiler.map(|text| File {
            path: "requirements.txt".to_owned(),
            bytes: text.into(),
        }));
        files.extend(vendored::files(self));
        files
    }

    /// Where its compiler puts the component.
    fn component(self, name: &ProjectName) -> String {
        match self {
            Self::Rust => {
                let file = name.with_underscores();
                format!("target/{RUST_TARGET}/release/{file}.wasm")
            }
            Self::Js | Self::Python | Self::C => format!("{name}.wasm"),
        }
    }

    /// What this machine lacks to build it, and how to come by it.
    pub(super) fn lacking(self) -> Option<&'static str> {
        match self {
            Self::Rust if !rustc_has(RUST_TARGET) => Some(
                "this rustc has no standard library for wasm yet; with rustup:\n  \
                 rustup target add wasm32-unknown-unknown",
            ),
            // The others install their compilers.
            _ => None,
        }
    }

    /// The commands that build, test and serve it.
    pub(super) fn next(self, name: &ProjectName) -> [String; 3] {
        let build = match self {
            Self::Rust => &format!("cargo build --release --target {RUST_TARGET}"),
            Self::Js => "npm install && npm run build",
            Self::Python | Self::C => "./build.sh",
        };
        let component = self.component(name);
        [
            format!("cd {name} && {build}"),
            format!("cofferdam test {component} cases.toml --kill-everywhere"),
            format!("cofferdam serve {component}"),
        ]
    }
}

/// Has the `rustc` on the PATH the standard library of a target? Without a `rustc` there is none.
fn rustc_has(target: &str) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--print", "target-libdir", "--target", target]);
    let Ok(output) = rustc.stdin(Stdio::null()).stderr(Stdio::null()).output() else {
        return false;
    };
    // It names the folder also when nothing is in it.
    let folder = String::from_utf8_lossy(&output.stdout);
    Path::new(folder.trim_end()).is_dir()
}
