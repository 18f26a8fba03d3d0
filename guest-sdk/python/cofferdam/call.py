"""The verbs of the running call. An instance serves one call, so they need not be told which."""

import json
import math
from typing import Any, Callable, Literal, TypeVar

from wit_world.imports import task
from wit_world.imports.types import ClientFeatures, RpcError as WitRpcError

from .errors import INTERNAL, RpcError, refusals
from .results import Result, to_json
from .schema import plain, read

T = TypeVar("T")

UNLIMITED = math.inf
"""A task without a deadline: `start_task(ttl=UNLIMITED)`."""

_declared = ClientFeatures(0)


def features() -> ClientFeatures:
    """What the calling client can do."""
    return _declared


def begin(declared: ClientFeatures) -> None:
    """A call begins, of a client that declared this."""
    global _declared
    _declared = declared


def start_task(
    *,
    ttl: float | None = None,
    poll_interval: float | None = None,
    status: str | None = None,
    max_attempts: int | None = None,
) -> bool:
    """Makes this call a task: its client is answered with the task's id at once. Times are seconds.

    False for a client that does not know tasks: it waits, and nothing else happens. `ttl` is a
    deadline for the work, then the end of the record; `status` is shown to the client at first. A
    crash or a limit ends an attempt, of which there is one unless `max_attempts` says more.
    """
    if ttl is None:
        lifetime: task.Ttl = task.Ttl_Default()
    elif ttl == UNLIMITED:
        lifetime = task.Ttl_Unlimited()
    else:
        lifetime = task.Ttl_Millis(_milliseconds(ttl))
    interval = None if poll_interval is None else _milliseconds(poll_interval)
    options = task.StartOptions(lifetime, interval, status, max_attempts)
    with refusals():
        return task.start_task(options) is task.Started.TASK


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Reports progress, which must grow: `progress(3, 10, "reading")`."""
    with refusals():
        task.progress(float(done), None if total is None else float(total), message)


def status() -> Literal["inline", "working", "input_required", "completed", "failed", "cancelled"]:
    """Where the call stands."""
    return task.status().name.lower()  # type: ignore[return-value]


def in_task() -> bool:
    """Is the call a task that goes on?"""
    return status() in ("working", "input_required")


def cancelled() -> bool:
    """True once nobody wants the result. The instance is dropped after a short grace: clean up and
    return. It tells nothing of a server that stops: the handler is run again when there is one."""
    return task.cancelled()


def complete(value: Any) -> None:
    """Ends the call with a result. The handler may run on to clean up; what it returns is ignored."""
    with refusals():
        task.complete(Result.of(value).lower())


def fail(error: RpcError) -> None:
    """Ends the call with a JSON-RPC error. The handler may run on to clean up."""
    with refusals():
        task.fail(WitRpcError(error.code, error.message, to_json(error.data)))


def sleep(seconds: float) -> None:
    """Waits, without use of CPU time; `time.sleep` keeps the instance, this may give it back."""
    with refusals():
        task.sleep(_milliseconds(seconds))


def record(key: str, value: bytes) -> None:
    """Keeps a value under a key for this call: at most 1 MiB a value, 16 MiB a call. Durable in a
    task when this returns."""
    with refusals():
        task.record(key, value)


def recall(key: str) -> bytes | None:
    """The value last kept under a key, also when the handler is run again and has not come to its
    `record` yet. The run then goes on as if it had just recorded it."""
    return task.recall(key)


def step(name: str, work: Callable[[], T], hint: Any = Any) -> T:
    """Does a piece of work once in a call, and returns what was recorded of it: when the handler is
    run again, that is recalled in place of working again.

    The value is kept as JSON, at most 1 MiB. Give `hint` for a dataclass: it is read back as that.
    The work is done at least once; what it reads (a clock, an answer) reaches the rest of the handler
    only through the value.
    """
    key = f"step:{name}"
    kept = recall(key)
    if kept is None:
        # What is returned now must be what is returned later, so it is read back at once.
        kept = json.dumps(plain(work()), allow_nan=False).encode()
        record(key, kept)
    try:
        return read(hint, json.loads(kept))
    except (KeyError, TypeError, ValueError) as fault:
        raise RpcError(
            INTERNAL, f"step `{name}`: its recorded value cannot be read ({fault})"
        ) from fault


def _milliseconds(seconds: float) -> int:
    # Up, so that a short wait does not become none.
    return math.ceil(seconds * 1000)
