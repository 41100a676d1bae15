from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint, worked
from tests.strategies import json_objects, messages
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    messages_from,
    messages_of,
    messages_to,
    wire,
    wire_tree,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse

THOUGHT = canonical({"reasoning_content": "hm"})
MESSAGES: list[Message] = [
    SystemMessage("s"),
    UserMessage("u"),
    UserMessage("u", name="ana"),
    AssistantMessage("a", (SentCall("a", "stock", '{"part":"pin"}', THOUGHT),), THOUGHT),
    AssistantMessage(""),
    ToolMessage("a", "{}", "stock"),
    ToolMessage("a", "{}"),
]


def test_whatever_is_written_out_is_read_back() -> None:
    assert messages_of([wire_tree(message) for message in MESSAGES]) == tuple(MESSAGES)
    assert messages_of(MESSAGES) == tuple(MESSAGES)


@pytest.mark.parametrize(("given", "message"), worked("a message may be written in many ways", "messages"))
def test_a_message_may_be_written_in_many_ways(given: object, message: Json) -> None:
    assert messages_of(given) == messages_of([given])
    assert messages_to(messages_of(given)) == [message]


@pytest.mark.parametrize(("given", "why"), worked("what is no message is refused with its place", "messages"))
def test_what_is_no_message_is_refused_with_its_place(given: object, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        messages_of(cast("Any", given))
    assert str(raised.value).startswith(why)


def test_bytes_and_paths_say_what_to_write() -> None:
    with pytest.raises(ConfigError, match=r"^messages\[0\].reasoning: a set is not JSON"):
        messages_of([{"role": "assistant", "content": "hi", "reasoning": {1}}])
    with pytest.raises(ConfigError, match=r"got bytes; for bytes write Image\.from_bytes\(data\)"):
        messages_of(["Look:", b"123"])
    with pytest.raises(ConfigError, match=r"for a file write attach\(path\)$"):
        messages_of(["Look:", Path("cat.png")])


@given(messages)
def test_every_message_is_canonical_on_the_wire(message: Message) -> None:
    text = wire(message)
    assert type(text) is JsonText
    assert canonical(parse(text)) == text


@given(messages, messages)
def test_two_messages_read_the_same_only_if_they_are_equal(one: Message, other: Message) -> None:
    assert (wire(one) == wire(other)) == (one == other)


def test_fields_of_the_providers_own_go_back_where_they_stood() -> None:
    call = SentCall("a", "ping", "{}", canonical({"function": {"thought": "s"}, "extra_content": [1]}))
    told = AssistantMessage("", (call,), canonical({"reasoning_content": "é"}))
    function: Json = {"name": "ping", "arguments": "{}", "thought": "s"}
    assert wire_tree(told) == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "type": "function", "function": function, "extra_content": [1]}],
        "reasoning_content": "é",
    }


def test_content_that_came_in_parts_goes_back_in_parts() -> None:
    parts: Json = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Four."}]
    told = AssistantMessage("Four.", extras=canonical({"content": parts}))
    assert wire_tree(told) == {"role": "assistant", "content": parts}


@pytest.mark.parametrize("extras", [[1], "x", None, 3])
@pytest.mark.parametrize(
    "make",
    [lambda extras: AssistantMessage("", (), extras), lambda extras: SentCall("a", "ping", "{}", extras)],
)
def test_fields_of_the_providers_own_are_an_object(make: Callable[[JsonText], object], extras: Json) -> None:
    text = canonical(extras)
    assert complaint(ConfigError, lambda: make(text)) == f"extras: expected a JSON object, got {text}"


WRONG: Any = None
a: Any = partial(cast, Any)
"""A value that a type checker lets pass."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: UserMessage(WRONG), "content: expected a text, got NoneType"),
        (lambda: UserMessage(a(3)), "expected a text, got int"),
        (lambda: UserMessage(a(["a"])), r"write user_message\(\[\.\.\.\]\)"),
        (lambda: SystemMessage(a(["a"])), "for several texts"),
        (lambda: AssistantMessage(WRONG), 'write "" for a message that has calls alone'),
        (lambda: AssistantMessage("", a([SentCall("a", "b", "{}")])), "calls: expected a tuple of SentCall"),
        (lambda: AssistantMessage("", a(({"id": "a"},))), "expected a tuple of SentCall"),
        (lambda: ToolMessage("a", a({"ok": True})), r"write json.dumps\(result\)"),
        (lambda: ToolMessage(WRONG, ""), "the id of the call that it answers"),
        (lambda: SentCall("a", "b", a({})), r"write json.dumps\(arguments\)"),
        (lambda: SentCall("a", WRONG, "{}"), "name: expected a text, got NoneType"),
    ],
)
def test_a_message_that_holds_no_text_is_refused_where_it_is_made(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


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
DRAWN_CALLS = st.builds(
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
    st.lists(DRAWN_CALLS, max_size=2),
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


@pytest.mark.parametrize(("given", "why"), worked("what would be lost is told with its place", "messages"))
def test_what_would_be_lost_is_told_with_its_place(given: object, why: str) -> None:
    assert complaint(ConfigError, lambda: messages_from(cast("Any", given))) == why


def test_texts_and_parts_of_our_own_may_stand_in_a_content() -> None:
    assert messages_from([{"role": "user", "content": ["a", {"text": "b"}]}]) == (UserMessage("ab"),)
