"""Write Cofferdam tools in Python.

A tool is a typed function. Its parameters are its input schema, its docstring is its description,
and what it returns is its result:

    from cofferdam import Handler, tool

    @tool(read_only=True)
    def add(a: float, b: float) -> str:
        \"\"\"Adds two numbers.\"\"\"
        return str(a + b)

componentize-py makes a component of the module, and looks for the name `Handler` in it.

A handler is straight-line code. `start_task` makes its call a task, `ask` waits for the user,
`sleep` for time. A server may run it again from its first line, after a crash or a long wait; verbs,
clocks and random numbers then answer as they did before. `step` spares what was worked out.
"""

from . import log
from .ask import (
    Accepted,
    Answer,
    Cancelled,
    Declined,
    Form,
    Prompt,
    Root,
    Roots,
    Sampled,
    Visit,
    ask,
    ask_all,
)
from .call import (
    UNLIMITED,
    cancelled,
    complete,
    fail,
    features,
    in_task,
    progress,
    recall,
    record,
    sleep,
    start_task,
    status,
    step,
)
from .errors import CallOver, MissingFeatures, RpcError, ToolError
from .results import Annotations, Audio, Blob, Image, Link, Resource, Result, Text
from .schema import Field
from .tool import Handler, tool

__all__ = [
    "UNLIMITED",
    "Accepted",
    "Annotations",
    "Answer",
    "Audio",
    "Blob",
    "CallOver",
    "Cancelled",
    "Declined",
    "Field",
    "Form",
    "Handler",
    "Image",
    "Link",
    "MissingFeatures",
    "Prompt",
    "Resource",
    "Result",
    "Root",
    "Roots",
    "RpcError",
    "Sampled",
    "Text",
    "ToolError",
    "Visit",
    "ask",
    "ask_all",
    "cancelled",
    "complete",
    "fail",
    "features",
    "in_task",
    "log",
    "progress",
    "recall",
    "record",
    "sleep",
    "start_task",
    "status",
    "step",
    "tool",
]
