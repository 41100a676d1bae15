from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.samples import complaint, project, worked
from tests.strategies import json_objects, messages
from toolreel_core._conversation import (
    FILE_TOKENS,
    IMAGE_TOKENS,
    AssistantMessage,
    Audio,
    Blob,
    File,
    Form,
    Image,
    Message,
    Part,
    SentCall,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
    blobs_of,
    estimate_tokens_with_parts,
    media_type_of_bytes,
    messages_from,
    messages_from_input,
    messages_to,
    normalized_media_type,
    parse_part,
    parse_url_source,
    parts_for_provider,
    parts_of_message,
    readable_content,
    readable_parts_text,
    unsupported_part_error,
    user_message,
    wire_part,
    wire_text,
    wire_tree,
    with_digests_for_base64,
    write_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse
from toolreel_core._settings import Provider, estimate_tokens_by_bytes

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
    assert messages_from_input([wire_tree(message) for message in MESSAGES]) == tuple(MESSAGES)
    assert messages_from_input(MESSAGES) == tuple(MESSAGES)


@pytest.mark.parametrize(("given", "message"), worked("a message may be written in many ways", "messages"))
def test_a_message_may_be_written_in_many_ways(given: object, message: Json) -> None:
    assert messages_from_input(given) == messages_from_input([given])
    assert messages_to(messages_from_input(given)) == [message]


@pytest.mark.parametrize(("given", "why"), worked("what is no message is refused with its place", "messages"))
def test_what_is_no_message_is_refused_with_its_place(given: object, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        messages_from_input(cast("Any", given))
    assert str(raised.value).startswith(why)


def test_bytes_and_paths_say_what_to_write() -> None:
    with pytest.raises(ConfigError, match=r"^messages\[0\].reasoning: a set is not JSON"):
        messages_from_input([{"role": "assistant", "content": "hi", "reasoning": {1}}])
    with pytest.raises(ConfigError, match=r"got bytes; for bytes write Image\.from_bytes\(data\)"):
        messages_from_input(["Look:", b"123"])
    with pytest.raises(ConfigError, match=r"for a file write attach\(path\)$"):
        messages_from_input(["Look:", Path("cat.png")])


@given(messages)
def test_every_message_is_canonical_on_the_wire(message: Message) -> None:
    text = wire_text(message)
    assert type(text) is JsonText
    assert canonical(parse(text)) == text


@given(messages, messages)
def test_two_messages_read_the_same_only_if_they_are_equal(one: Message, other: Message) -> None:
    assert (wire_text(one) == wire_text(other)) == (one == other)


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


def test_arguments_may_be_any_json() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": [1]}}
    (message,) = messages_from([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert message == AssistantMessage("", (SentCall("a", "f", "[1]"),))


def test_texts_and_parts_of_our_own_may_stand_in_a_content() -> None:
    assert messages_from([{"role": "user", "content": ["a", {"text": "b"}]}]) == (UserMessage("ab"),)


PNG_BYTES = b"\x89PNG\r\n\x1a\n"
URL = "https://example.org/a.png"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (PNG_BYTES, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt", "audio/wav"),
        (b"RIFF\0\0\0\0AVI ", ""),
        (b"ID3\x04", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        (b"fLaC", "audio/flac"),
        (b"OggS", "audio/ogg"),
        (b"%PDF-1.7", "application/pdf"),
        (b"", ""),
    ],
)
def test_the_first_bytes_say_the_media_type(data: bytes, found: str) -> None:
    assert media_type_of_bytes(data) == found


def test_a_media_type_has_one_name() -> None:
    names = ["audio/x-wav", "AUDIO/WAVE", "audio/mp3", "image/jpg; q=1", "text/csv"]
    usual = ["audio/wav", "audio/wav", "audio/mpeg", "image/jpeg", "text/csv"]
    assert list(map(normalized_media_type, names)) == usual
    assert Blob("audio/x-wav", "") == Blob("audio/wav", "")


@given(strategies.parts)
def test_a_part_is_read_back_from_its_wire_form(part: Part) -> None:
    assert parse_part(wire_part(part), "it") == part


@given(strategies.parts)
def test_what_is_shown_of_a_part_has_no_bytes(part: Part) -> None:
    for blob in blobs_of([part]):
        assert len(repr(part)) < 200
        assert blob.size == len(blob.data)
        assert b64encode(blob.data).decode() == blob.base64
        assert blob.digest[:15] in repr(part)


def test_labels_say_what_it_is_and_nothing_else() -> None:
    image = Image.from_bytes(PNG_BYTES)
    label = "[image/png, 8 bytes, sha256:4c4b6a3b]"
    assert (image.label, repr(image), repr(image.source)) == (label, f"Image({label})", f"<{label[1:-1]}>")
    assert repr(Audio.from_bytes(b"fLaC")).startswith("Audio([audio/flac, 4 bytes, sha256:")
    bill = File.from_bytes(b"%PDF-", name="<|im_end|> bill.pdf")
    assert repr(bill).startswith("File([file __im_end__ bill.pdf, application/pdf, 5 bytes, sha256:")
    assert File.from_bytes(b"%PDF-").label.startswith("[file, application/pdf, 5 bytes")
    assert Image.from_url(f"{URL}?signature=secret#x").label == f"[image, {URL}]"
    assert File.from_url(f"https://a/{'x' * 80}").label == f"[file, https://a/{'x' * 50}…]"
    assert readable_content(user_message(["Look:", image])) == f"Look:\n{label}"
    assert readable_content(UserMessage("hi")) == "hi"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Image.from_bytes(b"??"), "media_type: these bytes are no PNG, JPEG"),
        (
            lambda: Image.from_bytes(b"%PDF-"),
            "Image: the bytes are application/pdf; write File.from_bytes(...)",
        ),
        (
            lambda: Image("cat.png"),
            "Image: write Image.from_bytes(data), Image.from_url(url), or attach(path)",
        ),
        (lambda: Image("data:image/png;base64,AAAA"), "Image: write Image.from_bytes(data)"),
        (lambda: Image(cast("Any", b"x")), "Image: write Image.from_bytes(data)"),
        (lambda: Image(URL, cast("Any", "huge")), "detail: expected 'auto', 'low' or 'high', got 'huge'"),
        (lambda: Image.from_url("cat.png"), "url: expected a URL such as https://example.org/cat.png"),
        (lambda: Image.from_url("data:image/png"), "url: a data: URL has a comma"),
        (lambda: Image.from_url("data:image/png;base64,?"), "url: the data of a data: URL is not Base64"),
        (lambda: Audio(cast("Any", URL)), "Audio: providers take its bytes and no URL"),
        (lambda: Audio.from_bytes(PNG_BYTES), "Audio: the bytes are image/png"),
        (lambda: File(cast("Any", 1)), "File: write File.from_bytes(data)"),
        (lambda: Blob("png", ""), "media_type: expected a type such as 'image/png', got 'png'"),
        (lambda: Blob("image/png", "AAA"), "base64: expected standard Base64"),
        (lambda: Blob("image/png", "AAB="), "base64: expected standard Base64"),
        (lambda: UserMessage("hi", (Text("ho"),)), "content: it differs from the text of the parts"),
        (lambda: user_message(1), "content: expected what the user says: a text, or a list"),
        (lambda: user_message([1]), "content[0]: expected what the user says"),
    ],
)
def test_what_is_no_part_is_refused(make: Callable[[], object], why: str) -> None:
    assert complaint(ConfigError, make).startswith(why)


def test_a_data_url_is_its_bytes() -> None:
    assert parse_url_source("data:image/png;base64,iVBORw0KGgo") == Blob.of(PNG_BYTES)
    assert parse_url_source("data:,a%2Cb") == Blob.of(b"a,b", "text/plain")
    assert parse_url_source(URL) == URL


@pytest.mark.parametrize(
    ("tree", "got"), worked("an object that is no part is refused with its place", "messages")
)
def test_an_object_that_is_no_part_is_refused_with_its_place(tree: Json, got: str) -> None:
    why = f"it: expected a part of type text, image_url, input_audio or file, got {got}"
    assert complaint(ConfigError, lambda: parse_part(tree, "it")) == why


def test_a_part_with_a_mistake_is_refused_with_its_place() -> None:
    wrong = {"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}
    assert complaint(ConfigError, lambda: parse_part(wrong, "it")).startswith("it: base64: expected")


def test_digests_stand_for_bytes_in_any_json() -> None:
    odd: Json = {"type": "file", "file": 1}
    linked, empty = wire_part(Image.from_url(URL)), wire_part(Image(Blob("image/png", "")))
    picture, sound = Image.from_bytes(PNG_BYTES, detail="low"), Audio.from_bytes(b"fLaC")
    kept: list[Json] = [linked, empty, odd, "b", 1]
    assert isinstance(picture.source, Blob)
    url = f"data:image/png;base64,{picture.source.digest}"
    assert with_digests_for_base64({"a": [wire_part(picture), wire_part(sound), *kept]}) == {
        "a": [
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": sound.source.digest, "format": "flac"}},
            *kept,
        ]
    }


def test_texts_and_parts_that_follow_each_other_are_one_message() -> None:
    image, said = Image.from_url(URL), UserMessage("hi")
    both = UserMessage("What?", (Text("What?"), image))
    assert messages_from_input(image) == (UserMessage("", (image,)),)
    assert messages_from_input([said, "What?", image]) == (said, both)
    assert messages_from_input(["What?", wire_part(image), said, "a", "b"]) == (
        *(both, said),
        *(UserMessage("a"), UserMessage("b")),
    )
    assert messages_from_input(wire_part(image)) == (UserMessage("", (image,)),)
    assert messages_from_input({"role": "user", "content": ["What?", image]}) == (both,)
    assert messages_from_input({"role": "user", "content": [{"type": "text", "text": "a"}]}) == (
        UserMessage("a"),
    )
    assert user_message(image) == UserMessage("", (image,))
    assert user_message("hi") == said


def test_a_result_may_be_written_with_parts() -> None:
    tree = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "text", "text": "{}"}, wire_part(Image.from_url(URL))],
    }
    (message,) = messages_from_input(tree)
    assert message == ToolMessage("a", "{}", parts=(Image.from_url(URL),))
    assert parse(wire_text(message)) == tree
    assert (parts_of_message(message), parts_of_message(SystemMessage("s"))) == ((Image.from_url(URL),), ())
    assert repr(message).endswith(f"name='', parts=(Image([image, {URL}]),))")


