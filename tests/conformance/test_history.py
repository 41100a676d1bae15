"""The rules of strict providers, each with the message that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.conformance.history import refusals
from benchmarks.conformance.shape import Shape
from tests.samples import worked

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


@pytest.mark.parametrize(("messages", "why"), worked("what a strict provider refuses", "benchmarks"))
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
