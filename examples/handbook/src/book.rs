//! The handbook itself: chapters of sections, read from Markdown that is part of the component.

use crate::{MARKDOWN, chapter, section};
use cofferdam_guest::ListedResource;
use std::fmt::Write as _;

/// A chapter.
pub struct Chapter {
    /// What it is called in URIs.
    pub name: &'static str,
    /// Its whole text.
    pub text: &'static str,
}

/// All of them, in their order.
pub const CHAPTERS: [Chapter; 3] = [
    Chapter {
        name: "mooring",
        text: include_str!("../chapters/mooring.md"),
    },
    Chapter {
        name: "weather",
        text: include_str!("../chapters/weather.md"),
    },
    Chapter {
        name: "signals",
        text: include_str!("../chapters/signals.md"),
    },
];

/// A part of a chapter with a heading of its own.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Heading and text, as in the chapter.
    pub text: &'static str,
}

impl Section {
    /// What it is called in URIs.
    pub fn name(&self) -> String {
        self.title.to_lowercase().replace(' ', "-")
    }
}

impl Chapter {
    /// The chapter of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CHAPTERS.iter().find(|chapter| chapter.name == name)
    }

    /// Its heading.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// What it says before its first section.
    pub fn summary(&self) -> &'static str {
        let summary = self.text.split("\n## ").next().unwrap_or_default();
        summary.split_once('\n').map_or("", |(_, rest)| rest.trim())
    }

    /// Its sections, in their order.
    pub fn sections(&self) -> impl Iterator<Item = Section> + use<> {
        let text = self.text;
        text.match_indices("\n## ").map(move |(before, _)| {
            let rest = &text[before + 1..];
            let text = rest.split("\n## ").next().unwrap_or(rest).trim_end();
            let title = text.lines().next().unwrap_or_default();
            Section {
                title: title.trim_start_matches("## "),
                text,
            }
        })
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<Section> {
        self.sections().find(|section| section.name() == name)
    }

    /// What it is in a list of resources, and as a link.
    pub fn listed(&self) -> ListedResource {
        ListedResource {
            title: Some(self.title().to_owned()),
            description: Some(self.summary().to_owned()),
            mime_type: Some(MARKDOWN.to_owned()),
            size: Some(self.text.len() as u64),
            ..ListedResource::new(chapter::uri(self.name), self.name)
        }
    }
}

/// The table of contents.
pub fn contents() -> String {
    let mut text = "# Contents\n".to_owned();
    for it in &CHAPTERS {
        let uri = chapter::uri(it.name);
        let _ = writeln!(text, "\n* {} <{uri}>", it.title());
        for part in it.sections() {
            let uri = section::uri(it.name, part.name());
            let _ = writeln!(text, "  * {} <{uri}>", part.title);
        }
    }
    text
}

/// Where words are found: chapter and section, those with the most hits first.
pub fn search(words: &str) -> Vec<(&'static Chapter, Section)> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found = Vec::new();
    for chapter in &CHAPTERS {
        for section in chapter.sections() {
            let text = section.text.to_lowercase();
            let hits: usize = words.iter().map(|word| text.matches(&**word).count()).sum();
            if words.iter().all(|word| text.contains(&**word)) && hits > 0 {
                found.push((hits, chapter, section));
            }
        }
    }
    // A stable sort keeps the order of the book among equals.
    found.sort_by_key(|(hits, ..)| std::cmp::Reverse(*hits));
    found
        .into_iter()
        .map(|(_, chapter, section)| (chapter, section))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_has_what_its_text_says() {
        let chapter = Chapter::find("mooring").unwrap();
        assert_eq!(chapter.title(), "Mooring");
        assert!(chapter.summary().starts_with("How a boat is made fast"));
        let names: Vec<_> = chapter.sections().map(|it| it.name()).collect();
        assert_eq!(names, ["lines", "fenders", "tides"]);
        assert!(chapter.section("tides").unwrap().text.contains("low water"));
        assert!(Chapter::find("cooking").is_none() && chapter.section("knots").is_none());
    }

    #[test]
    fn a_search_finds_all_words_and_the_best_first() {
        let titles = |words| -> Vec<_> { search(words).iter().map(|(_, it)| it.title).collect() };
        assert_eq!(titles("red"), ["Lights", "Distress"]);
        assert_eq!(titles("Red FLARES"), ["Distress"]);
        assert!(titles("submarine").is_empty() && titles("").is_empty());
    }
}
