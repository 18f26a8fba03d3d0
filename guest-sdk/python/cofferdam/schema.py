"""From type hints to JSON schemas, and from JSON to values of those types.

Known are `str`, `int`, `float`, `bool`, `None`, `Any`, `list`, `dict` with texts as keys, `Literal`,
enumerations by their values, unions, dataclasses, and `Annotated` with a `Field`.
"""

import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, Annotated, Callable, Literal, Union


class Field:
    """What a schema says of a value beside its type: `Annotated[int, Field("How many.", minimum=1)]`.

    Keywords are JSON Schema's own: `minimum`, `maxLength`, `pattern`, `format`, `title` and so on.
    """

    def __init__(self, description: str | None = None, **keywords: Any) -> None:
        self.keywords = keywords
        if description is not None:
            self.keywords = {"description": description} | keywords


_PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def of(hint: Any) -> dict[str, Any]:
    """The schema of a type."""
    if hint in _PRIMITIVES:
        return {"type": _PRIMITIVES[hint]}
    if hint in (Any, dict):
        return {} if hint is Any else {"type": "object"}
    if hint is list:
        return {"type": "array"}
    if dataclasses.is_dataclass(hint):
        return of_object(_fields(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return of(Literal[tuple(member.value for member in hint)])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        schema = of(arguments[0])
        for field in arguments[1:]:
            if isinstance(field, Field):
                schema |= field.keywords
        return schema
    if origin is Literal:
        kinds = {_PRIMITIVES[type(value)] for value in arguments}
        kind = {"type": kinds.pop()} if len(kinds) == 1 else {}
        return kind | {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": of(arguments[1])}
    if origin in (Union, types.UnionType):
        return {"anyOf": [of(argument) for argument in arguments]}
    raise TypeError(f"{hint} has no JSON schema; use Any, and say what it is in a Field")


@dataclasses.dataclass(frozen=True)
class Member:
    """A member of an object. It may be left out if it has a default."""

    hint: Any
    default: Any = dataclasses.MISSING


def _fields(hint: Any) -> dict[str, Member]:
    hints = typing.get_type_hints(hint, include_extras=True)
    members = {}
    for field in dataclasses.fields(hint):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        members[field.name] = Member(hints[field.name], default)
    return members


def parameters(function: Callable[..., Any]) -> dict[str, Member]:
    """The parameters of a function."""
    hints = typing.get_type_hints(function, include_extras=True)
    members = {}
    for name, parameter in inspect.signature(function).parameters.items():
        missing = parameter.default is inspect.Parameter.empty
        default = dataclasses.MISSING if missing else parameter.default
        members[name] = Member(hints.get(name, Any), default)
    return members


def of_object(members: dict[str, Member]) -> dict[str, Any]:
    """The schema of an object. A member that may be `None` by default is one that may be left out."""
    properties: dict[str, Any] = {}
    for name, member in members.items():
        if member.default is None:
            properties[name] = of(without_none(member.hint))
        elif member.default is dataclasses.MISSING:
            properties[name] = of(member.hint)
        else:
            properties[name] = of(member.hint) | {"default": plain(member.default)}
    required = [name for name, it in members.items() if it.default is dataclasses.MISSING]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema


def without_none(hint: Any) -> Any:
    """The type of a value that is there."""
    if typing.get_origin(hint) is Annotated:
        inner, *fields = typing.get_args(hint)
        return Annotated[(without_none(inner), *fields)]
    if typing.get_origin(hint) in (Union, types.UnionType):
        return Union[tuple(it for it in typing.get_args(hint) if it is not type(None))]
    return hint


def read(hint: Any, value: Any) -> Any:
    """A value of the type, from JSON that fits its schema."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return read(arguments[0], value)
    if hint is float:
        return float(value)
    if hint is int:
        # JSON Schema counts 2.0 as an integer.
        return int(value)
    if dataclasses.is_dataclass(hint):
        return hint(**read_object(_fields(hint), value))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if origin is list:
        return [read(arguments[0], item) for item in value]
    if origin is dict:
        return {name: read(arguments[1], item) for name, item in value.items()}
    if origin in (Union, types.UnionType):
        return _read_union(arguments, value)
    return value


def read_object(members: dict[str, Member], value: dict[str, Any]) -> dict[str, Any]:
    """The members that are there; the others have defaults."""
    return {name: read(it.hint, value[name]) for name, it in members.items() if name in value}


def _read_union(hints: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in hints:
        return None
    # The first that it can be read as: the host only says that it fits one of them.
    for hint in hints:
        try:
            if hint not in _PRIMITIVES or isinstance(value, hint):
                return read(hint, value)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return value


def plain(value: Any) -> Any:
    """What JSON is made of: dataclasses become objects, enumerations their values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
