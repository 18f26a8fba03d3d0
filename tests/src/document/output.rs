//! Output as a document shows it, and whether some output is that.
//!
//! Invariant: pure. `…` stands for anything within a line, and alone for any number of lines.

use std::fmt;

const ANYTHING: char = '…';

/// The lines that a document shows after a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Output(Vec<String>);

impl Output {
    pub(super) fn push(&mut self, line: &str) {
        self.0.push(line.trim_end().to_owned());
    }

    /// Does the document show nothing? Then the output is not looked at.
    pub(super) fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }

    /// Is this what the document shows?
    pub(super) fn is(&self, came: &[String]) -> bool {
        fits(self.lines(), came, Came::Whole)
    }

    /// Does this begin as the document shows it?
    pub(super) fn is_begun_by(&self, came: &[String]) -> bool {
        fits(self.lines(), came, Came::AndMore)
    }

    /// Could this be that beginning, when more has come?
    pub(super) fn may_begin_with(&self, came: &[String]) -> bool {
        fits(self.lines(), came, Came::InPart)
    }

    /// An empty line before the next command is there for the eye.
    fn lines(&self) -> &[String] {
        match self.0.as_slice() {
            [lines @ .., last] if last.is_empty() => lines,
            lines => lines,
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// What has come of an output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// All.
    Whole,
    /// All that is shown, and perhaps more.
    AndMore,
    /// Perhaps less than is shown.
    InPart,
}

fn fits(shown: &[String], came: &[String], how: Came) -> bool {
    match (shown, came) {
        ([], _) => how != Came::Whole || came.is_empty(),
        ([first, rest @ ..], _) if first.trim() == ANYTHING.to_string() => {
            (0..=came.len()).any(|skipped| fits(rest, &came[skipped..], how))
        }
        (_, []) => how == Came::InPart,
        ([first, rest @ ..], [line, others @ ..]) => {
            line_fits(first, line.trim_end()) && fits(rest, others, how)
        }
    }
}

fn line_fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else {
        return false;
    };
    let Some(end) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Output {
        let mut output = Output::default();
        text.lines().for_each(|line| output.push(line));
        output
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_ellipsis_is_anything_in_a_line_and_any_lines_alone() {
        for (shown, came) in [
            ("a", "a  "),
            ("a\nb", "a\nb"),
            ("a … c", "a b c"),
            ("…c", "abc"),
            ("a…b…", "a xx b y"),
            ("…", ""),
            ("a\n…\nz", "a\nz"),
            ("a\n…\nz", "a\nb\nz\nc\nz"),
            ("a\n\n", "a"),
        ] {
            assert!(output(shown).is(&lines(came)), "{shown:?} {came:?}");
        }
        for (shown, came) in [
            ("a", "b"),
            ("a", "a\nb"),
            ("a\nb", "a"),
            ("ab…ba", "aba"),
            ("a…b…c", "a c b"),
            ("a\n…\nz", "a\nb"),
        ] {
            assert!(!output(shown).is(&lines(came)), "{shown:?} {came:?}");
        }
    }

    #[test]
    fn what_runs_on_needs_the_beginning_only() {
        let shown = output("listening on …\nadmin on …\n\n");
        assert!(!shown.is_begun_by(&lines("listening on 1")));
        assert!(shown.is_begun_by(&lines("listening on 1\nadmin on 2")));
        assert!(shown.is_begun_by(&lines("listening on 1\nadmin on 2\nmore")));
        assert!(!shown.is_begun_by(&lines("admin on 2\nlistening on 1")));
        assert!(shown.may_begin_with(&lines("listening on 1")));
        assert!(!shown.may_begin_with(&lines("listening at 1")));
        assert!(!shown.may_begin_with(&lines("listening on 1\nlistening on 2")));
    }
}
