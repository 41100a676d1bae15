"""Calls as text that were damaged: what runs has exactly the arguments that the model meant.

Each worked case of each dialect is edited once: cut, a tag dropped, doubled or misspelt, or a tag put into a
value. A call that is still read is one of the original's, or has the same edit in its value; anything else
must be told. The nightly profile tries more than 100,000 edits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.domain.text_calls.asking import SCHEMAS
from tests.samples import corpus_rows
from toolreel_core._jsontext import Json
from toolreel_core._text_calls import DIALECTS, text_calls

TAG = re.compile(
    r"(?:\]<\]minimax\[>\[)?</?[｜|]?[^\s<>!\]]{1,60}?(?:[\s=][^<>\n]{0,120})?[｜|]?>|\[/?[A-Z_]{4,}\]|✿[A-Z]+✿"
)
THOUGHT = re.compile("think|thought|scratch_pad", re.IGNORECASE)
PARTS = ("param", "parameter", "arg_key", "arg_value", "arg_type", "code")
NAME = re.compile(r"[A-Za-z]\w*")
TEXT_AFTER = ("", " and go on.", "\nand go on.\n")

Edit: TypeAlias = Literal["cut", "drop", "double", "misspell", "insert"]
Call: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and the calls in it."""

    text: str
    dialects: Sequence[str]
    schemas: Mapping[str, Json]
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after an edit."""

    text: str
    finish: str = "stop"
    value: tuple[str, str] = ("", "")
    """The value in which the edit is, before and after."""


def read(text: str, case: Case, finish: str) -> tuple[Call, ...]:
    """The calls that would run: of offered tools, with arguments that their schema allows."""
    found = text_calls(text, tools=case.schemas, dialects=case.dialects, finish=finish, schemas=case.schemas)
    calls = [(call.name, json.loads(call.arguments)) for call in found.calls]
    return tuple(
        (name, arguments)
        for name, arguments in calls
        if name in case.schemas and is_valid(arguments, case.schemas[name])
    )


def is_valid(arguments: Mapping[str, Any], schema: Json) -> bool:
    """Whether a schema allows these arguments."""
    assert isinstance(schema, Mapping)
    return Draft202012Validator(schema).is_valid(arguments)


def texts() -> Iterator[Case]:
    """The texts of all corpora of text calls that no limit cut."""
    for row in corpus_rows("text-calls"):
        if row["finish"] != "length":
            yield Case(row["content"], tuple(row["enable"]), row["schemas"])
    for row in corpus_rows("dialects/*"):
        enabled = DIALECTS if row["enable"] in {"all", "marked"} else tuple(row["enable"].split(","))
        if row["finish"] != "length":
            yield Case(row["text"], enabled, SCHEMAS)


def is_whole(text: str, calls: Sequence[Call]) -> bool:
    """Whether no tag of an argument is missing, and no argument given twice.

    An edit on top of such a fault may leave no trace.
    """
    opened = [len(re.findall(rf"<[^\s<>/]*\b{part}\b[^<>]*(?<!/)>", text)) for part in PARTS]
    closed = [len(re.findall(rf"</[^\s<>]*\b{part}\b", text)) for part in PARTS]
    return opened == closed and max(opened) <= sum(len(arguments) for _, arguments in calls)


@cache
def by_dialect() -> dict[str, list[Case]]:
    """The texts in which a call runs, by the dialect of their first call."""
    cases: dict[str, list[Case]] = {}
    for case in texts():
        found = text_calls(
            case.text, tools=case.schemas, dialects=case.dialects, finish="stop", schemas=case.schemas
        )
        calls = read(case.text, case, "stop")
        if found.calls and calls and is_whole(case.text, calls):
            cases.setdefault(found.calls[0].dialect, []).append(replace(case, calls=calls))
    return cases


@st.composite
def edits(draw: st.DrawFn, case: Case) -> Edited:
    """One edit of a text."""
    text = case.text
    tags = [tag for tag in TAG.finditer(text) if not THOUGHT.search(tag[0]) and not is_escaped(case, tag)]
    values = [value for value in strings(case) if text.count(value) == 1]
    of_tags: Sequence[Edit] = ("drop", "double", "misspell", "misspell") if tags else ()
    of_values: Sequence[Edit] = ("insert", "insert") if tags and values else ()
    kinds: Sequence[Edit] = ("cut", *of_tags, *of_values)
    kind = draw(st.sampled_from(kinds))
    if kind == "cut":
        return Edited(text[: draw(st.integers(0, len(text)))], "length")
    tag = draw(st.sampled_from(tags))
    if kind == "insert":
        value = draw(st.sampled_from(values))
        place = draw(st.integers(0, len(value)))
        after = value[:place] + tag[0] + draw(st.sampled_from(TEXT_AFTER)) + value[place:]
        return Edited(text.replace(value, after), "stop", (value, after))
    made = {"drop": "", "double": tag[0] * 2}.get(kind) if kind != "misspell" else draw(misspelt(tag[0]))
    assert made is not None
    inside = [value for value in values if (at := text.find(value)) <= tag.start() < at + len(value)]
    edited = (value, value.replace(tag[0], made, 1)) if (value := "".join(inside[:1])) else ("", "")
    return Edited(text[: tag.start()] + made + text[tag.end() :], "stop", edited)


@st.composite
def misspelt(draw: st.DrawFn, tag: str) -> str:
    """A tag with a wrong character in its name or its brackets; what it says of a value stays."""
    name = NAME.search(tag)
    ends = [place for place, sign in enumerate(tag) if sign in "<>/[]|｜‖"]
    places = [*range(*name.span()), *ends] if name else ends
    place = draw(st.sampled_from(places))
    inner = 0 < place < len(tag) - 1  # a bracket twice may as well be the text next to the tag
    doubled = tag[place] * 2 if inner else "x"
    swapped = tag[place + 1] + tag[place] if place + 2 < len(tag) else "x"
    wrong = draw(st.sampled_from(("", doubled, "x", swapped)))
    skipped = 2 if len(wrong) == 2 and wrong[0] != tag[place] else 1
    return tag[:place] + wrong + tag[place + skipped :]


def strings(case: Case) -> Iterator[str]:
    """The texts among the arguments of the calls."""
    for _, arguments in case.calls:
        yield from (value for value in arguments.values() if isinstance(value, str) and value)


def is_escaped(case: Case, tag: re.Match[str]) -> bool:
    """Whether a tag is part of a value that the text spells with escapes."""
    spelt = [text for value in strings(case) if (text := json.dumps(value)[1:-1]) != value]
    places = [(case.text.find(value), len(value)) for value in spelt]
    return any(at <= tag.start() < at + length for at, length in places if at >= 0)


def meant(case: Case, edited: Edited) -> list[Call]:
    """The calls that may run: the original's, and those with the same edit in their value."""
    before, after = edited.value
    changed = [
        (name, {key: after if value == before else value for key, value in arguments.items()})
        for name, arguments in case.calls
    ]
    return [*case.calls, *changed]


def wrong(case: Case, edited: Edited) -> list[Call]:
    """The calls that run although nobody meant them."""
    allowed = meant(case, edited)
    return [
        call for call in read(edited.text, case, edited.finish) if trimmed(call) not in map(trimmed, allowed)
    ]


def trimmed(call: Call) -> Call:
    """A call without the line breaks around its texts, which are the notation's."""
    name, arguments = call
    return name, {key: value.strip() if isinstance(value, str) else value for key, value in arguments.items()}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@given(data=st.data())
def test_a_damaged_call_runs_as_it_was_meant_or_not(dialect: str, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(by_dialect()[dialect]))
    edited = data.draw(edits(case))
    assert wrong(case, edited) == []
