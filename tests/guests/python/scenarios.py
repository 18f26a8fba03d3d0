"""The scenarios that a guest in every language plays alike (`tests/guests/scenarios/README.md`)."""

import json
import random as numbers
import secrets
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cofferdam import (
    Accepted,
    Annotations,
    Audio,
    Blob,
    CallOver,
    Declined,
    Field,
    Form,
    Image,
    Link,
    Resource,
    RpcError,
    Text,
    ToolError,
    ask,
    ask_all,
    cancelled,
    log,
    progress,
    recall,
    record,
    sleep,
    start_task,
    step,
    tool,
)

Phase = Annotated[
    Literal["inline", "task"], Field("Whether the call becomes a task before anything else")
]


def begin(phase: Phase) -> None:
    if phase == "task":
        start_task()


@dataclass
class Value:
    value: str


def values(*keys: str) -> dict[str, str]:
    """Asks for a text under each key, all at once. Returns them by their keys."""
    answers = {}
    for key, answer in ask_all({key: Form(f"What is {key}?", Value) for key in keys}).items():
        if not isinstance(answer, Accepted):
            action = "decline" if isinstance(answer, Declined) else "cancel"
            raise ToolError(f"{key}: {action}")
        answers[key] = answer.value.value
    return answers


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@tool(title="Contents", read_only=True)
def contents() -> list[Any]:
    """One block of each kind"""
    hints = Annotations(("user", "assistant"), 0.5, "2026-07-28T00:00:00Z")
    return [
        Text("text", hints),
        Image(bytes([137, 80, 78, 71])),
        Audio(bytes([82, 73, 70, 70, 0])),
        Link("file:///report.txt", "report", "Report", "A report", "text/plain", 7),
        Resource("test://text", "text"),
        Blob("test://blob", bytes([0, 255])),
    ]


@dataclass
class Sum:
    sum: float


@tool()
def add(a: float, b: float) -> Sum:
    """Adds two numbers"""
    return Sum(a + b)


@dataclass
class Count:
    count: int


@tool(output=Count)
def misfit() -> Any:
    """Promises a count, and returns something else"""
    return {"count": "many"}


@tool()
def strict(
    word: Annotated[str, Field(minLength=1, maxLength=5)],
    number: Annotated[int, Field(minimum=1, maximum=10)],
) -> str:
    """Takes only what is within bounds"""
    return f"{word} {number}"


@tool()
def refuse(reason: str) -> None:
    """Cannot do what is asked"""
    raise ToolError(reason)


@tool(task="optional")
def fault(code: int, message: str, phase: Phase = "inline") -> None:
    """Fails with a JSON-RPC error"""
    begin(phase)
    raise RpcError(code, message, {"hint": "none"})


@tool(task="optional")
def crash(phase: Phase = "inline") -> str:
    """Has a bug"""
    begin(phase)
    return {}["bug"]


@tool(task="optional")
def count(to: Annotated[int, Field(minimum=1, maximum=100)], phase: Phase = "inline") -> str:
    """Counts, and tells how far it is"""
    begin(phase)
    for n in range(1, to + 1):
        progress(n, to, f"counted {n}")
    return f"counted to {to}"


@tool()
def say(level: str, message: str) -> str:
    """Writes a line to the log"""
    log.write(level, message, **{"from": "scenarios"})
    return "said"


@dataclass
class Sure:
    sure: bool


@tool(task="optional")
def confirm(phase: Phase = "inline") -> str:
    """Asks whether the user is sure"""
    begin(phase)
    match ask("sure", Form("Are you sure?", Sure)):
        case Accepted(Sure(sure)):
            return "yes" if sure else "no"
        case Declined():
            return "decline"
        case _:
            return "cancel"


@tool(task="optional")
def sequence(phase: Phase = "inline") -> str:
    """Asks one question, then another"""
    begin(phase)
    return compact(values("first") | values("second"))


@tool(task="optional")
def two_keys(phase: Phase = "inline") -> str:
    """Asks two questions at once"""
    begin(phase)
    return compact(values("left", "right"))


@tool(task="optional")
def nap(ms: int, phase: Phase = "inline") -> str:
    """Sleeps"""
    begin(phase)
    before = time.monotonic_ns()
    sleep(ms / 1000)
    return "slept" if time.monotonic_ns() - before >= ms * 1_000_000 else "woke early"


@tool(task="optional")
def linger(phase: Phase = "inline") -> None:
    """Goes on until it is cancelled, and cleans up"""
    begin(phase)
    while not cancelled():
        try:
            sleep(0.01)
        except CallOver:
            pass
    log.info("cleaned up")


@tool(task="optional")
def random(phase: Phase = "inline") -> str:
    """Draws random numbers before a question and after it"""
    begin(phase)

    def draw() -> bytes:
        # Half of them from each of Python's sources.
        return numbers.randbytes(8) + secrets.token_bytes(8)

    drawn = draw()
    record("drawn", drawn)
    go = values("go")["go"]
    if draw() == drawn:
        raise RuntimeError("random numbers came twice")
    return compact({"same": recall("drawn") == drawn, "answer": go})


@tool(task="optional")
def clock(phase: Phase = "inline") -> str:
    """Reads the clocks before a question and after it"""
    begin(phase)
    before = (time.time_ns(), time.monotonic_ns())
    read = str(before).encode()
    record("read", read)
    go = values("go")["go"]
    after = (time.time_ns(), time.monotonic_ns())
    ordered = after[0] >= before[0] and after[1] >= before[1]
    return compact({"same": recall("read") == read, "ordered": ordered, "answer": go})


@tool(task="optional")
def steps(phase: Phase = "inline") -> str:
    """Takes five steps, each once, and asks a question after the third"""
    begin(phase)
    taken = []
    answer = None
    for n in range(5):
        taken.append(step(f"checksum {n}", lambda: checksum(n)))
        if n == 2:
            answer = values("go")["go"]
    return compact({"steps": taken, "answer": answer})


def checksum(seed: int) -> str:
    """FNV-1a, 32 bits, of a thousand bytes that depend on `seed`."""
    hash = 0x811C9DC5
    for n in range(1000):
        hash = (hash ^ ((seed + n) & 0xFF)) * 0x01000193 & 0xFFFFFFFF
    return f"{hash:08x}"
