"""A whole message at the end of a stream of deltas says nothing twice, and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.test_streamed_calls import as_value
from toolreel_core._replies import Stream

TEXTS = st.text("ab <\n", max_size=8)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 3), max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["ping", "read"]), ARGUMENTS), max_size=3)
SPACED: list[Callable[[str], str]] = [str, str.strip, lambda text: text.replace(" ", "  ")]


@given(TEXTS, TEXTS, CALLS, st.data())
def test_a_whole_message_is_not_said_twice(
    content: str, reasoning: str, calls: list[tuple[str, dict[str, int]]], data: st.DataObject
) -> None:
    spelled = data.draw(st.fixed_dictionaries({key: st.booleans() for key in ("text", "thought", "calls")}))
    has_ids = data.draw(st.booleans())
    chunks: list[dict[str, Any]] = [{"delta": {"role": "assistant"}}]
    if spelled["thought"]:
        chunks += [{"delta": {"reasoning_content": piece}} for piece in cut(reasoning, data)]
    if spelled["text"]:
        chunks += [{"delta": {"content": piece}} for piece in cut(content, data)]
    if spelled["calls"]:
        for place, (name, arguments) in enumerate(calls):
            marks = {"index": place, **({"id": f"call_{place}"} if has_ids else {})}
            head = {**marks, "function": {"name": name, "arguments": ""}}
            pieces = [
                {"index": place, "function": {"arguments": p}} for p in cut(json.dumps(arguments), data)
            ]
            chunks += [{"delta": {"tool_calls": [one]}} for one in (head, *pieces)]
    spaced = data.draw(st.sampled_from(SPACED))
    message: dict[str, Any] = {"content": spaced(content), "reasoning_content": spaced(reasoning)}
    if calls:
        message["tool_calls"] = [
            {**({"id": f"call_{place}"} if has_ids else {}), "function": {"name": name, "arguments": told}}
            for place, (name, arguments) in enumerate(calls)
            for told in [data.draw(st.sampled_from([json.dumps(arguments, indent=1), arguments]))]
        ]
    beside: dict[str, Any] = data.draw(st.sampled_from(({}, {"delta": {}})))
    last = {**beside, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    found = read([*chunks, last])
    assert said(found["content"]) == said(content)
    assert said(found.get("reasoning_content", "")) == said(reasoning)
    assert [as_value(call) for call in found.get("tool_calls", [])] == calls


def cut(text: str, data: st.DataObject) -> list[str]:
    at = data.draw(st.integers(0, len(text)))
    return [piece for piece in (text[:at], text[at:]) if piece]


def read(choices: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - JSON
    frames = (f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n" for choice in choices)
    stream, _ = Stream().feed("".join(frames) + "data: [DONE]\n\n")
    body: Any = stream.whole()
    assert "error" not in body
    return body["choices"][0]["message"]


def said(text: str | None) -> str:
    return "".join((text or "").split())
