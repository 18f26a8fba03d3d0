//! A handbook: its chapters and sections are resources, a tool finds them and links to them, and prompts
//! begin a conversation about them. What a user types in an argument is completed.

mod book;

use book::{CHAPTERS, Chapter, contents, search as find};
use cofferdam_guest::prelude::*;

/// What all of it is written in.
const MARKDOWN: &str = "text/markdown";
/// The chapters change only with the component, so clients may keep them for an hour.
const HOUR_MS: u64 = 3_600_000;

#[derive(Serialize, JsonSchema)]
struct Found {
    /// How many sections have all the words.
    sections: usize,
}

/// Finds the sections of the handbook that have all of some words, and links to them.
#[tool(title = "Search the handbook", read_only, open_world = false)]
fn search(
    /// Words, in any order; upper and lower case are the same.
    words: String,
    /// How many sections at most; 5 if left out.
    #[schemars(range(min = 1, max = 20))]
    most: Option<usize>,
) -> Result<ToolResult> {
    let found = find(&words);
    let sections = found.len();
    let result = ToolResult::text(match sections {
        0 => format!("Nothing in the handbook has {words:?}."),
        1 => "One section has it:".to_owned(),
        n => format!("{n} sections have it, the best first:"),
    });
    let found = found.into_iter().take(most.unwrap_or(5));
    let links = found.map(|(chapter, found)| ResourceLink {
        title: Some(format!("{}: {}", chapter.title(), found.title)),
        mime_type: Some(MARKDOWN.to_owned()),
        ..ResourceLink::new(section::uri(chapter.name, found.name()), found.name())
    });
    links
        .fold(result, ToolResult::with)
        .structured(&Found { sections })
}

/// All chapters and sections, with their addresses.
#[resource(
    "handbook://contents",
    title = "Contents",
    mime_type = MARKDOWN,
    ttl_ms = HOUR_MS
)]
fn table_of_contents() -> String {
    contents()
}

/// A chapter of the handbook.
#[resource(
    "handbook://chapters/{chapter}",
    title = "Chapter",
    mime_type = MARKDOWN,
    list = all_chapters,
    ttl_ms = HOUR_MS
)]
fn chapter(#[arg(complete = chapters)] chapter: String) -> Option<&'static str> {
    Chapter::find(&chapter).map(|it| it.text)
}

/// A section of a chapter.
#[resource(
    "handbook://chapters/{chapter}/{section}",
    title = "Section",
    mime_type = MARKDOWN,
    ttl_ms = HOUR_MS
)]
fn section(
    #[arg(complete = chapters)] chapter: String,
    #[arg(complete = sections)] section: String,
) -> Option<&'static str> {
    let section = Chapter::find(&chapter)?.section(&section)?;
    Some(section.text)
}

/// The chapters, for the list of resources.
fn all_chapters() -> Vec<ListedResource> {
    CHAPTERS.iter().map(Chapter::listed).collect()
}

/// Explains a section to somebody who knows little, or much.
#[prompt(title = "Explain a section")]
fn explain(
    /// A chapter of the handbook.
    #[arg(complete = chapters)]
    chapter: String,
    /// One of its sections.
    #[arg(complete = sections)]
    section: String,
    /// To whom it is explained: to a beginner if left out.
    #[arg(complete = readers)]
    reader: Option<String>,
) -> Result<(EmbeddedResource, String)> {
    let found = Chapter::find(&chapter).and_then(|it| it.section(&section));
    let Some(found) = found else {
        let message = format!("the handbook has no section {chapter}/{section}");
        return Err(Error::rpc(RpcError::INVALID_PARAMS, message));
    };
    let uri = section::uri(chapter, section);
    let reader = reader.as_deref().unwrap_or("beginner");
    Ok((
        EmbeddedResource::text(uri, MARKDOWN, found.text),
        format!(
            "Explain this section of our handbook to a {reader}, in at most ten sentences. Say \
             nothing that it does not say."
        ),
    ))
}

#[derive(Deserialize, JsonSchema)]
struct Questions {
    /// How many questions, 1 to 10.
    #[schemars(range(min = 1, max = 10))]
    number: u8,
}

