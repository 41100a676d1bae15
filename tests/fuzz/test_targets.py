"""Each target holds for random inputs, and fails where a normaliser is broken."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import arguments, attacks, forms, replies, streams, texts
from tests.fuzz.draw import Draw, fragment, plain
from tests.fuzz.fragments import FRAGMENTS
from tests.fuzz.targets import TARGETS, Target, inputs
from tests.fuzz.written import DIALECTS_WRITTEN, SPOKEN_OF, written
from toolreel_core._jsontext import NOTHING, Json, canonical
from toolreel_core._replies import (
    ArgumentError,
    ArgumentsRead,
    ReadAsChat,
    Reply,
    as_chat,
    normalize_reply,
    read_arguments,
)
from toolreel_core._settings import WireForm
from toolreel_core._text_calls import DIALECTS, TextCalls, text_calls

QUICK_ATTACKS = partial(attacks.check, size=2_048, seconds=60)
QUICK = {**TARGETS, "attacks": replace(TARGETS["attacks"], check=QUICK_ATTACKS)}
"""The targets, of which none takes long."""


@pytest.mark.parametrize("name", QUICK)
def test_a_target_holds_for_whatever_comes(name: str) -> None:
    target = QUICK[name]

    @settings(suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow])
    @given(inputs(target))
    def check_each(data: bytes) -> None:
        target.check(data)

    check_each()


@pytest.mark.parametrize("name", QUICK)
def test_a_target_holds_where_fuzzing_begins(name: str) -> None:
    target: Target = QUICK[name]
    for data in target.seeds():
        target.check(data)


@given(st.binary(max_size=40))
def test_an_input_means_the_same_with_its_fragments_written_out(data: bytes) -> None:
    assert plain(plain(data)) == plain(data)
    assert Draw(plain(data)).rest() == Draw(data).rest()


def test_an_input_begins_with_choices_and_ends_as_text() -> None:
    draw = Draw(b"\x01\x05\x00\x02ab" + fragment(0) + b"\x80")
    assert draw.one_of("xy") == "y"
    assert draw.number(3) == 2
    assert draw.text(9) == "ab"
    assert draw.rest() == FRAGMENTS[0] + "\udc80"
    assert (draw.one_of("xy"), draw.number(3), draw.text(9), draw.rest()) == ("x", 0, "", "")


@pytest.mark.parametrize("call", [*SPOKEN_OF, *(written(name, "NAME", NOTHING) for name in DIALECTS_WRITTEN)])
def test_what_is_put_into_quotations_is_a_call_outside_of_them(call: str) -> None:
    text = call.replace("NAME", "other").replace("\n", " ")
    found = text_calls(text, tools=["other"], dialects=DIALECTS, finish="stop")
    assert [call.name for call in found.calls] == ["other"]


class Changing:
    """A normaliser whose answer is another one each time."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, *_: object, **__: object) -> TextCalls:
        self.asked += 1
        return TextCalls((), str(self.asked))


