"""Texts of calls are read as data: what is more than a call with literals is refused, and nothing runs."""

from __future__ import annotations

import pytest

from benchmarks.bfcl.calls import CallTextError, read_call
from toolreel_core._jsontext import Json


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("ls(a=True)", {"a": True}),
        ("sort('final_report.pdf')", {"first": "final_report.pdf"}),
        ("diff('a', 'b')", {"first": "a", "second": "b"}),
        ("echo('a', second='b')", {"first": "a", "second": "b"}),
        ("pwd()", {}),
        ("  mean(first=[1, -2.5, 3])  ", {"first": [1, -2.5, 3]}),
        ("book(first={'class': 'first', 'seats': (1, 2)})", {"first": {"class": "first", "seats": [1, 2]}}),
        ("post(first=None, second='#a' '#b')", {"first": None, "second": "#a#b"}),
    ],
)
def test_a_call_with_literals_is_read(text: str, arguments: dict[str, Json]) -> None:
    assert read_call(text).arguments(["first", "second"]) == arguments


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("__import__('os').system('id')", "not a call of a plain name"),
        ("ls().__class__", "not a call of a plain name"),
        ("(lambda: 1)()", "not a call of a plain name"),
        ("ls", "not a call of a plain name"),
        ("cd(folder=open('/etc/passwd').read())", "no literal"),
        ("cd(folder=[x for x in 'ab'])", "no literal"),
        ("cd(folder=f'{folder}')", "no literal"),
        ("cd(folder=folder)", "no literal"),
        ("cd(folder='a' + 'b')", "no literal"),
        ("cd(folder='a' * 9)", "no literal"),
        ("cd((folder := 'a'))", "no literal"),
        ("cd(*['a'])", "no literal"),
        ("cd(**{'folder': 'a'})", r"\*\* among the arguments"),
        ("cd(folder=b'a')", "JSON can carry"),
        ("cd(folder={1, 2})", "JSON can carry"),
        ("cd(folder=1e999)", "JSON can carry"),
        ("cd(folder=...)", "JSON can carry"),
        ("import os", "not an expression"),
        ("cd('a'); rm('b')", "not an expression"),
        ("cd('a') or rm('b')", "not a call"),
        ("cd(folder='a', folder='b')", "'folder' comes twice"),
        ("cd('a\0b')", "not an expression"),
        ("cd(" + "[" * 3_000 + "]" * 3_000 + ")", "not an expression"),
        ("cd('" + "a" * 20_000 + "')", "longer than 20000 characters"),
        ("", "not an expression"),
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
