"""The tools of a component: what `list-tools` tells of them, and how `call-tool` runs one."""

import dataclasses
import inspect
import json
import typing
from typing import Any, Callable, Literal, TypeVar

from wit_world import exports
from wit_world.exports import handler as wit
from wit_world.imports.types import ToolResult

from . import call, schema
from .answers import answered
from .errors import INVALID_PARAMS, CallOver, RpcError, ToolError
from .results import Result, to_json

F = TypeVar("F", bound=Callable[..., Any])

_TOOLS: dict[str, tuple[wit.Tool, Callable[[str], Any]]] = {}


def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    task: Literal["none", "optional", "required"] = "none",
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    output: Any = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[F], F]:
    """Makes the function below a tool; clients see tools in their order.

    Its parameters are the arguments, its docstring is the description. A tool that returns a dataclass
    has that as its output schema; `output` is another type for it, or a schema.
    """

    def register(function: F) -> F:
        members = schema.parameters(function)
        result = _output(function) if output is None else output
        if result is not None and not isinstance(result, dict):
            result = schema.of(result)
        hints = wit.ToolHints(read_only, destructive, idempotent, open_world)
        definition = wit.Tool(
            name or function.__name__,
            title,
            inspect.getdoc(function),
            json.dumps(schema.of_object(members) | {"additionalProperties": False}),
            to_json(result),
            hints if any(it is not None for it in dataclasses.astuple(hints)) else None,
            wit.TaskSupport[task.upper()],
            to_json(meta),
        )

        def run(arguments: str) -> Any:
            return function(**schema.read_object(members, json.loads(arguments)))

        if definition.name in _TOOLS:
            raise ValueError(f"two tools are named {definition.name}")
        _TOOLS[definition.name] = (definition, run)
        return function

    return register


def _output(function: Callable[..., Any]) -> Any:
    result = typing.get_type_hints(function).get("return")
    # The kinds of blocks, and `Result`, are dataclasses of this package.
    is_own = getattr(result, "__module__", "").startswith(__package__)
    return result if dataclasses.is_dataclass(result) and not is_own else None


class Handler(exports.Handler):
    """The component's export."""

    def list_tools(self) -> list[wit.Tool]:
        return [definition for definition, _ in _TOOLS.values()]

    def call_tool(self, asked: wit.ToolCall) -> ToolResult:
        call.begin(asked.features)
        with answered():
            if asked.name not in _TOOLS:
                raise RpcError(INVALID_PARAMS, f"no tool is named {asked.name}")
            _, run = _TOOLS[asked.name]
            try:
                return Result.of(run(asked.arguments)).lower()
            except (ToolError, CallOver) as error:
                return Result([str(error)], is_error=True).lower()
