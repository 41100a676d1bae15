"""A request is recognised as going on with a conversation, however its client writes what was said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._proxy import (
    ConversationKey,
    continuation_keys,
    initial_key_of_caller,
    keys_after_each_message,
)

ASKED: dict[str, Any] = {"role": "user", "content": "Hi."}


def key_of(entries: list[Any]) -> ConversationKey:
    return keys_after_each_message(initial_key_of_caller("a"), entries)[-1]


def calling(id_: str = "a", arguments: Any = '{"x": 1, "y": 2}', **further: Any) -> dict[str, Any]:  # noqa: ANN401
    call = {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "tool_calls": [call], **further}


@pytest.mark.parametrize(("said", "heard"), worked("the same words have the same key", "requests"))
def test_the_same_words_have_the_same_key(said: dict[str, Any], heard: dict[str, Any]) -> None:
    assert key_of([said]) == key_of([heard])


@pytest.mark.parametrize("other", worked("other words have another key", "requests"))
def test_other_words_have_another_key(other: dict[str, Any]) -> None:
    assert key_of([other]).alike != key_of([ASKED]).alike


def test_ids_tell_two_conversations_apart() -> None:
    one, other = key_of([calling("a")]), key_of([calling("b")])
    assert one.exact != other.exact
    assert one.alike == other.alike


def test_a_request_goes_on_with_its_longest_opening() -> None:
    reply = {"role": "assistant", "content": "Ho."}
    whole = [ASKED, reply, ASKED, reply, ASKED]
    assert continuation_keys(whole, "a") == (key_of(whole), key_of(whole[:4]), key_of(whole[:2]))
    assert continuation_keys([ASKED], "a") == (key_of([ASKED]),)
