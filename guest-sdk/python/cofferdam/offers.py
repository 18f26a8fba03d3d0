"""Prompts, resources, and the completion of their arguments.

    from cofferdam.offers import Completion, Prompts, Resources, prompt, resource

    @resource("notes://{day}", mime_type="text/plain", complete={"day": DAYS})
    def note(day: str) -> str | None:
        \"\"\"A note.\"\"\"
        return NOTES.get(day)

    @prompt(complete={"day": DAYS})
    def plan(day: str) -> str:
        \"\"\"Plans a day.\"\"\"
        return f"Plan {day}: {NOTES[day]}"

For a component of the world `everything`, in which componentize-py looks for the three names, and for
`Handler`.
"""

import dataclasses
import inspect
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Callable, Iterable, Mapping, Sequence, TypeVar

from wit_world import exports
from wit_world.exports import completion as wit_completion
from wit_world.exports import prompts as wit_prompts
from wit_world.exports import resources as wit_resources
from wit_world.imports import changes as wit_changes
from wit_world.imports import types as wit

from . import call, schema
from .answers import answered
from .errors import INVALID_PARAMS, RpcError
from .results import Blob, Block, Resource, lower, to_json

F = TypeVar("F", bound=Callable[..., Any])

Complete = Sequence[str] | Callable[[str, dict[str, str]], Iterable[str]]
"""Values for what a user types: all that there are, or a function of the text and of the arguments
that have a value already."""

PAGE = 1000
"""Most resources of a page."""

SHOWN = 100
"""Most values that a client is shown."""


@dataclass(frozen=True)
class User:
    """A message of the user. A block alone is one, too."""

    content: Block


@dataclass(frozen=True)
class Assistant:
    """A message of the model."""

    content: Block


@dataclass(frozen=True)
class Listed:
    """A resource as clients see it in a list; `size` in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class _Prompt:
    definition: wit_prompts.Prompt
    members: dict[str, schema.Member]
    run: Callable[..., Any]
    complete: Mapping[str, Complete]


@dataclass(frozen=True)
class _Resource:
    definition: wit_resources.ListedResource | wit_resources.ResourceTemplate
    members: dict[str, schema.Member]
    run: Callable[..., Any]
    complete: Mapping[str, Complete]
    list: Callable[[], Iterable[Listed]] | None
    cache: wit_resources.CacheHint | None


_PROMPTS: dict[str, _Prompt] = {}
_RESOURCES: dict[str, _Resource] = {}


def prompt(
    *,
    name: str | None = None,
    title: str | None = None,
    complete: Mapping[str, Complete] | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[F], F]:
    """Makes the function below a prompt; clients see prompts in their order.

    Its parameters are the arguments, of type `str`, `int` or `float`; `Annotated` with a `Field` says
    more of them. It returns a block or a message, or a list of those.
    """

    def register(function: F) -> F:
        members = schema.parameters(function)
        arguments = []
        for argument, member in members.items():
            said = schema.of(member.hint)
            required = member.default is dataclasses.MISSING
            arguments.append(
                wit_prompts.PromptArgument(
                    argument, said.get("title"), said.get("description"), required
                )
            )
        definition = wit_prompts.Prompt(
            name or function.__name__, title, inspect.getdoc(function), arguments, to_json(meta)
        )
        _add(_PROMPTS, definition.name, _Prompt(definition, members, function, complete or {}))
        return function

    return register


def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    mime_type: str | None = None,
    list: Callable[[], Iterable[Listed]] | None = None,
    ttl_ms: int | None = None,
    private: bool = False,
    complete: Mapping[str, Complete] | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[F], F]:
    """Makes the function below a resource, or what a template stands for, if there are variables:
    `{name}` is anything but `/`, `?` and `#`, `{+name}` is anything.

    Its parameters are the variables, of type `str`, `int` or `float`; where one does not parse there is
    no such resource. They are what the client chose: whoever makes a path of one must look for `..`.

    It returns text or bytes, a `Resource` or a `Blob`, a list of those, or `None` if there is no such
    resource. `list` lists what a template stands for, in the same order each time. A client may keep
    what it read for `ttl_ms`; only the caller may, if it is `private`.
    """

    def register(function: F) -> F:
        described = (name or function.__name__, title, inspect.getdoc(function), mime_type)
        definition: wit_resources.ListedResource | wit_resources.ResourceTemplate
        if "{" in uri:
            definition = wit_resources.ResourceTemplate(uri, *described, None, to_json(meta))
        else:
            definition = wit_resources.ListedResource(uri, *described, None, None, to_json(meta))
        cache = None if ttl_ms is None else wit_resources.CacheHint(ttl_ms, private)
        members = schema.parameters(function)
        _add(_RESOURCES, uri, _Resource(definition, members, function, complete or {}, list, cache))
        return function

    return register


def resource_updated(uri: str) -> None:
    """Tells clients that listen to it that a resource changed."""
    wit_changes.resource_updated(uri)


def list_changed(what: typing.Literal["tools", "prompts", "resources"]) -> None:
    """Tells clients that listen that a list of this component changed."""
    wit_changes.list_changed(wit_changes.ChangedList[what.upper()])


def among(text: str, candidates: Iterable[str]) -> list[str]:
    """Of these candidates, those that begin with the text, whatever the case."""
    return [it for it in candidates if it.casefold().startswith(text.casefold())]


def _add(table: dict[str, Any], name: str, item: Any) -> None:
    if name in table:
        raise ValueError(f"two are named {name}")
    table[name] = item


def _read(members: dict[str, schema.Member], given: list[tuple[str, str]]) -> dict[str, Any]:
    """The values of text. Raises a `ValueError` that names the one that does not parse."""
    values = {}
    for name, text in given:
        kind = schema.without_none(members[name].hint)
        kind = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
        try:
            values[name] = kind(text) if kind in (int, float) else text
        except ValueError:
            raise ValueError(f'"{name}" does not fit') from None
    return values


class Prompts(exports.Prompts):
    """The component's export."""

    def list_prompts(self) -> list[wit_prompts.Prompt]:
        return [it.definition for it in _PROMPTS.values()]

    def get_prompt(self, asked: wit_prompts.PromptCall) -> wit_prompts.PromptResult:
        call.begin(asked.features)
        with answered():
            found = _PROMPTS.get(asked.name)
            if found is None:
                raise RpcError(INVALID_PARAMS, f"no prompt is named {asked.name}")
            try:
                values = _read(found.members, asked.arguments)
            except ValueError as error:
                raise RpcError(INVALID_PARAMS, f"the argument {error}") from None
            said = found.run(**values)
            said = said if isinstance(said, (list, tuple)) else [said]
            return wit_prompts.PromptResult(None, [_message(it) for it in said], None)


