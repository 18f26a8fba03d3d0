//! The shell that runs the commands of one document, in an empty folder of its own.
//!
//! Invariant: each command's output is its own, those in the background included; nothing is waited for but
//! what a command says, its end, or both. When the session is dropped, or this process is gone, the shell
//! ends, and everything that it started with it.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::page;
use super::said::{Said, lines, lines_of_pipe};
use crate::{binary, build_folder, root, rustc};

/// How long a command may take. It may be a compiler, on a busy machine.
const TIME: Duration = Duration::from_mins(10);

/// What a document calls 8080 and 8081.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    listen: u16,
    admin: u16,
}

impl Ports {
    /// Two that nobody listens on. They are below those that outgoing connections are given, so that they
    /// stay free while the document's server is down.
    pub(super) fn free() -> Self {
        let mut ports = std::iter::repeat_with(|| rand::random_range(15_000..32_000_u16))
            .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
        let listen = ports.next().expect("there is no end of them");
        let admin = ports.find(|port| *port != listen);
        let admin = admin.expect("there is no end of them");
        Self { listen, admin }
    }

    /// The text with these in place of 8080 and 8081.
    pub(super) fn put_into(self, text: &str) -> String {
        let mut numbered = String::with_capacity(text.len());
        let is_digit = |c: char| c.is_ascii_digit();
        let mut rest = text;
        while let Some(start) = rest.find(is_digit) {
            let (before, number) = rest.split_at(start);
            let end = number.find(|c| !is_digit(c)).unwrap_or(number.len());
            let (number, after) = number.split_at(end);
            numbered.push_str(before);
            match number {
                "8080" => numbered.push_str(&self.listen.to_string()),
                "8081" => numbered.push_str(&self.admin.to_string()),
                other => numbered.push_str(other),
            }
            rest = after;
        }
        numbered + rest
    }
}

/// The shell.
pub(super) struct Session {
    place: TempDir,
    shell: Child,
    input: Option<ChildStdin>,
    /// A line after each command: its exit code, and the folder that the shell is in then.
    ended: Receiver<String>,
    /// That folder.
    folder: PathBuf,
    /// The commands in the background, with what they printed so far.
    background: Vec<(String, Said)>,
    commands: usize,
}

impl Session {
    pub(super) fn start(ports: Ports) -> Self {
        let place = tempfile::Builder::new()
            .prefix("cofferdam-docs-")
            .tempdir()
            .expect("a folder");
        let at = |name: &str| place.path().join(name);
        for name in ["bin", "home", "commands", "work"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        for (name, script) in [
            ("cofferdam", include_str!("programs/cofferdam")),
            ("cargo", include_str!("programs/cargo")),
            ("npm", include_str!("programs/npm")),
        ] {
            let file = at("bin").join(name);
            fs::write(&file, script).expect("written");
            fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("made executable");
        }
        let mut shell = Command::new("bash");
        shell
            .args(["--noprofile", "--norc", "-s"])
            .current_dir(at("work"))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        shell.envs(environment(place.path(), ports));
        for name in [
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "RUSTFLAGS",
            "XDG_STATE_HOME",
        ] {
            shell.env_remove(name);
        }
        let mut shell = shell.spawn().expect("bash can be run");
        let mut input = shell.stdin.take().expect("stdin is piped");
        // Also when this process is gone, for then there is no more input.
        writeln!(input, "trap 'kill -KILL 0' EXIT").expect("the shell reads");
        let ended = lines(shell.stdout.take().expect("stdout is piped"));
        Self {
            folder: at("work"),
            place,
            shell,
            input: Some(input),
            ended,
            background: Vec::new(),
            commands: 0,
        }
    }

    /// Puts a component into `tools/`.
    pub(super) fn give_tool(&self, file: &Path) {
        let tools = self.folder.join("tools");
        fs::create_dir_all(&tools).expect("a folder");
        let name = file.file_name().expect("a component has a name");
        fs::copy(file, tools.join(name)).expect("copied");
    }

    /// Has the build script of a project use a compiler that is installed.
    pub(super) fn use_compiler(&mut self, language: &str, compiler: &Path) {
        let compiler = compiler.display();
        let line = match language {
            "js" => format!("export DOCUMENT_NODE_MODULES='{compiler}/node_modules'"),
            "c" => format!(
                "export ENVIRONMENT='{compiler}' ZIG_GLOBAL_CACHE_DIR='{compiler}/cache' \
                 ZIG_LOCAL_CACHE_DIR='{compiler}/cache'"
            ),
            _ => format!("export ENVIRONMENT='{compiler}'"),
        };
        self.say(&line);
    }

    /// Writes a file, by its path from where the shell is.
    pub(super) fn write(&self, path: &str, text: &str) -> std::io::Result<()> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)
    }

    /// Runs a command, and says what is not as the document has it.
    pub(super) fn run(&mut self, command: &page::Command) -> Result<(), String> {
        self.commands += 1;
        let commands = self.place.path().join("commands");
        let script = commands.join(format!("{}.sh", self.commands));
        let output = commands.join(format!("{}.out", self.commands));
        fs::write(&script, format!("{}\n", command.text)).expect("written");
        let made = Command::new("mkfifo").arg(&output).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        let (script, shown) = (script.display(), output.display());
        self.say(&format!(
            ". '{script}' </dev/null >'{shown}' 2>&1; printf '%s %s\\n' $? \"$PWD\""
        ));
        // Opened when the shell opens it, too.
        let mut said = Said::new(lines_of_pipe(output.clone()));

        let deadline = Instant::now() + TIME;
        let exit = match self.ended.recv_timeout(TIME) {
            Ok(line) => {
                let (exit, folder) = line.split_once(' ').unwrap_or_default();
                self.folder = PathBuf::from(folder);
                exit.parse::<i32>().unwrap_or(-1)
            }
            Err(RecvTimeoutError::Timeout) => {
                said.hear();
                return Err(self.tell("it does not end", command, &said));
            }
            Err(RecvTimeoutError::Disconnected) => {
                said.hear();
                return Err(self.tell("it ended the shell", command, &said));
            }
        };
        let fits = if command.background {
            said.begins_by(deadline, &command.expected)
        } else {
            said.whole_by(deadline)
                && (command.expected.is_empty() || command.expected.is(&said.lines))
        };
        if exit != command.exit {
            let what = format!("it ended with {exit}, not with {}", command.exit);
            return Err(self.tell(&what, command, &said));
        }
        if !fits {
            return Err(self.tell("it printed something else", command, &said));
        }
        if command.background {
            self.background.push((command.text.clone(), said));
        }
        Ok(())
    }

    fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // An error says that the shell has ended; so does the end of what it says.
            let _ = writeln!(input, "{line}");
        }
    }

    /// What went wrong, for people.
    fn tell(&mut self, what: &str, command: &page::Command, said: &Said) -> String {
        let mut told = format!("{what}\n");
        if !command.expected.is_empty() {
            told += &format!("expected:\n{}", command.expected);
        }
        told += &format!("came:\n{said}");
        for (name, said) in &mut self.background {
            said.hear();
            told += &format!("meanwhile, from $ {name}\n{said}");
        }
        told
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        // A command may still run, and the shell wait for it.
        let group = i32::try_from(self.shell.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // An error says that all are gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.shell.wait();
    }
}