def in_quotations(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    return text_calls(content.replace("`", " ").replace("\n> ", " "), **options)


def completing(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    """Closes what was cut, as some servers do."""
    return text_calls(content + '"}}</tool_call>', **{**options, "finish": "stop"})


def remembering_nothing(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    return text_calls(content, **{**options, "earlier": ()})


def making_up(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    return replace(text_calls(content, **options), content="made up")


def leaving(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    return replace(text_calls(content, **options), content=content)


PING = b'<tool_call>{"name": "ping"}</tool_call>'


@pytest.mark.parametrize(
    ("subject", "data", "why"),
    [
        (Changing(), b"", "two different results"),
        (making_up, b"\x00\x00\x00\x00hi", "content was made up"),
        (making_up, b"\x00\x00\x00\x00made up and more", "was changed"),
        (leaving, b"\x00\x00\x00\x00" + PING, "holds a further call"),
        (remembering_nothing, b"\x00\x00\x00\x00" + PING, "has returned"),
        (in_quotations, b"\x03\x00\x00\x00\x02", "a quotation would run"),
        (lambda *_, **__: TextCalls((), ""), b"\x02", "the call was not read"),
        (completing, b"\x02\x00\x00\x17\x00\x01\x00\x02\x01\x05hello", "a call that was cut would run"),
    ],
)
def test_broken_reading_of_texts_is_caught(subject: texts.ReadText, data: bytes, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        texts.check(data, subject)
    texts.check(data)


def test_cut_arguments_that_are_completed_are_caught() -> None:
    def completing_brackets(raw: Json, **options: Any) -> ArgumentsRead:  # noqa: ANN401 - passed on as it comes
        got = read_arguments(raw, **options)
        broken = isinstance(got.value, ArgumentError) and isinstance(raw, str)
        return read_arguments(f"{raw}}}", **options) if broken else got

    data = b"\x00\x01"
    arguments.check(data)
    with pytest.raises(AssertionError, match="arguments that were cut would run"):
        arguments.check(data, completing_brackets)


def test_a_reader_that_raises_is_caught() -> None:
    def raising(body: bytes | Json, **options: Any) -> Reply:  # noqa: ANN401 - passed on as it comes
        assert body != "", "there is no body"
        return normalize_reply(body, **options)

    with pytest.raises(AssertionError, match="there is no body"):
        replies.check(b"", raising)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda reply: replace(reply, problem=None), "without a problem"),
        (lambda reply: replace(reply, warnings=("ODD",)), "without words"),
        (lambda reply: replace(reply, warnings=("NAME_UNKNOWN",) * 2), "stands twice"),
        (lambda reply: replace(reply, content="\ud83d"), "surrogates not allowed"),
    ],
)
def test_broken_reading_of_replies_is_caught(changed: Callable[[Reply], Reply], why: str) -> None:
    def broken(body: bytes | Json, **options: Any) -> Reply:  # noqa: ANN401 - passed on as it comes
        return changed(normalize_reply(body, **options))

    with pytest.raises((AssertionError, UnicodeEncodeError), match=why):
        replies.check(b"\x00\x00", broken)


def test_a_stream_that_depends_on_its_pieces_is_caught() -> None:
    def lossy(pieces: Sequence[str]) -> streams.Heard:
        return streams.hear([piece for piece in pieces if piece.strip()])

    with pytest.raises(AssertionError, match="a character at a time"):
        streams.check(b'\x00\x00data: {"choices":[{"delta":{"content":"a b"}}]}', lossy)


def test_a_stream_that_makes_a_whole_of_a_part_is_caught() -> None:
    def trusting(pieces: Sequence[str]) -> streams.Heard:
        finish = canonical({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        return streams.hear([*pieces, f"\n\ndata: {finish}\n\n"])

    data = b"\x02\x00" + (110).to_bytes(2, "little")
    streams.check(data)
    with pytest.raises(AssertionError, match="a call that was cut would run"):
        streams.check(data, trusting)


def test_a_reader_that_takes_too_long_or_too_much_is_caught() -> None:
    def slow(text: str) -> object:
        return sum(text.count(text[:place]) for place in range(1, 200))

    def large(text: str) -> object:
        return [text + str(number) for number in range(200)]

    with pytest.raises(AssertionError, match=r"slow: .* s for 'a'"):
        attacks.check(b"\x00\x00\x00a", {"slow": slow}, seconds=1e-5)
    with pytest.raises(AssertionError, match=r"large: .* MB for 'a'"):
        attacks.check(b"\x00\x00\x00a", {"large": large}, memory=1 << 20)


def test_a_reader_of_forms_that_takes_json_alone_is_found() -> None:
    def strict(text: str, form: WireForm) -> ReadAsChat:
        json.loads(text)
        return as_chat(text, form)

    page = b"\x00\x00<html>"
    forms.check(page)
    with pytest.raises(ValueError, match="Expecting value"):
        forms.check(page, strict)
