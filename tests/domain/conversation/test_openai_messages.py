from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from tests.strategies import json_objects
from toolreel_core._conversation import UserMessage, messages_from, messages_to
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree

PNG = "data:image/png;base64,iVBORw0KGgo="
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NAMES = st.fixed_dictionaries({}, optional={"name": TEXTS})
MEDIA = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://a.test/cat.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "file", "file": {"file_data": "https://a.test/a.pdf"}},
    ]
)
PARTS = st.builds(
    lambda texts, media, last: [*({"type": "text", "text": text} for text in texts), media, *last],
    st.lists(TEXTS, max_size=2),
    MEDIA,
    st.lists(MEDIA, max_size=1),
)
# A provider's own fields: those of today, and whatever there will be.
OWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "refusal": TEXTS,
        "name": TEXTS,
        "reasoning_content": TEXTS,
        "reasoning_details": st.just([{"type": "reasoning.encrypted", "data": "QUJD", "index": 0}]),
        "audio": st.just({"id": "audio_1"}),
        "extra_content": st.just({"google": {"thought_signature": "QUJD"}}),
        "x_unknown": json_objects.filter(bool),
    },
)
CALLS = st.builds(
    lambda id_, name, arguments, own: {
        "id": id_,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **own,
    },
    TEXTS,
    TEXTS,
    st.one_of(st.just('{"part": "pin"}'), TEXTS),
    OWN,
)
SYSTEM = st.builds(lambda text: {"role": "system", "content": text}, TEXTS)
USER = st.builds(
    lambda content, name: {"role": "user", **name, "content": content}, st.one_of(TEXTS, PARTS), NAMES
)
ASSISTANT = st.builds(
    lambda content, calls, own: {
        "role": "assistant",
        "content": content,
        **({"tool_calls": calls} if calls else {}),
        **own,
    },
    st.one_of(st.just(""), TEXTS),
    st.lists(CALLS, max_size=2),
    OWN,
)
TOOL = st.builds(
    lambda id_, content, name: {"role": "tool", "tool_call_id": id_, **name, "content": content},
    TEXTS,
    st.one_of(TEXTS, st.builds(lambda text, media: [{"type": "text", "text": text}, media], TEXTS, MEDIA)),
    NAMES,
)
CONVERSATIONS = st.lists(st.one_of(SYSTEM, USER, ASSISTANT, TOOL), max_size=4)


@given(CONVERSATIONS)
def test_a_conversation_comes_back_as_it_was(conversation: list[dict[str, Any]]) -> None:
    messages = messages_from(conversation)
    assert messages_to(messages) == conversation
    assert messages_from(messages_to(messages)) == messages


@given(st.one_of(USER, ASSISTANT, TOOL), TEXTS, json_objects.filter(bool))
def test_a_field_that_nobody_knows_is_kept_or_told(message: Tree, key: str, value: Tree) -> None:
    """Anywhere in the message: in itself, in its parts, its calls or their functions."""
    for place in places(message):
        changed = with_field(message, place, f"x_{key}", value)
        back = back_or_why(changed)
        assert back == changed or f"x_{key}" in str(back) or "expected a part of type" in str(back)


def back_or_why(message: Tree) -> Tree | str:
    try:
        (back,) = messages_to(messages_from([message]))
    except ConfigError as error:
        return str(error)
    return back


def places(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - JSON of any kind
    """Where a message, a part, a call or an object inside one stands."""
    found = [at] if isinstance(tree, dict) else []
    inner = ("content", "tool_calls", "function", "image_url", "input_audio", "file")
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, dict | list) and (key in inner or isinstance(key, int)):
            found += places(value, (*at, key))
    return found


def with_field(tree: Any, place: tuple[Any, ...], key: str, value: object) -> Any:  # noqa: ANN401 - see above
    if not place:
        return {**tree, key: value}
    changed = with_field(tree[place[0]], place[1:], key, value)
    if isinstance(tree, dict):
        return {**tree, place[0]: changed}
    return [changed if number == place[0] else item for number, item in enumerate(tree)]


def test_what_means_the_same_is_written_in_one_way() -> None:
    given: list[Tree] = [
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"text": "brief."}]},
        {"role": "user", "content": "hi", "name": None},
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [{"id": "a", "function": {"name": "stock", "arguments": {"part": "pin"}}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "4", "cache": None}]},
    ]
    assert messages_to(messages_from(given)) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "stock", "arguments": '{"part":"pin"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "4"},
    ]


LOST = "it would be lost, since no request sends it; leave it out"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "messages: expected a list of dicts, got NoneType"),
        ({"role": "user"}, "messages: expected a list of dicts, got dict"),
        (
            ["hi"],
            'messages[0]: expected a dict such as {"role": "user", "content": "Hello."}, got str',
        ),
        (
            [
                {
                    "role": "system",
                    "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
                }
            ],
            f"messages[0].content[0].cache_control: {LOST}",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_audio", "input_audio": {"data": "", "format": "wav", "x": 1}}
                    ],
                }
            ],
            f"messages[0].content[0].input_audio.x: {LOST}",
        ),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "", "s": 1}}],
                }
            ],
            f"messages[0].tool_calls[0].function.s: {LOST}",
        ),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "type": "custom", "function": {"name": "f", "arguments": ""}}],
                }
            ],
            "messages[0].tool_calls[0].type: expected 'function', got 'custom'; leave the call out",
        ),
    ],
)
def test_what_would_be_lost_is_told_with_its_place(given: object, why: str) -> None:
    assert complaint(ConfigError, lambda: messages_from(cast("Any", given))) == why


def test_texts_and_parts_of_our_own_may_stand_in_a_content() -> None:
    assert messages_from([{"role": "user", "content": ["a", {"text": "b"}]}]) == (UserMessage("ab"),)
