"""Each target holds for random inputs, and fails where a normaliser is broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.found import kept
from tests.fuzz.targets import TARGETS, inputs
from tests.fuzz.written import DIALECTS_WRITTEN, SPOKEN_OF, written
from toolreel_core._jsontext import NOTHING
from toolreel_core._replies import Reply, normalize_reply
from toolreel_core._text_calls import DIALECTS, TextCalls, text_calls


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_for_whatever_comes(name: str) -> None:
    target = TARGETS[name]

    @settings(suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow])
    @given(inputs(target))
    def check_each(data: bytes) -> None:
        target.check(data)

    check_each()


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_where_fuzzing_begins(name: str) -> None:
    for data in TARGETS[name].seeds():
        TARGETS[name].check(data)


@pytest.mark.parametrize("path", kept(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_fuzzing_has_found_holds_by_now(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("call", [*SPOKEN_OF, *(written(name, "NAME", NOTHING) for name in DIALECTS_WRITTEN)])
def test_what_is_put_into_quotations_is_a_call_outside_of_them(call: str) -> None:
    text = call.replace("NAME", "other").replace("\n", " ")
    found = text_calls(text, tools=["other"], dialects=DIALECTS, finish="stop")
    assert [call.name for call in found.calls] == ["other"]


def unread(*_: object, **__: object) -> TextCalls:
    return TextCalls((), "")


def in_quotations(content: str, **options: Any) -> TextCalls:  # noqa: ANN401 - passed on as it comes
    return text_calls(content.replace("`", " ").replace("\n> ", " "), **options)


def unharmed(body: Any, **options: Any) -> Reply:  # noqa: ANN401 - passed on as it comes
    return replace(normalize_reply(body, **options), problem=None)


@pytest.mark.parametrize(
    ("reader", "broken", "data", "why"),
    [
        ("texts.text_calls", unread, b"\x02", "the call was not read"),
        ("texts.text_calls", in_quotations, b"\x03\x00\x00\x00\x02", "a quotation would run"),
        ("replies.normalize_reply", unharmed, b"\x00\x00", "without a problem"),
    ],
)
def test_a_broken_reader_is_caught(
    reader: str, broken: object, data: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = TARGETS[reader.partition(".")[0]].check
    check(data)
    monkeypatch.setattr(f"tests.fuzz.{reader}", broken)
    with pytest.raises(AssertionError, match=why):
        check(data)
