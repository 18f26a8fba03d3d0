"""A tool that does nothing but answer, for the benchmark: what is left is the engine."""

from cofferdam import Handler, tool

__all__ = ["Handler"]


@tool()
def echo(text: str) -> str:
    """Answers with its text."""
    return text
