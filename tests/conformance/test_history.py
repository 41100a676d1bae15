"""The rules of strict providers, each with the message that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.conformance.history import refusals
from benchmarks.conformance.shape import Shape

ANY = Shape(id="s", group="g", about="a", evidence=("e#1",), right=("tells",))
ASKED: dict[str, object] = {"role": "user", "content": "Prepare the report."}


def called(*ids: object, name: str = "clock", arguments: object = "{}", kind: object = "function") -> object:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": identity, "type": kind, "function": function} for identity in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(identity: object) -> object:
    return {"role": "tool", "tool_call_id": identity, "content": "12:00"}


def refused(*messages: object, shape: Shape = ANY) -> str:
    return "; ".join(refusals({"messages": [ASKED, *messages]}, shape))


def test_calls_with_their_results_are_taken() -> None:
    assert refused(called("a", "b"), result("b"), result("a"), called("c"), result("c")) == ""
    assert refused({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}) == ""


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([called("a")], "no tool message answers the calls ['a']"),
        ([called("a"), ASKED, result("a")], "no tool message answers the calls ['a']"),
        ([called("a"), result("a"), result("a")], "which no open call has"),
        ([called("a", "a"), result("a"), result("a")], "two calls of one message have the same id"),
        ([called(""), result("")], "call id ''"),
        ([called(None), result(None)], "call id None"),
        ([called("x" * 65), result("x" * 65)], "expected 1 to 64 characters"),
        ([called("a", kind=None), result("a")], "call type None"),
        ([called("a", name="functions.clock"), result("a")], "function name 'functions.clock'"),
        ([called("a", arguments={}), result("a")], "expected the text of a JSON object"),
        ([called("a", arguments=""), result("a")], "expected the text of a JSON object"),
        ([called("a", arguments='{"n": NaN}'), result("a")], "expected the text of a JSON object"),
        ([called("a", arguments='{"text": "cut'), result("a")], "expected the text of a JSON object"),
        ([{"role": "assistant", "content": " "}], "neither content nor tool calls"),
        ([{"role": "assistant", "content": "Hm.", "tool_calls": []}], "tool_calls is an empty list"),
        ([{"role": "model", "content": "Hm."}], "role 'model'"),
        ([{"role": "user", "content": ""}], "a user message without content"),
        ([{"role": "user", "content": "half \ud83d"}], "lone surrogate"),
    ],
)
def test_what_a_strict_provider_refuses(messages: list[object], why: str) -> None:
    assert why in refused(*messages)


def test_mistral_wants_nine_letters_and_digits() -> None:
    mistral = replace(ANY, ids="alnum9")
    assert "with a length of 9" in refused(called("call_1"), result("call_1"), shape=mistral)
    assert refused(called("kQ7pZ2x9B"), result("kQ7pZ2x9B"), shape=mistral) == ""


def test_some_want_an_id_only_once_in_the_conversation() -> None:
    twice = [called("a"), result("a"), called("a"), result("a")]
    assert refused(*twice) == ""
    assert "was used before" in refused(*twice, shape=replace(ANY, ids="unique"))


def test_some_want_fields_back_unchanged() -> None:
    wanting = replace(ANY, back={"reasoning_content": "First the time."})
    assert "must come back" in refused(called("a"), result("a"), shape=wanting)