def _message(said: Any) -> wit_prompts.PromptMessage:
    if isinstance(said, Assistant):
        return wit_prompts.PromptMessage(wit.Role.ASSISTANT, lower(said.content))
    block = said.content if isinstance(said, User) else said
    return wit_prompts.PromptMessage(wit.Role.USER, lower(block))


class Resources(exports.Resources):
    """The component's export."""

    def describe_resources(self) -> wit_resources.ResourceSet:
        told = wit_resources.ResourceSet([], [], any(it.list for it in _RESOURCES.values()))
        for it in _RESOURCES.values():
            if isinstance(it.definition, wit_resources.ListedResource):
                told.resources.append(it.definition)
            else:
                told.templates.append(it.definition)
        return told

    def list_resources(self, asked: wit_resources.ListCall) -> wit_resources.ResourcePage:
        call.begin(asked.features)
        with answered():
            before = asked.cursor or "0"
            if not (before.isascii() and before.isdigit()):
                raise RpcError(INVALID_PARAMS, "no page begins at this cursor")
            every = [it for one in _RESOURCES.values() if one.list for it in one.list()]
            end = int(before) + PAGE
            page = [
                wit_resources.ListedResource(
                    it.uri, it.name, it.title, it.description, it.mime_type, it.size, None, None
                )
                for it in every[int(before) : end]
            ]
            return wit_resources.ResourcePage(page, str(end) if end < len(every) else None)

    def read_resource(self, asked: wit_resources.ResourceCall) -> wit_resources.ResourceContents:
        call.begin(asked.features)
        nothing = wit_resources.ResourceContents([], None, None)
        with answered():
            found = _RESOURCES.get(asked.template or asked.uri)
            if found is None:
                return nothing
            try:
                values = _read(found.members, asked.variables)
            except ValueError:
                return nothing
            held = found.run(**values)
            if held is None:
                return nothing
            parts = held if isinstance(held, (list, tuple)) else [held]
            mime_type = found.definition.mime_type
            contents = [_content(it, asked.uri, mime_type) for it in parts]
            return wit_resources.ResourceContents(contents, found.cache, None)


def _content(held: Any, uri: str, mime_type: str | None) -> wit_resources.ResourceContent:
    if isinstance(held, Resource):
        uri, mime_type, held = held.uri, held.mime_type, held.text
    elif isinstance(held, Blob):
        uri, mime_type, held = held.uri, held.mime_type, held.data
    body: wit.ResourceBody
    body = wit.ResourceBody_Text(held) if isinstance(held, str) else wit.ResourceBody_Blob(held)
    return wit_resources.ResourceContent(uri, mime_type, body, None)


class Completion(exports.Completion):
    """The component's export."""

    def complete_argument(
        self, asked: wit_completion.CompletionCall
    ) -> wit_completion.CompletionResult:
        with answered():
            reference = asked.reference
            is_prompt = isinstance(reference, wit_completion.Reference_Prompt)
            table: dict[str, Any] = _PROMPTS if is_prompt else _RESOURCES
            found = table.get(reference.value)
            complete = found.complete.get(asked.argument.name, ()) if found else ()
            if callable(complete):
                values = list(complete(asked.argument.value, dict(asked.context)))
            else:
                values = among(asked.argument.value, complete)
            total = len(values) if len(values) > SHOWN else None
            return wit_completion.CompletionResult(values, total, False)
