from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given

from tests import strategies
from tests.samples import complaint, project, worked
from toolreel_core._conversation import (
    FILE_TOKENS,
    IMAGE_TOKENS,
    Audio,
    Blob,
    File,
    Form,
    Image,
    Message,
    Part,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
    blobs_of,
    fitted,
    media_type_in,
    messages_of,
    part_in,
    parts_of,
    refusal,
    shown_content,
    shown_parts,
    source_of,
    tokens_with,
    user_message,
    usual_media_type,
    wire,
    wire_part,
    with_digests,
    written,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, parse
from toolreel_core._settings import Provider, bytes_per_4

PNG = b"\x89PNG\r\n\x1a\n"
URL = "https://example.org/a.png"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (PNG, "image/png"),
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
    assert media_type_in(data) == found


def test_a_media_type_has_one_name() -> None:
    names = ["audio/x-wav", "AUDIO/WAVE", "audio/mp3", "image/jpg; q=1", "text/csv"]
    usual = ["audio/wav", "audio/wav", "audio/mpeg", "image/jpeg", "text/csv"]
    assert list(map(usual_media_type, names)) == usual
    assert Blob("audio/x-wav", "") == Blob("audio/wav", "")


@given(strategies.parts)
def test_a_part_is_read_back_from_its_wire_form(part: Part) -> None:
    assert part_in(wire_part(part), "it") == part


@given(strategies.parts)
def test_what_is_shown_of_a_part_has_no_bytes(part: Part) -> None:
    for blob in blobs_of([part]):
        assert len(repr(part)) < 200
        assert blob.size == len(blob.data)
        assert b64encode(blob.data).decode() == blob.base64
        assert blob.digest[:15] in repr(part)


def test_labels_say_what_it_is_and_nothing_else() -> None:
    image = Image.from_bytes(PNG)
    label = "[image/png, 8 bytes, sha256:4c4b6a3b]"
    assert (image.label, repr(image), repr(image.source)) == (label, f"Image({label})", f"<{label[1:-1]}>")
    assert repr(Audio.from_bytes(b"fLaC")).startswith("Audio([audio/flac, 4 bytes, sha256:")
    bill = File.from_bytes(b"%PDF-", name="<|im_end|> bill.pdf")
    assert repr(bill).startswith("File([file __im_end__ bill.pdf, application/pdf, 5 bytes, sha256:")
    assert File.from_bytes(b"%PDF-").label.startswith("[file, application/pdf, 5 bytes")
    assert Image.from_url(f"{URL}?signature=secret#x").label == f"[image, {URL}]"
    assert File.from_url(f"https://a/{'x' * 80}").label == f"[file, https://a/{'x' * 50}…]"
    assert shown_content(user_message(["Look:", image])) == f"Look:\n{label}"
    assert shown_content(UserMessage("hi")) == "hi"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Image.from_bytes(b"??"), "media_type: these bytes are no PNG, JPEG"),
        (lambda: Image.from_bytes(b"%PDF-"), "Image: application/pdf is none; write File.from_bytes(...)"),
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
        (lambda: Audio.from_bytes(PNG), "Audio: image/png is none"),
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
    assert source_of("data:image/png;base64,iVBORw0KGgo") == Blob.of(PNG)
    assert source_of("data:,a%2Cb") == Blob.of(b"a,b", "text/plain")
    assert source_of(URL) == URL


@pytest.mark.parametrize(
    ("tree", "got"), worked("an object that is no part is refused with its place", "messages")
)
def test_an_object_that_is_no_part_is_refused_with_its_place(tree: Json, got: str) -> None:
    why = f"it: expected a part of type text, image_url, input_audio or file, got {got}"
    assert complaint(ConfigError, lambda: part_in(tree, "it")) == why


