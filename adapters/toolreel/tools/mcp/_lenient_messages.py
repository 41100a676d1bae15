"""Messages of a server, with the parts of a response mended that the SDK would reject it for as a whole.

Of a list of tools it accepts all or none, and so of the blocks of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Literal, Self

from toolreel._internal import MissingExtra
from toolreel_core._jsontext import Json, canonical, finite

try:
    from mcp import types
    from mcp.shared.message import SessionMessage
    from pydantic import BaseModel, Field, TypeAdapter, ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None


LISTED_SCHEMA: Final = "toolreel/inputSchema"
"""Key in ``_meta`` of a listed tool: its input schema, which the SDK would not accept."""
UNKNOWN_BLOCK: Final = "toolreel/unknown"
"""Key in ``_meta`` of a block of text that stands for another one: what is wrong with that."""

_LONGEST: Final = 1_000
"""Characters of a text in an unknown block that are kept; more are most likely bytes."""


class _Schema(BaseModel):
    """What the SDK demands of an input schema."""

    draft: str = Field("", alias="$schema")
    type: Literal["object"]
    properties: dict[str, dict[str, Any] | bool] = {}
    required: list[str] = []


_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(types.ContentBlock)


class LenientMessages:
    """The stream of a server's messages."""

    def __init__(self, messages: Any) -> None:  # noqa: ANN401 - a private type of the SDK
        self._messages = messages

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the other attributes of a stream
        return getattr(self._messages, name)

    async def __aenter__(self) -> Self:
        await self._messages.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._messages.__aexit__(kind, error, at)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        received: SessionMessage | Exception = await anext(self._messages)
        match received:
            # An empty list of Go is written as null.
            case SessionMessage(
                message=types.JSONRPCResponse(result={"tools": [*_] | None as tools} as result)
            ):
                result["tools"] = [_tool(tool) for tool in tools or () if isinstance(tool, dict)]
            case SessionMessage(message=types.JSONRPCResponse(result=result)) if (
                "content" in result or "structuredContent" in result
            ):
                _mend_result(result)
            case _:
                pass
        return received


def _tool(listed: dict[str, Any]) -> dict[str, Any]:
    """What is used of a listed tool, without the fields that are not what they should be."""
    meta = listed.get("_meta")
    tool: dict[str, Any] = {
        "name": listed["name"] if isinstance(listed.get("name"), str) else "",
        "inputSchema": listed.get("inputSchema"),
        "_meta": meta if isinstance(meta, dict) else {},
    }
    tool |= {key: listed[key] for key in ("title", "description") if isinstance(listed.get(key), str)}
    if _fits(types.ToolAnnotations.model_validate, annotations := listed.get("annotations")):
        tool["annotations"] = annotations
    if not _fits(_Schema.model_validate, tool["inputSchema"]):
        tool["_meta"] = {**tool["_meta"], LISTED_SCHEMA: tool["inputSchema"]}
        tool["inputSchema"] = {"type": "object"}
    return tool


def _fits(validate: Callable[[Any], object], tree: object) -> bool:
    try:
        validate(tree)
    except ValidationError:
        return False
    return True


def _mend_result(result: dict[str, Any]) -> None:
    """Make the result of a call one that the SDK accepts."""
    structured, content = result.get("structuredContent"), result.get("content")
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}  # older protocols allow objects only
    if content is None:
        result["content"] = []
    elif isinstance(content, list):
        result["content"] = [_block(block) for block in content]


def _block(block: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """The block, without annotations if these are wrong; any other that the SDK does not know as text."""
    if _fits(_BLOCK.validate_python, block):
        return dict(block)
    if isinstance(block, dict):
        bare = {key: value for key, value in block.items() if key not in {"annotations", "_meta", "icons"}}
        if _fits(_BLOCK.validate_python, bare):
            return bare
    kind = block.get("type") if isinstance(block, dict) else None
    what = f"a block of type {kind!r}" if isinstance(kind, str) else "a block without a type"
    text = canonical(finite(_shortened(block)))
    return {"type": "text", "text": text, "_meta": {UNKNOWN_BLOCK: what}}


def _shortened(value: Json) -> Json:
    """The value, without most of its long texts."""
    match value:
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}… ({len(value) - _LONGEST} characters left out)"
        case dict():
            return {key: _shortened(item) for key, item in value.items()}
        case list():
            return [_shortened(item) for item in value]
        case _:
            return value
