"""How what was raised tells the host, where a result cannot be an error."""

import traceback
from contextlib import contextmanager
from typing import Iterator

from componentize_py_types import Err
from wit_world.imports.types import CallError_MissingFeatures, CallError_Rpc
from wit_world.imports.types import RpcError as WitRpcError

from . import log
from .errors import INTERNAL, CallOver, MissingFeatures, RpcError, ToolError
from .results import to_json


@contextmanager
def answered() -> Iterator[None]:
    """Around what answers a request."""
    try:
        yield
    except (ToolError, CallOver) as error:
        raise Err(CallError_Rpc(WitRpcError(INTERNAL, str(error), None))) from None
    except RpcError as error:
        data = to_json(error.data)
        raise Err(CallError_Rpc(WitRpcError(error.code, error.message, data))) from None
    except MissingFeatures as error:
        raise Err(CallError_MissingFeatures(error.features)) from None
    except Exception as fault:
        log.error(f"{type(fault).__name__}: {fault}", traceback=traceback.format_exc())
        # It is no answer: the run ends as it does when a tool in Rust panics.
        raise