@pytest.mark.parametrize("given", [{"a", "b"}, b"bytes", bytearray(b"bytes")])
def test_bytes_are_no_messages(given: object) -> None:
    if isinstance(given, set):
        assert len(messages_from_input(given)) == 2
    else:
        assert complaint(ConfigError, lambda: messages_from_input(given)).startswith(
            "messages: expected a text"
        )


def test_what_a_provider_does_not_take_is_told_instead() -> None:
    provider = Provider(name="deaf", supports_audio="no")
    sound, image = Audio.from_bytes(b"fLaC"), Image.from_url(URL)
    told = Text(f"{sound.label} was left out: deaf takes no audio.")
    assert parts_for_provider((image, sound), provider) == ((image, told), ("supports_audio",))
    assert parts_for_provider((image,), provider) == ((image,), ())
    assert unsupported_part_error((Text("hi"), image, sound), provider).startswith(
        f"{sound.label}: deaf takes no audio;"
    )
    assert unsupported_part_error((image,), provider) == ""
    file = File.from_url(URL)
    assert "takes no files" in unsupported_part_error((file,), Provider(supports_files="no"))


def test_a_part_counts_as_tokens_by_its_kind() -> None:
    blob = Blob.of(bytes(6_000), "image/png")
    cases: list[tuple[Part, int]] = [
        (Text("hi"), 0),
        (Image(blob), IMAGE_TOKENS),
        (Image.from_url(URL), IMAGE_TOKENS),
        (Audio(Blob.of(bytes(6_000), "audio/wav")), 12),
        (File(blob), 300),
        (File.from_url(URL), FILE_TOKENS),
    ]
    for part, expected in cases:
        text = wire_text(UserMessage(readable_parts_text([part]) if isinstance(part, Text) else "", (part,)))
        around = text
        for found in blobs_of([part]):
            around = type(text)(around.replace(found.base64, ""))
        assert (
            estimate_tokens_with_parts([part], text, estimate_tokens_by_bytes)
            == estimate_tokens_by_bytes(around) + expected
        )


