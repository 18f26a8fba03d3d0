"""Five tools that ask their user and tell whether what they had before the answer is what they have
after it. A handler that the host runs again must come to the same place with the same values, so no
result depends on anything but the answers.
"""

import json
import random
import secrets
import time
from dataclasses import dataclass
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.handler import TaskSupport, Tool, ToolCall
from wit_world.imports import task
from wit_world.imports.types import (
    CallError_MissingFeatures,
    CallError_Rpc,
    Content_Text,
    RpcError,
    TextContent,
    ToolResult,
)

ARGUMENTS = json.dumps(
    {
        "type": "object",
        "properties": {
            "phase": {
                "type": "string",
                "enum": ["inline", "task"],
                "default": "inline",
                "description": "Whether the call becomes a task before anything else",
            },
        },
    }
)

FORM = json.dumps(
    {
        "type": "object",
        "properties": {"value": {"type": "string"}},
        "required": ["value"],
    }
)


class Unanswered(Exception):
    """A question that the user did not answer."""


def ask(*keys: str) -> dict[str, str]:
    """Asks the user one question for each key, all at once. Returns the values by their keys."""
    requests = [
        (key, task.InputRequest_Form(task.FormRequest(message=f"{key}?", schema=FORM)))
        for key in keys
    ]
    values = {}
    for key, answer in task.require_input(requests):
        if answer.value.action is not task.Action.ACCEPT:
            action = answer.value.action.name.lower()
            raise Unanswered(f'the answer to "{key}" was: {action}')
        values[key] = json.loads(answer.value.content)["value"]
    return values


def record(key: str, text: str) -> None:
    task.record(key, text.encode())


def recall(key: str) -> str | None:
    value = task.recall(key)
    return None if value is None else value.decode()


def random_hex() -> str:
    """Sixteen bytes, half of them from each of Python's sources."""
    return (random.randbytes(8) + secrets.token_bytes(8)).hex()


@dataclass(frozen=True)
class Clocks:
    """What the clocks said, in nanoseconds."""

    wall: int
    monotonic: int

    @classmethod
    def read(cls) -> "Clocks":
        return cls(time.time_ns(), time.monotonic_ns())


def checksum(seed: int) -> str:
    """FNV-1a, 32 bits, of a thousand bytes that depend on `seed`."""
    hash = 0x811C9DC5
    for n in range(1000):
        hash = (hash ^ ((seed + n) & 0xFF)) * 0x01000193 & 0xFFFFFFFF
    return f"{hash:08x}"


def sequence() -> dict[str, Any]:
    """Asks one question, then another"""
    return ask("first") | ask("second")


def two_keys() -> dict[str, Any]:
    """Asks two questions at once"""
    return ask("left", "right")


def random_() -> dict[str, Any]:
    """Draws random bytes before a question and after it"""
    drawn = random_hex()
    record("drawn", drawn)
    answer = ask("go")["go"]
    if random_hex() == drawn:
        raise RuntimeError("random bytes came twice")
    return {"same": recall("drawn") == drawn, "answer": answer}


def clock() -> dict[str, Any]:
    """Reads the clocks before a question and after it"""
    before = Clocks.read()
    record("read", str(before))
    answer = ask("go")["go"]
    after = Clocks.read()
    ordered = after.wall >= before.wall and after.monotonic >= before.monotonic
    return {"same": recall("read") == str(before), "ordered": ordered, "answer": answer}


def steps() -> dict[str, Any]:
    """Takes five steps, each once, and asks a question after the third"""
    taken = []
    answer = None
    for i in range(5):
        key = f"step-{i}"
        if recall(key) is None:
            record(key, checksum(i))
        taken.append(recall(key))
        if i == 2:
            answer = ask("go")["go"]
    return {"steps": taken, "answer": answer}


TOOLS = {
    "sequence": sequence,
    "two_keys": two_keys,
    "random": random_,
    "clock": clock,
    "steps": steps,
}


def result(text: str, is_error: bool = False) -> ToolResult:
    return ToolResult(
        content=[Content_Text(TextContent(text=text, annotations=None))],
        structured=None,
        is_error=is_error,
        meta=None,
    )


class Handler(exports.Handler):
    def list_tools(self) -> list[Tool]:
        return [
            Tool(
                name=name,
                title=None,
                description=run.__doc__,
                input_schema=ARGUMENTS,
                output_schema=None,
                hints=None,
                task_support=TaskSupport.OPTIONAL,
                meta=None,
            )
            for name, run in TOOLS.items()
        ]

    def call_tool(self, call: ToolCall) -> ToolResult:
        try:
            if json.loads(call.arguments).get("phase") == "task":
                task.start_task(
                    task.StartOptions(
                        ttl=task.Ttl_Default(),
                        poll_interval_ms=None,
                        status_message=None,
                        max_attempts=None,
                    )
                )
            answer = TOOLS[call.name]()
        except Unanswered as unanswered:
            return result(str(unanswered), is_error=True)
        except Err as error:
            # What a verb refuses with is not what a call may fail with.
            match error.value:
                case task.InputError_MissingFeatures(features):
                    raise Err(CallError_MissingFeatures(features))
                case refusal:
                    message = f"the host said {refusal}"
                    raise Err(CallError_Rpc(RpcError(code=-32603, message=message, data=None)))
        return result(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
