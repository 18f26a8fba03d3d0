"""A glossary: terms as resources, a prompt that uses them, and a tool that finds them and links to them."""

from typing import Annotated

from cofferdam import Field, Handler, Link, RpcError, tool
from cofferdam.offers import Completion, Listed, Prompts, Resources, among, prompt, resource

__all__ = ["Completion", "Handler", "Prompts", "Resources"]

HOUR_MS = 3_600_000

TERMS = {
    "abaft": "Nearer to the stern than something else.",
    "bollard": "A post on a quay that lines are made fast to.",
    "cofferdam": "An enclosure that keeps the water out while something is built inside.",
    "draught": "How deep a ship reaches below the water line.",
    "fathom": "Six feet, a measure of depth.",
}
READERS = ["a child", "a landlubber", "a cadet"]


def terms() -> list[Listed]:
    """All terms, for the list of resources."""
    return [Listed(f"glossary://terms/{it}", it, mime_type="text/plain") for it in TERMS]


@resource(
    "glossary://terms/{name}",
    mime_type="text/plain",
    list=terms,
    ttl_ms=HOUR_MS,
    complete={"name": list(TERMS)},
)
def term(name: str) -> str | None:
    """What a term means."""
    return TERMS.get(name)


@prompt(title="Explain a term", complete={"name": list(TERMS), "reader": READERS})
def explain(
    name: Annotated[str, Field("A term of the glossary")],
    reader: Annotated[str, Field("To whom it is explained")] = READERS[0],
) -> str:
    """Explains a term of the glossary."""
    if name not in TERMS:
        raise RpcError(-32602, f"the glossary has no term {name}")
    return f"Explain {name} to {reader}, with an example. It means: {TERMS[name]}"


@tool(title="Find terms", read_only=True, open_world=False)
def find_terms(start: Annotated[str, Field("How they begin")]) -> list[Link] | str:
    """Finds the terms that begin so, and links to them."""
    found = among(start, TERMS)
    links = [Link(f"glossary://terms/{it}", it, description=TERMS[it]) for it in found]
    return links or f"No term begins with {start}."
