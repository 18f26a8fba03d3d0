"""A tool that asks its user a question while it runs."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cofferdam import Accepted, Field, Form, Handler, ask, progress, start_task, step, tool

# componentize-py looks for it here.
__all__ = ["Handler"]


@dataclass
class Question:
    manner: Annotated[Literal["formal", "friendly"], Field(title="How to greet")]


@tool(title="Greet", task="optional", read_only=True, open_world=False)
def greet(name: Annotated[str, Field("Who is greeted.")]) -> str:
    """Greets someone in the manner that the user chooses."""
    # A client that knows tasks is answered now, and need not wait for the user.
    start_task(status="Thinking")
    # A step is done once, also if the server is stopped meanwhile and the tool run again.
    letters = step("letters", lambda: len(name))
    progress(1, 2, f"{letters} letters")
    match ask("manner", Form(f"How shall {name} be greeted?", Question)):
        case Accepted(Question("formal")):
            return f"Good day, {name}."
        case Accepted(_):
            return f"Hi {name}!"
        case _:
            return f"{name} was not greeted."
