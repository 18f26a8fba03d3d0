"""From what a tool returns to the contract's `tool-result`."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Sequence

from wit_world.imports import types as wit

from .schema import plain


@dataclass(frozen=True)
class Annotations:
    """Hints about a block: who it is for, how important it is (0.0 to 1.0), when it changed (ISO 8601)."""

    audience: Sequence[Literal["user", "assistant"]] = ()
    priority: float | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class Text:
    """A text. A plain `str` is one, too."""

    text: str
    annotations: Annotations | None = None


@dataclass(frozen=True)
class Image:
    """An encoded image, by default a PNG."""

    data: bytes
    mime_type: str = "image/png"
    annotations: Annotations | None = None


@dataclass(frozen=True)
class Audio:
    """An encoded sound, by default a WAV."""

    data: bytes
    mime_type: str = "audio/wav"
    annotations: Annotations | None = None


@dataclass(frozen=True)
class Link:
    """A pointer to a resource that the client may read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None


@dataclass(frozen=True)
class Resource:
    """A resource inside the result that is text."""

    uri: str
    text: str
    mime_type: str | None = "text/plain"
    annotations: Annotations | None = None


@dataclass(frozen=True)
class Blob:
    """A resource inside the result that is bytes."""

    uri: str
    data: bytes
    mime_type: str | None = "application/octet-stream"
    annotations: Annotations | None = None


Block = str | Text | Image | Audio | Link | Resource | Blob


@dataclass
class Result:
    """All that a result may hold. Without any block, the server shows `structured` as text, too."""

    content: list[Block] = field(default_factory=list)
    structured: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None

    @classmethod
    def of(cls, value: Any) -> "Result":
        """What was returned, as a result."""
        if isinstance(value, Result):
            return value
        if value is None:
            return cls()
        blocks = list(value) if isinstance(value, (list, tuple)) else [value]
        if blocks and all(isinstance(block, Block) for block in blocks):
            return cls(content=blocks)
        return cls(structured=value)

    def lower(self) -> wit.ToolResult:
        """As the contract has it."""
        return wit.ToolResult(
            content=[lower(block) for block in self.content],
            structured=to_json(self.structured),
            is_error=self.is_error,
            meta=to_json(self.meta),
        )


def lower(block: Block) -> wit.Content:
    """A block as the contract has it."""
    if isinstance(block, str):
        return wit.Content_Text(wit.TextContent(block, None))
    hints = _hints(block.annotations)
    match block:
        case Text():
            return wit.Content_Text(wit.TextContent(block.text, hints))
        case Image():
            return wit.Content_Image(wit.MediaContent(block.data, block.mime_type, hints))
        case Audio():
            return wit.Content_Audio(wit.MediaContent(block.data, block.mime_type, hints))
        case Link():
            return wit.Content_ResourceLink(
                wit.ResourceLink(
                    block.uri,
                    block.name,
                    block.title,
                    block.description,
                    block.mime_type,
                    block.size,
                    hints,
                )
            )
        case Resource():
            body: wit.ResourceBody = wit.ResourceBody_Text(block.text)
        case Blob():
            body = wit.ResourceBody_Blob(block.data)
    return wit.Content_EmbeddedResource(
        wit.EmbeddedResource(block.uri, block.mime_type, body, hints)
    )


def _hints(annotations: Annotations | None) -> wit.Annotations | None:
    if annotations is None:
        return None
    audience = [wit.Role[role.upper()] for role in annotations.audience]
    return wit.Annotations(audience, annotations.priority, annotations.last_modified)


def to_json(value: Any) -> str | None:
    """Compact JSON, or nothing of nothing."""
    if value is None:
        return None
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