/// The variables of the shell. What is looked for in the user's home is named, for the home is another.
fn environment(place: &Path, ports: Ports) -> HashMap<&'static str, String> {
    let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    let variable = |name: &str| std::env::var(name).ok();
    let path = variable("PATH").unwrap_or_default();
    let found = |name: &str| {
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
        files.find(|file| file.is_file()).map(text)
    };
    let home = PathBuf::from(variable("HOME").unwrap_or_default());
    let of_home = |name: &str, folder: &str| {
        let named = variable(name);
        named.unwrap_or_else(|| text(home.join(folder)))
    };
    let path = format!("{}:{path}", text(place.join("bin")));
    HashMap::from([
        ("PATH", path),
        ("HOME", text(place.join("home"))),
        ("CARGO_HOME", of_home("CARGO_HOME", ".cargo")),
        ("RUSTUP_HOME", of_home("RUSTUP_HOME", ".rustup")),
        ("NO_COLOR", "1".to_owned()),
        ("RUST_LOG", "error".to_owned()),
        ("COFFERDAM", text(place.join("bin/cofferdam"))),
        ("DOCUMENT_COFFERDAM", text(binary())),
        ("DOCUMENT_PORT", ports.listen.to_string()),
        ("DOCUMENT_ADMIN_PORT", ports.admin.to_string()),
        ("DOCUMENT_CARGO", found("cargo").unwrap_or_default()),
        ("DOCUMENT_NPM", found("npm").unwrap_or_default()),
        ("RUSTC", text(rustc("wasm32-unknown-unknown"))),
        ("DOCUMENT_BUILT", text(build_folder("guest-build"))),
        (
            "DOCUMENT_LOCK",
            text(root().join("tests/guests/Cargo.lock")),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::page::{Page, Step};

    #[test]
    fn ports_are_numbers_of_their_own() {
        let ports = Ports {
            listen: 1,
            admin: 2,
        };
        let text = "localhost:8080/ 18080 8081, 80801 8080";
        assert_eq!(ports.put_into(text), "localhost:1/ 18080 2, 80801 1");
    }

    /// What comes of the last of the commands; those before it must be as they say.
    fn last(fence: &str) -> Result<(), String> {
        let page = Page::parse(&format!("```console\n{fence}\n```")).unwrap();
        let mut session = Session::start(Ports::free());
        let mut came = Ok(());
        for step in page.steps {
            came.unwrap();
            let Step::Run(command) = step else { panic!() };
            came = session.run(&command);
        }
        came
    }

    #[test]
    fn the_commands_of_a_document_share_a_shell() {
        last("$ mkdir a && cd a && x=1 # nothing\n$ echo \"$x\"; basename \"$PWD\"\n1\na").unwrap();
        last("$ echo 1\n$ false # exit code 1\n$ cat <<END\ny\nEND\ny").unwrap();
        last("$ (read -r; echo up; read -r) < <(echo; sleep 1000) &\nup\n$ kill -KILL $!; wait")
            .unwrap();
    }

    #[test]
    fn what_is_not_as_the_document_has_it_is_told() {
        for (fence, parts) in [
            (
                "$ echo 1\n2",
                ["something else", "expected:\n  2\ncame:\n  1"],
            ),
            (
                "$ echo 1; false",
                ["ended with 1, not with 0", "came:\n  1"],
            ),
            (
                "$ true # exit code 2",
                ["ended with 0, not with 2", "came:"],
            ),
            ("$ echo 1; exit", ["ended the shell", "came:"]),
            (
                "$ { echo up; echo so; } &\nup\n$ cat nothing",
                ["nothing: No such file", "meanwhile, from $ { echo up;"],
            ),
            ("$ echo down &\nup", ["something else", "down"]),
            (
                "$ { echo down; sleep 1000; } &\nup",
                ["something else", "down"],
            ),
        ] {
            let told = last(fence).unwrap_err();
            for part in parts {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }
}