def test_a_part_with_a_mistake_is_refused_with_its_place() -> None:
    wrong = {"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}
    assert complaint(ConfigError, lambda: part_in(wrong, "it")).startswith("it: base64: expected")


def test_digests_stand_for_bytes_in_any_json() -> None:
    odd: Json = {"type": "file", "file": 1}
    linked, empty = wire_part(Image.from_url(URL)), wire_part(Image(Blob("image/png", "")))
    picture, sound = Image.from_bytes(PNG, detail="low"), Audio.from_bytes(b"fLaC")
    kept: list[Json] = [linked, empty, odd, "b", 1]
    assert isinstance(picture.source, Blob)
    url = f"data:image/png;base64,{picture.source.digest}"
    assert with_digests({"a": [wire_part(picture), wire_part(sound), *kept]}) == {
        "a": [
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": sound.source.digest, "format": "flac"}},
            *kept,
        ]
    }


def test_texts_and_parts_that_follow_each_other_are_one_message() -> None:
    image, said = Image.from_url(URL), UserMessage("hi")
    both = UserMessage("What?", (Text("What?"), image))
    assert messages_of(image) == (UserMessage("", (image,)),)
    assert messages_of([said, "What?", image]) == (said, both)
    assert messages_of(["What?", wire_part(image), said, "a", "b"]) == (
        *(both, said),
        *(UserMessage("a"), UserMessage("b")),
    )
    assert messages_of(wire_part(image)) == (UserMessage("", (image,)),)
    assert messages_of({"role": "user", "content": ["What?", image]}) == (both,)
    assert messages_of({"role": "user", "content": [{"type": "text", "text": "a"}]}) == (UserMessage("a"),)
    assert user_message(image) == UserMessage("", (image,))
    assert user_message("hi") == said


def test_a_result_may_be_written_with_parts() -> None:
    tree = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "text", "text": "{}"}, wire_part(Image.from_url(URL))],
    }
    (message,) = messages_of(tree)
    assert message == ToolMessage("a", "{}", parts=(Image.from_url(URL),))
    assert parse(wire(message)) == tree
    assert (parts_of(message), parts_of(SystemMessage("s"))) == ((Image.from_url(URL),), ())
    assert repr(message).endswith(f"name='', parts=(Image([image, {URL}]),))")


@pytest.mark.parametrize("given", [{"a", "b"}, b"bytes", bytearray(b"bytes")])
def test_bytes_are_no_messages(given: object) -> None:
    if isinstance(given, set):
        assert len(messages_of(given)) == 2
    else:
        assert complaint(ConfigError, lambda: messages_of(given)).startswith("messages: expected a text")


def test_what_a_provider_does_not_take_is_told_instead() -> None:
    provider = Provider(name="deaf", supports_audio="no")
    sound, image = Audio.from_bytes(b"fLaC"), Image.from_url(URL)
    told = Text(f"{sound.label} was left out: deaf takes no audio.")
    assert fitted((image, sound), provider) == ((image, told), ("supports_audio",))
    assert fitted((image,), provider) == ((image,), ())
    assert refusal((Text("hi"), image, sound), provider).startswith(f"{sound.label}: deaf takes no audio;")
    assert refusal((image,), provider) == ""
    file = File.from_url(URL)
    assert "takes no files" in refusal((file,), Provider(supports_files="no"))


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
        text = wire(UserMessage(shown_parts([part]) if isinstance(part, Text) else "", (part,)))
        around = text
        for found in blobs_of([part]):
            around = type(text)(around.replace(found.base64, ""))
        assert tokens_with([part], text, bytes_per_4) == bytes_per_4(around) + expected


def test_control_tokens_are_broken_beside_parts() -> None:
    message = ToolMessage("a", "<|im_end|>", parts=(Image.from_url(URL),))
    guarded = json.loads(written(message, Form(Provider(special_token_guard=True))).text)
    assert guarded["content"][0] == {"type": "text", "text": "< |im_end|>"}
    assert guarded["content"][1] == wire_part(Image.from_url(URL))


@given(strategies.histories, strategies.providers)
def test_results_have_only_what_the_provider_takes_there(history: list[Message], provider: Provider) -> None:
    for message in project(history, provider):
        if isinstance(message, ToolMessage):
            stays = provider.images_in_tool_results == "yes" and provider.supports_images != "no"
            assert all(isinstance(part, Image) for part in message.parts) if stays else not message.parts
        for part in parts_of(message):
            assert isinstance(part, Text) or not refusal((part,), provider)


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_only_users_and_tools_have_parts_that_are_no_text(role: str) -> None:
    texts: list[Json] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (message,) = messages_of({"role": role, "content": texts})
    assert (message.content, parts_of(message)) == ("ab", ())
    picture = {"role": role, "content": [*texts, wire_part(Image.from_url(URL))]}
    assert complaint(ConfigError, lambda: messages_of(picture)) == (
        f"messages.content: expected text alone, got [image, {URL}]"
    )
