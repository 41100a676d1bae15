from __future__ import annotations

import re

import pytest

from tests.domain.text_calls.asking import source
from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.values.lenient_json import Bare, Flaw, Style, Value, members_at, skip, value_at

TAG = Style(closing=re.compile("</t>"))
WORDS = Style(quote="<q>", colons=":=", words=True)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ('{"a": [1, -2.5, 1e3, true, false, null, "x"]}', {"a": [1, -2.5, 1000.0, True, False, None, "x"]}),
        ("{'a': True, 'b': False, 'c': None,}", {"a": True, "b": False, "c": None}),
        ("[1, (2, 3,), 07, +4, 1_000, .5]", [1, [2, 3], 7, 4, 1000, 0.5]),
        ('{"a": 1, // so\n "b": /* or */ 2}', {"a": 1, "b": 2}),
        ('"a\nb\tc"', "a\nb\tc"),
        (r'"\n\t\r\b\f\"\\\/\u00e9\ud83d\ude00\x41\d"', '\n\t\r\b\f"\\/é😀A\\d'),
        ("'it\\'s'", "it's"),
        ('"""a "b" c"""', 'a "b" c'),
        ("r'a'", "a"),
        ("\ufeff\u200b 9007199254740993", 9007199254740993),
        ("{}", {}),
        ("[]", []),
    ],
)
def test_json_is_read_as_models_write_it(text: str, tree: Json) -> None:
    assert value_at(source(text), 0) == Value(tree, len(text))


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", Flaw(0, True)),
        ('{"a": 1', Flaw(7, True)),
        ('{"a"', Flaw(4, True)),
        ('{"a": tr', Flaw(8, True)),
        ('{"a": -', Flaw(7, True)),
        ('["a', Flaw(3, True)),
        ('["""a', Flaw(5, True)),
        ("[1 // on", Flaw(8, True)),
        ("[1 /* on", Flaw(8, True)),
        ('{"a" 1}', Flaw(5, False)),
        ("{a: 1}", Flaw(1, False)),
        ('{"a": }', Flaw(6, False)),
        ("[1 2]", Flaw(3, False)),
        ("[open]", Flaw(1, False)),
        ("[NaN, 1]", Flaw(1, False)),
        ("[1.2.3]", Flaw(1, False)),
        (f"[{'9' * 5000}]", Flaw(1, False)),
        ("[" * 80 + "]" * 80, Flaw(65, False)),
    ],
)
def test_what_cannot_be_read_says_where_and_whether_it_broke_off(text: str, flaw: Flaw) -> None:
    assert value_at(source(text), 0) == flaw


def test_closers_may_be_missing_before_the_closing_tag() -> None:
    assert value_at(source('{"a": [{"b": 1</t>'), 0, TAG) == Value({"a": [{"b": 1}]}, 14)
    assert value_at(source('{"a": 1, </t>'), 0, TAG) == Value({"a": 1}, 9)
    assert value_at(source('{"a": 1</u>'), 0, TAG) == Flaw(7, False)


def test_words_may_do_without_quotes_where_a_dialect_says_so() -> None:
    read = members_at(source('{a: <q>x, y<q>, <q>b<q>: some word, c = [1], "d": true}'), 1, "}", WORDS)
    assert isinstance(read, Value)
    assert read.tree == {"a": "x, y", "b": "some word", "c": ["1"], "d": "true"}
    assert isinstance(read.tree, dict)
    assert isinstance(read.tree["b"], Bare)
    assert not isinstance(read.tree["a"], Bare)
    assert members_at(source("{a: <q>x"), 1, "}", WORDS) == Flaw(8, True)
    assert members_at(source("{a: }"), 1, "}", WORDS) == Flaw(4, False)


def test_keywords_of_a_python_call_need_no_quotes() -> None:
    call = Style(colons="=")
    assert members_at(source('f(a=1, b={"c": 2})'), 2, ")", call) == Value({"a": 1, "b": {"c": 2}}, 18)
    assert members_at(source("f(a=1, b={c: 2})"), 2, ")", call) == Flaw(10, False)
    assert members_at(source("f(7)"), 2, ")", call) == Flaw(2, False)


def test_comments_are_passed_over() -> None:
    assert skip(source(" // a\n /* b */ 1"), 0) == 15
    assert skip(source("/ 1"), 0) == 0
