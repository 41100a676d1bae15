from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp.types as t
import pytest

from tests.samples import worked
from tests.servers.mcp_servers_here import called, codes, data, message, tree
from toolreel import Image
from toolreel.tools.mcp import result_event
from toolreel_core._jsontext import Json

CALL = called("mcp_s_t")


def result(*content: t.ContentBlock, failed: bool = False, **structured: Json) -> Mapping[str, Any]:
    made = t.CallToolResult(content=[*content], is_error=failed)
    return {
        **made.model_dump(by_alias=True, mode="json", exclude_none=True),
        "structuredContent": structured or None,
    }


def text(words: str) -> t.TextContent:
    return t.TextContent(type="text", text=words)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        *worked("what a tool answers", "tools"),
        (
            result(text("more than that"), a=float("inf")),
            {"text": "more than that", "structured": {"a": None}},
        ),
    ],
)
def test_what_a_tool_answers(answer: Mapping[str, Any], expected: Json) -> None:
    assert data(result_event(CALL, answer)) == expected
    assert tree(result_event(CALL, answer))["warnings"] == []


PICTURE = t.ImageContent(type="image", data="eHh4", mime_type="image/png")


def test_what_is_no_base64_is_left_out_and_told_of() -> None:
    picture = t.ImageContent(type="image", data="eHh?", mime_type="image/png")
    told = result_event(CALL, result(picture))
    assert data(told) == {"parts": [{"type": "image", "mime_type": "image/png", "bytes": 3}]}
    assert tree(told)["warnings"] == ["image of 3 bytes (image/png) left out: it is not Base64"]
    assert told.parts == ()
    # The bytes say more than the type that a server names.
    blob = t.BlobResourceContents(uri="file:///a", mime_type="text/plain", blob="iVBORw0KGgo=")
    told = result_event(CALL, result(t.EmbeddedResource(type="resource", resource=blob)))
    assert told.parts == (Image.from_bytes(b"\x89PNG\r\n\x1a\n"),)


def test_a_failure_keeps_its_structured_content_and_its_parts() -> None:
    told = result_event(CALL, result(text("No."), PICTURE, failed=True, limit=3))
    assert message(told) == "No."
    parts: Json = ["[image/png, 3 bytes, sha256:cd2eb083]"]
    assert tree(told)["data"] == {"parts": parts, "structured": {"limit": 3}}
    assert told.parts == (Image.from_bytes(b"xxx", "image/png"),)
    assert message(result_event(CALL, result(failed=True, limit=3))) == '{"limit":3}'
    silent = result_event(CALL, result(failed=True))
    assert (codes(silent), message(silent)) == (["TOOL_ERROR"], "It says no more than that it failed.")