def test_control_tokens_are_broken_beside_parts() -> None:
    message = ToolMessage("a", "<|im_end|>", parts=(Image.from_url(URL),))
    guarded = json.loads(write_message(message, Form(Provider(special_token_guard=True))).text)
    assert guarded["content"][0] == {"type": "text", "text": "< |im_end|>"}
    assert guarded["content"][1] == wire_part(Image.from_url(URL))


@given(strategies.histories, strategies.providers)
def test_results_have_only_what_the_provider_takes_there(history: list[Message], provider: Provider) -> None:
    for message in project(history, provider):
        if isinstance(message, ToolMessage):
            stays = provider.images_in_tool_results == "yes" and provider.supports_images != "no"
            assert all(isinstance(part, Image) for part in message.parts) if stays else not message.parts
        for part in parts_of_message(message):
            assert isinstance(part, Text) or not unsupported_part_error((part,), provider)


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_only_users_and_tools_have_parts_that_are_no_text(role: str) -> None:
    texts: list[Json] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (message,) = messages_from_input({"role": role, "content": texts})
    assert (message.content, parts_of_message(message)) == ("ab", ())
    picture = {"role": role, "content": [*texts, wire_part(Image.from_url(URL))]}
    assert complaint(ConfigError, lambda: messages_from_input(picture)) == (
        f"messages.content: expected text alone, got [image, {URL}]"
    )
