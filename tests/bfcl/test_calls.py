"""Texts of calls are read as data: what is more than a call with literals is refused, and nothing runs."""

from __future__ import annotations

import pytest

from benchmarks.bfcl.calls import CallTextError, read_call
from tests.samples import worked
from toolreel_core._jsontext import Json


@pytest.mark.parametrize(("text", "arguments"), worked("a call with literals is read", "benchmarks"))
def test_a_call_with_literals_is_read(text: str, arguments: dict[str, Json]) -> None:
    assert read_call(text).arguments(["first", "second"]) == arguments


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *worked("a text that is more is refused", "benchmarks"),
        ("cd(" + "[" * 3_000 + "]" * 3_000 + ")", "not an expression"),
        ("cd('" + "a" * 20_000 + "')", "longer than 20000 characters"),
    ],
)
def test_a_text_that_is_more_is_refused(text: str, why: str) -> None:
    with pytest.raises(CallTextError, match=why):
        read_call(text)


def test_refusing_a_text_runs_nothing_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CallTextError):
        read_call("cd(print('run'))")
    assert capfd.readouterr().out == ""


def test_arguments_that_have_no_place_are_refused() -> None:
    with pytest.raises(CallTextError, match="cd: 2 arguments for 1 parameters"):
        read_call("cd('a', 'b')").arguments(["folder"])
    with pytest.raises(CallTextError, match="cd: 'folder' comes by place and by name"):
        read_call("cd('a', folder='b')").arguments(["folder"])
