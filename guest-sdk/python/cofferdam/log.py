"""Log lines: they go to the server's log under the tool's name, and to the client if it asked.

    log.warning("a row is empty", row=7)

Lines over 16 KiB are cut, and beyond 200 lines a second they are dropped. Never log secrets.
"""

from typing import Any

from wit_world.imports import log as wit

from .results import to_json


def write(level: str, message: str, **fields: Any) -> None:
    """Writes a line at one of the eight levels of RFC 5424, which have functions of their names."""
    wit.write(wit.Level[level.upper()], message, to_json(fields or None))


def debug(message: str, **fields: Any) -> None:
    write("debug", message, **fields)


def info(message: str, **fields: Any) -> None:
    write("info", message, **fields)


def notice(message: str, **fields: Any) -> None:
    write("notice", message, **fields)


def warning(message: str, **fields: Any) -> None:
    write("warning", message, **fields)


def error(message: str, **fields: Any) -> None:
    write("error", message, **fields)


def critical(message: str, **fields: Any) -> None:
    write("critical", message, **fields)


def alert(message: str, **fields: Any) -> None:
    write("alert", message, **fields)


def emergency(message: str, **fields: Any) -> None:
    write("emergency", message, **fields)
