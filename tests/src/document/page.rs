//! From Markdown to what is to be done.
//!
//! Invariant: pure; every line of a ```console fence is a command, part of one, or expected of one.

use super::{Output, is_inside};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// What a document wants done.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Components to put into `tools/` first, from `<!-- tools: NAME … -->`.
    pub(super) tools: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    /// A fence with a language and a file name: the file is written into the shell's folder.
    Write {
        line: usize,
        path: String,
        text: String,
    },
    Run(Command),
}

/// A command of a ```console fence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// In the document, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    /// What it should print; nothing is expected if the document shows nothing.
    pub(super) expected: Output,
    /// It stays in the background, and the next command waits until it printed what is expected.
    pub(super) background: bool,
    /// Its exit code.
    pub(super) exit: i32,
}

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct Fault {
    pub(super) line: usize,
    what: String,
}

fn fault<T>(line: usize, what: impl Into<String>) -> Result<T, Fault> {
    let what = what.into();
    Err(Fault { line, what })
}

impl Page {
    pub(super) fn parse(markdown: &str) -> Result<Self, Fault> {
        let mut page = Self::default();
        let mut fence: Option<(usize, String, String)> = None;
        for (event, place) in Parser::new(markdown).into_offset_iter() {
            let before = markdown.get(..place.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    fence = Some((line, info.into_string(), String::new()));
                }
                Event::Text(text) => {
                    if let Some((_, _, whole)) = &mut fence {
                        whole.push_str(&text);
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    if let Some((line, info, text)) = fence.take() {
                        page.take_fence(line, &info, text)?;
                    }
                }
                Event::Html(html) => {
                    let comment = html.trim().strip_prefix("<!-- tools:");
                    if let Some(names) = comment.and_then(|rest| rest.strip_suffix("-->")) {
                        page.tools
                            .extend(names.split_whitespace().map(str::to_owned));
                    }
                }
                _ => {}
            }
        }
        Ok(page)
    }

    fn take_fence(&mut self, line: usize, info: &str, text: String) -> Result<(), Fault> {
        let words: Vec<_> = info.split_whitespace().collect();
        match words.as_slice() {
            ["console"] => {
                let commands = commands(line + 1, &text)?;
                self.steps.extend(commands.into_iter().map(Step::Run));
            }
            [_, path] if is_inside(path.as_ref()) && *words.first().unwrap_or(&"") != "console" => {
                let path = (*path).to_owned();
                let is_configuration = path.ends_with("cofferdam.toml");
                let check = format!("cofferdam check --config {path}");
                self.steps.push(Step::Write { line, path, text });
                if is_configuration {
                    self.steps.push(Step::Run(Command::new(line, check)));
                }
            }
            [] | [_] => {}
            _ => {
                return fault(
                    line,
                    format!("a fence is `LANGUAGE` or `LANGUAGE FILE`, not `{info}`"),
                );
            }
        }
        Ok(())
    }
}

impl Command {
    fn new(line: usize, text: String) -> Self {
        let (_, comment) = text.rsplit_once("# exit code ").unwrap_or_default();
        Self {
            line,
            exit: comment.trim().parse().unwrap_or_default(),
            background: text.ends_with(" &"),
            expected: Output::default(),
            text,
        }
    }
}

/// The commands of a fence whose first line is this one.
fn commands(first: usize, text: &str) -> Result<Vec<Command>, Fault> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines = (first..).zip(text.lines());
    while let Some((line, written)) = lines.next() {
        if let Some(start) = written.strip_prefix("$ ") {
            let mut whole = start.to_owned();
            while whole.ends_with('\\') {
                let Some((_, more)) = lines.next() else {
                    return fault(line, "the command goes on beyond its fence");
                };
                whole.push('\n');
                whole.push_str(more);
            }
            if let Some(word) = here_document(&whole) {
                loop {
                    let Some((_, more)) = lines.next() else {
                        return fault(line, format!("no line `{word}` ends what is put in"));
                    };
                    whole.push('\n');
                    whole.push_str(more);
                    if more == word {
                        break;
                    }
                }
            }
            commands.push(Command::new(line, whole));
        } else if let Some(command) = commands.last_mut() {
            command.expected.push(written);
        } else {
            return fault(
                line,
                "a ```console fence begins with a command, after `$ `; \
                 what is not to be run is ```sh or ```text",
            );
        }
    }
    Ok(commands)
}

/// The word that ends what `<<WORD` puts in.
fn here_document(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("<<")?;
    let rest = rest.trim_start_matches(['-', '\'', '"']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let word = &rest[..end.unwrap_or(rest.len())];
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(markdown: &str) -> Vec<Step> {
        Page::parse(markdown).unwrap().steps
    }

    #[test]
    fn commands_have_their_line_their_output_and_what_was_said_of_their_end() {
        let steps = parse(
            "# Title\n\n```console\n$ a \\\n    b\nout\n\n$ c &\n$ d # exit code 3\n```\n\n\
             * item\n\n  ```console\n  $ cat <<'END'\n  $ e\n  END\n  shown\n  ```\n",
        );
        let expected = [
            (4, "a \\\n    b", vec!["out", ""], false, 0),
            (8, "c &", vec![], true, 0),
            (9, "d # exit code 3", vec![], false, 3),
            (15, "cat <<'END'\n$ e\nEND", vec!["shown"], false, 0),
        ];
        assert_eq!(steps.len(), expected.len());
        for (step, (line, text, output, background, exit)) in steps.iter().zip(expected) {
            let Step::Run(command) = step else {
                panic!("{step:?}")
            };
            let mut wanted = Output::default();
            output.into_iter().for_each(|line| wanted.push(line));
            let text = text.to_owned();
            let expected = wanted;
            let wanted = Command {
                line,
                text,
                expected,
                background,
                exit,
            };
            assert_eq!(*command, wanted);
        }
    }

    #[test]
    fn files_and_tools_are_taken_and_a_configuration_is_checked() {
        let page = Page::parse(
            "<!-- tools: a b -->\n\n```rust src/lib.rs\nfn x() {}\n```\n```rust\nno\n```\n\
             ```toml cofferdam.toml\n```\n",
        )
        .unwrap();
        assert_eq!(page.tools, ["a", "b"]);
        let [
            Step::Write { path, text, .. },
            Step::Write { .. },
            Step::Run(check),
        ] = page.steps.as_slice()
        else {
            panic!("{:?}", page.steps)
        };
        assert_eq!(
            (path.as_str(), text.as_str()),
            ("src/lib.rs", "fn x() {}\n")
        );
        assert_eq!(check.text, "cofferdam check --config cofferdam.toml");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (markdown, line, part) in [
            ("```console\nls\n```", 2, "begins with a command"),
            ("\n```console\n$ a \\\n```", 3, "beyond its fence"),
            ("```console\n$ cat <<EOF\nx\n```", 2, "`EOF`"),
            ("```console x\n$ a\n```", 1, "LANGUAGE FILE"),
            ("```sh ../out\n```", 1, "LANGUAGE FILE"),
        ] {
            let fault = Page::parse(markdown).unwrap_err();
            assert_eq!(fault.line, line, "{markdown}");
            assert!(fault.to_string().contains(part), "{fault}");
        }
    }
}
