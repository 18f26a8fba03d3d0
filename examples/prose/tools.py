"""Statistics of texts: how long, how varied, how easy to read."""

import re
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal

from cofferdam import (
    Accepted,
    Field,
    Form,
    Handler,
    Resource,
    Result,
    ToolError,
    ask,
    in_task,
    log,
    progress,
    start_task,
    step,
    tool,
)

__all__ = ["Handler"]

# From so many words on, a client that knows tasks gets one.
TASK_WORDS = 2_000

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
SENTENCE = re.compile(r"[.!?…]+[\"'”’)]*(?=\s|$)")
VOWELS = re.compile(r"[aeiouyäöüáéíóúàèìòùâêîôû]+", re.IGNORECASE)


@dataclass
class Chapter:
    """What was counted in a part of the text."""

    title: str
    words: int
    sentences: int
    syllables: int
    counts: dict[str, int]


@dataclass
class Report:
    """The whole text."""

    chapters: int
    words: int
    sentences: int
    distinct_words: int
    words_per_sentence: float
    reading_ease: Annotated[float, Field("Flesch reading ease: 100 is very easy, 0 very hard")]
    frequent: list[str]


@dataclass
class Choice:
    """What the user is asked about a text without headings."""

    split: Annotated[
        Literal["paragraphs", "nothing"],
        Field(title="Count each paragraph of its own, or the text as one?"),
    ] = "nothing"


@tool(
    name="describe-text",
    title="Describe a text",
    task="optional",
    read_only=True,
    open_world=False,
    output=Report,
)
def describe_text(
    text: Annotated[str, Field("The text. Lines that begin with # are headings of chapters.")],
    frequent: Annotated[int, Field("How many frequent words to tell.", minimum=0, maximum=50)] = 10,
) -> Result:
    """Counts words and sentences of a text, chapter by chapter, and works out how easy it is to read."""
    if len(text.split()) >= TASK_WORDS:
        start_task(status="Reading")
    chapters = chapters_of(text)
    counted = []
    for n, (title, body) in enumerate(chapters, 1):
        # Counting is what takes long: done once, also if the server goes meanwhile.
        counted.append(step(f"chapter {n}", lambda: count(title, body), Chapter))
        progress(n, len(chapters), title)
    report = sum_up(counted, frequent)
    log.info("described", words=report.words, chapters=report.chapters, task=in_task())
    table = "chapter,words,sentences,words per sentence\n" + "".join(
        f"{quoted(it.title)},{it.words},{it.sentences},{per_sentence(it):.1f}\n" for it in counted
    )
    return Result(
        content=[verdict(report), Resource("prose:///chapters.csv", table, "text/csv")],
        structured=report,
    )


def chapters_of(text: str) -> list[tuple[str, str]]:
    """Titles and bodies. The user says what a long text without headings is divided into."""
    parts = re.split(r"^#+\s*(.+)$", text, flags=re.MULTILINE)
    chapters = list(zip(["(beginning)", *parts[1::2]], parts[0::2]))
    chapters = [(title.strip(), body) for title, body in chapters if body.strip()]
    if not chapters:
        raise ToolError("There is no text.")
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    if len(chapters) == 1 and len(paragraphs) > 20:
        question = f"The text has no headings, but {len(paragraphs)} paragraphs."
        match ask("split", Form(question, Choice)):
            case Accepted(Choice("paragraphs")):
                return [(f"paragraph {n}", part) for n, part in enumerate(paragraphs, 1)]
    return chapters


def count(title: str, body: str) -> Chapter:
    words = [word.lower() for word in WORD.findall(body)]
    return Chapter(
        title,
        words=len(words),
        sentences=max(1, len(SENTENCE.findall(body))),
        syllables=sum(max(1, len(VOWELS.findall(word))) for word in words),
        counts=dict(Counter(words)),
    )


def sum_up(chapters: list[Chapter], frequent: int) -> Report:
    counts: Counter[str] = Counter()
    for chapter in chapters:
        counts.update(chapter.counts)
    words = sum(chapter.words for chapter in chapters)
    sentences = sum(chapter.sentences for chapter in chapters)
    if words == 0:
        raise ToolError("There is no word in this text.")
    syllables = sum(chapter.syllables for chapter in chapters)
    ease = 206.835 - 1.015 * words / sentences - 84.6 * syllables / words
    # Equal counts in the order of the alphabet, so that the same text gives the same report.
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Report(
        chapters=len(chapters),
        words=words,
        sentences=sentences,
        distinct_words=len(counts),
        words_per_sentence=round(statistics.mean(per_sentence(it) for it in chapters), 1),
        reading_ease=round(ease, 1),
        frequent=[word for word, _ in ranked[:frequent]],
    )


def per_sentence(chapter: Chapter) -> float:
    return chapter.words / chapter.sentences


def verdict(report: Report) -> str:
    scale = [(70, "easy"), (50, "fairly difficult"), (30, "difficult")]
    grade = next((name for least, name in scale if report.reading_ease >= least), "very difficult")
    return (
        f"{report.words} words in {report.sentences} sentences, {report.distinct_words} of them "
        f"different: {grade} to read ({report.reading_ease})."
    )


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