/// Asks questions about a chapter; how many, it asks first.
#[prompt(title = "Quiz")]
fn quiz(
    call: &Call,
    /// A chapter of the handbook.
    #[arg(complete = chapters)]
    chapter: String,
) -> Result<PromptResult> {
    let Some(found) = Chapter::find(&chapter) else {
        let message = format!("the handbook has no chapter {chapter}");
        return Err(Error::rpc(RpcError::INVALID_PARAMS, message));
    };
    let answer = call.ask_form::<Questions>("questions", "How many questions?")?;
    let number = answer.accepted().map_or(3, |answer| answer.number);
    let ask = format!(
        "Read this chapter, then ask me {number} questions about it, one after the other, and say \
         after each answer whether it was right."
    );
    Ok(PromptResult::new()
        .describe(format!("A quiz about {}", found.title()))
        .with(PromptMessage::user(found.listed()))
        .with(PromptMessage::user(ask)))
}

fn chapters() -> Vec<&'static str> {
    CHAPTERS.iter().map(|chapter| chapter.name).collect()
}

/// The sections of the chapter that was chosen, or all.
fn sections(typed: &Typed) -> CompletionResult {
    let chosen = typed.other("chapter");
    let chapters = CHAPTERS.iter();
    let chapters = chapters.filter(|it| chosen.is_none_or(|chosen| it.name == chosen));
    let sections = chapters.flat_map(Chapter::sections);
    typed.among(sections.map(|section| section.name()))
}

fn readers() -> [&'static str; 4] {
    ["beginner", "child", "deck hand", "skipper"]
}

cofferdam_guest::export! {
    tools: [search],
    prompts: [explain, quiz],
    resources: [table_of_contents, chapter, section],
    completion,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_guest::Prompt;
    use cofferdam_guest::testing::Script;
    use serde_json::json;

    #[test]
    fn a_quiz_asks_how_many_questions() {
        let script = Script::new().accept("questions", &json!({ "number": 7 }));
        let prompt = quiz(&script.call(), "weather".to_owned()).unwrap();
        assert!(format!("{:?}", prompt.messages).contains("ask me 7 questions"));
        let script = Script::new().decline("questions");
        let prompt = quiz(&script.call(), "weather".to_owned()).unwrap();
        assert!(format!("{:?}", prompt.messages).contains("ask me 3 questions"));
        assert!(quiz(&script.call(), "cooking".to_owned()).is_err());
    }

    #[test]
    fn sections_complete_within_their_chapter() {
        let values = |typed| {
            <explain as Prompt>::complete("section", &typed)
                .unwrap()
                .values
        };
        assert_eq!(values(Typed::new("f").with("chapter", "weather")), ["fog"]);
        assert_eq!(values(Typed::new("F")), ["fenders", "fog"]);
    }

    #[test]
    fn what_is_listed_can_be_read() {
        for listed in all_chapters() {
            assert_eq!(listed.uri, chapter::uri(&listed.name));
            let text = chapter(listed.name).unwrap();
            assert_eq!(listed.size, Some(text.len() as u64));
        }
        let fog = section("weather".to_owned(), "fog".to_owned()).unwrap();
        assert!(fog.starts_with("## Fog\n\nSound the horn"));
    }

    #[test]
    fn a_search_links_to_sections() {
        let found = search("low water".to_owned(), Some(1)).unwrap();
        let Some(Content::ResourceLink(link)) = found.content.get(1) else {
            panic!("{found:?}")
        };
        assert_eq!(link.uri, "handbook://chapters/mooring/tides");
        assert_eq!(link.title.as_deref(), Some("Mooring: Tides"));
        assert!(table_of_contents().contains(&format!("Tides <{}>", link.uri)));
        let nothing = search("submarine".to_owned(), None).unwrap();
        assert_eq!(nothing.content.len(), 1);
    }

    #[test]
    fn a_prompt_shows_what_it_explains() {
        let explained = |section: &str| explain("weather".to_owned(), section.to_owned(), None);
        let (shown, question) = explained("fog").unwrap();
        assert_eq!(shown.uri, "handbook://chapters/weather/fog");
        assert!(question.contains("to a beginner"));
        assert!(explained("sun").is_err());
    }
}
