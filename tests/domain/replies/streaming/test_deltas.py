from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json
from toolreel_core._replies.streaming.deltas import joined

PING: Json = {"id": "a", "function": {"name": "ping", "arguments": "{}"}}
THOUGHT: Json = {"type": "reasoning.text", "text": "So ", "index": 0, "signature": None}


def details(*entries: Json) -> Json:
    """What becomes of reasoning details that come one in a delta."""
    return joined([{"reasoning_details": [entry]} for entry in entries])["reasoning_details"]


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        ([], {"content": None}),
        ([{"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"}], {"content": "Hello"}),
        ([{"content": None}, {"refusal": "I will "}, {"refusal": "not."}], {"refusal": "I will not."}),
        ([{"reasoning_content": ""}], {"reasoning_content": ""}),
        (
            [{"reasoning": "So", "reasoning_content": "So"}] * 2,
            {"reasoning": "SoSo", "reasoning_content": "SoSo"},
        ),
        ([{"refusal": 3}], {"refusal": "3"}),
        (
            [{"content": "a"}, {"content": [{"type": "text", "text": "b"}]}, {"content": {"type": "x"}}],
            {"content": ["a", {"type": "text", "text": "b"}, {"type": "x"}]},
        ),
        ([{"tool_calls": [PING]}], {"tool_calls": [PING]}),
        (
            [{"function_call": {"name": "ping"}}, {"function_call": {"arguments": "{}"}}],
            {"function_call": {"name": "ping", "arguments": "{}"}},
        ),
        ([{"thinking_blocks": [1]}, {"thinking_blocks": [2]}], {"thinking_blocks": [1, 2]}),
        ([{"extra_content": {"a": 1}}, {"extra_content": {"a": 2}}], {"extra_content": {"a": 2}}),
    ],
    ids=str,
)
def test_deltas_are_joined_to_a_message(deltas: list[dict[str, Json]], message: dict[str, Json]) -> None:
    assert joined(deltas) == {"role": "assistant", "content": None, **message}


def test_reasoning_details_keep_their_order_and_pieces_of_one_are_joined() -> None:
    sealed: Json = {"type": "reasoning.encrypted", "data": "abc", "index": 1}
    assert details(
        THOUGHT,
        {"type": "reasoning.summary", "summary": "It ", "index": 2},
        {"type": "reasoning.text", "text": "what?", "index": 0},
        sealed,
        {"type": "reasoning.summary", "summary": "works.", "index": 2},
        {"type": "reasoning.text", "text": None, "index": 0, "signature": "s"},
        sealed,
    ) == [
        {"type": "reasoning.text", "text": "So what?", "index": 0, "signature": "s"},
        {"type": "reasoning.summary", "summary": "It works.", "index": 2},
        sealed,
        sealed,
    ]


def test_reasoning_details_with_another_id_are_others() -> None:
    one: Json = {"type": "reasoning.text", "id": "a", "text": "One."}
    other: Json = {"type": "reasoning.text", "id": "b", "text": "Other."}
    assert details(one, other) == [one, other]
    assert details(one, {"type": "reasoning.text", "text": " More."}) == [
        {"type": "reasoning.text", "id": "a", "text": "One. More."}
    ]


def test_what_is_no_reasoning_detail_is_left_out() -> None:
    assert joined([{"reasoning_details": "x"}, {"reasoning_details": THOUGHT}])["reasoning_details"] == [
        THOUGHT
    ]


def test_thinking_blocks_go_on_until_they_are_signed() -> None:
    def piece(text: str | None = None, **more: Json) -> dict[str, Json]:
        return {"thinking_blocks": [{"type": "thinking", "thinking": text, **more}]}

    hidden: Json = {"type": "redacted_thinking", "data": "abc"}
    deltas: list[dict[str, Json]] = [
        piece("So "),
        piece("what?"),
        piece(None, signature="s"),
        piece("Then."),
        {"thinking_blocks": [hidden, hidden]},
    ]
    assert joined(deltas)["thinking_blocks"] == [
        {"type": "thinking", "thinking": "So what?", "signature": "s"},
        {"type": "thinking", "thinking": "Then."},
        hidden,
        hidden,
    ]
    odd = joined([{"thinking_blocks": ["odd"]}, piece("So.")])["thinking_blocks"]
    assert odd == ["odd", {"type": "thinking", "thinking": "So."}]


@pytest.mark.parametrize("content", [4, {"type": "text", "text": "Hi."}, ["Hi."], "Hi."])
def test_content_that_comes_at_once_stays_what_it_is(content: Json) -> None:
    assert joined([{"content": None}, {"content": content}])["content"] == content
