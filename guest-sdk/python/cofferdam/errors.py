"""Why a tool has no result, and what its client sees of it.

Whatever else is raised is a fault of the tool: it ends the run like a crash, which may be attempted
again.
"""

from contextlib import contextmanager
from typing import Any, Iterator

from componentize_py_types import Err
from wit_world.imports.types import ClientFeatures

INVALID_PARAMS = -32602
INTERNAL = -32603


class ToolError(Exception):
    """The tool could not do what was asked. A model reads the message and may correct itself."""


class RpcError(Exception):
    """Something is wrong with the request or the tool. The client gets this JSON-RPC error; a task
    fails with it. `code` is -32602, -32603, or one of the tool's own outside -32768 to -32000."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class MissingFeatures(Exception):
    """The client did not declare what the tool needs. It gets the error -32021."""

    def __init__(self, features: ClientFeatures) -> None:
        super().__init__(f"the client lacks {features}")
        self.features = features


class CallOver(Exception):
    """The call is over already: nobody waits for this handler any more."""

    def __init__(self) -> None:
        super().__init__("The call is over.")


@contextmanager
def refusals() -> Iterator[None]:
    """Around a verb of the host: what it refuses with becomes one of the errors above."""
    try:
        yield
    except Err as error:
        raise _refusal(error.value) from None


def _refusal(payload: Any) -> Exception:
    # `StartError_LimitReached`, `InputError_LimitReached` and so on mean the same.
    value = getattr(payload, "value", None)
    match getattr(payload, "name", type(payload).__name__.partition("_")[2]):
        case "Final" | "FINAL":
            return CallOver()
        case "MissingFeatures":
            return MissingFeatures(value)
        case "Unavailable":
            return ToolError(
                "This tool needs an answer from its user, but nothing can be asked in this call."
            )
        case "AlreadyStarted":
            return _internal("the call is a task already")
        case "NotAllowed":
            return _internal("this tool does not declare that it may become a task")
        case "InvalidOption":
            return _internal(f"task option: {value}")
        case "LimitReached":
            return _internal("Task limit reached")
        case "StoreFailed":
            return _internal(f"it could not be stored: {value}")
        case "Invalid":
            return _internal(f"input request: {value}")
        case "DuplicateKeys":
            return _internal(f"input request: used before: {', '.join(value)}")
        case "InvalidKey":
            return _internal("record: the key is empty or too long")
        case "TooLarge":
            return _internal(f"record: {value}")
        case other:
            return _internal(f"the host said {other}")


def _internal(message: str) -> RpcError:
    return RpcError(INTERNAL, message)
