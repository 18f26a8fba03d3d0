"""Questions to the client, and its answers. A refusal is an answer, not an error.

A question works in a task and inline alike; a key is good once in a call.

    match ask("sure", Form("Really?", Sure)):
        case Accepted(Sure(sure=True)):
            ...
        case _:
            return "Nothing was done."
"""

import json
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from wit_world.imports import task
from wit_world.imports.types import Role

from . import schema
from .errors import refusals
from .results import to_json

T = TypeVar("T")


@dataclass(frozen=True)
class Form(Generic[T]):
    """A form with the fields of a dataclass. They are texts, numbers, truth values and choices. Never
    ask for secrets in it."""

    message: str
    fields: type[T]


@dataclass(frozen=True)
class Visit:
    """A page for the user to visit: an absolute `http` or `https` URL."""

    message: str
    url: str


@dataclass(frozen=True)
class Prompt:
    """A question to the client's model, answered with at most `max_tokens`."""

    text: str
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] = field(default_factory=list)
    model_preferences: Any = None
    metadata: Any = None


@dataclass(frozen=True)
class Roots:
    """The client's root folders."""


@dataclass(frozen=True)
class Accepted(Generic[T]):
    """A form was filled in and sent; or a page will be visited, then without a value."""

    value: T


@dataclass(frozen=True)
class Declined:
    """The user said no."""


@dataclass(frozen=True)
class Cancelled:
    """The user went away without a choice."""


Answer = Accepted[T] | Declined | Cancelled


@dataclass(frozen=True)
class Sampled:
    """What the model wrote. Content of another kind than text is left out."""

    text: str
    model: str
    stop_reason: str | None


@dataclass(frozen=True)
class Root:
    """A folder of the client."""

    uri: str
    name: str | None


Request = Form[Any] | Visit | Prompt | Roots


@overload
def ask(key: str, request: Form[T]) -> Answer[T]: ...
@overload
def ask(key: str, request: Visit) -> Answer[None]: ...
@overload
def ask(key: str, request: Prompt) -> Sampled: ...
@overload
def ask(key: str, request: Roots) -> list[Root]: ...
def ask(key: str, request: Request) -> Any:
    """Asks one thing, and returns when it is answered."""
    return ask_all({key: request})[key]


def ask_all(requests: dict[str, Request]) -> dict[str, Any]:
    """Asks up to 32 things at once, and returns the answers by their keys when all are there."""
    with refusals():
        answers = task.require_input([(key, _lower(it)) for key, it in requests.items()])
    return {key: _lift(requests[key], answer) for key, answer in answers}


def _lower(request: Request) -> task.InputRequest:
    match request:
        case Form(message, fields):
            form = task.FormRequest(message, json.dumps(schema.of(fields)))
            return task.InputRequest_Form(form)
        case Visit(message, url):
            return task.InputRequest_Url(task.UrlRequest(message, url))
        case Prompt():
            return task.InputRequest_Sampling(
                task.SamplingRequest(
                    [task.SamplingMessage(Role.USER, [task.SamplingContent_Text(request.text)])],
                    request.max_tokens,
                    request.system_prompt,
                    request.temperature,
                    request.stop_sequences,
                    to_json(request.model_preferences),
                    to_json(request.metadata),
                    None,
                    None,
                )
            )
        case Roots():
            return task.InputRequest_Roots()


def _lift(request: Request, answer: task.InputAnswer) -> Any:
    match answer:
        case task.InputAnswer_Elicitation(task.ElicitationAnswer(action, content)):
            if action is task.Action.DECLINE:
                return Declined()
            if action is task.Action.CANCEL:
                return Cancelled()
            if isinstance(request, Form):
                return Accepted(schema.read(request.fields, json.loads(content or "{}")))
            return Accepted(None)
        case task.InputAnswer_Sampling(task.SamplingAnswer(_, content, model, stop_reason)):
            texts = [it.value for it in content if isinstance(it, task.SamplingContent_Text)]
            return Sampled("".join(texts), model, stop_reason)
        case task.InputAnswer_Roots(roots):
            return [Root(root.uri, root.name) for root in roots]
