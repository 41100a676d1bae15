from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adapters.cassette.format.test_yaml import HOSTILE, TEXT, TREE
from toolreel._errors import CassetteError
from toolreel.cassette._format.yaml import EXPANDED_LIMIT, dump_yaml, load_yaml
from toolreel.cassette._format.yaml_fast_reader import read_lines
from toolreel.cassette._format.yaml_reader import read_events
from toolreel_core._jsontext.canonical import Json

RECORDED = sorted(Path("cassettes").rglob("*.yaml"))
LIMIT = 2_000
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

PIECES = st.sampled_from(
    [
        *("a", "b: ", "- ", "  ", " ", "\n", "\n  ", "\n    ", "'", '"', "''", "\\", "\\x41"),
        *("\\u00e9", "\\ud800", "\\U0001F600", "\\n", "\\_", ">", "&x", "*x", "&x\n", "[]", "{}", "["),
        *("]", ":", "#", " #", ": ", "- - ", "? ", "!", "!!binary ", "!!str ", "%", "@", "`", "~"),
        *("null", "true", "no", "on", "'on':", "1", "1.5", "1e3", "0x1", "012", "1:30", "2024-01-01"),
        *(".nan", "=", "<<: *x", "...", "---", "\t", "\x85", "\u2028", "\xa0", "\ufeff", "\U0001f600"),
        *("\xe9", "-", "key:", "'k k':", "'':", '"q": ', "\x07", "\x00", ",", "|", "\n...\n"),
        *("|-\n  t\n", "|\n  t\n\n", "|2\n   t\n", "|+\n  t\n\n", "|2-\n\n  t\n"),
    ]
)
"""What YAML is made of, and what we write of it."""

OURS = st.sampled_from(
    [
        "a: 1\nb:\n- x\n- y: 2\n  z:\n  - 1\n...\n",
        "a: &x\n  b: 'c'\nc: *x\nd:\n- &y\n  - 1\n  - - 2\n    - q: |-\n        t\n\n         u\n- *y\n...\n",
        "a: |2\n    lead\n   x\nb: \"q\\n\"\n'on': ''\n...\n",
        "a:\n- b: |\n    x\n  c: []\n- d: &x\n  - {}\n...\n",
    ]
)


def by_libyaml(text: str) -> object:
    return read_events(iter(LOADER(text).get_event, None), LIMIT)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A text as we lay it out, in which something was put in, left out or moved."""
    text = draw(OURS)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES | st.just("")) + text[at + draw(st.integers(0, 3)) :]
    lines = text.split("\n")
    here, there = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[here], lines[there] = lines[there], lines[here]
    return "\n".join(lines)


@given(text=damaged() | st.lists(PIECES, max_size=12).map(lambda pieces: "".join(pieces) + "\n...\n"))
def test_what_is_read_is_what_libyaml_would_read(text: str) -> None:
    ours = read_lines(text, LIMIT)
    if ours is not None:
        assert repr(ours) == repr(by_libyaml(text))


LINES = st.text(st.sampled_from("ab \n\t:#'\"é\U0001f600"), max_size=12)
ORDINARY = st.dictionaries(TEXT | LINES, TREE | LINES | st.lists(LINES), min_size=1, max_size=4)


@given(tree=ORDINARY)
@example(tree={"code": "\n\n  a\n b\n\n"})
@example(tree={"code": ["a\n", "a\n\n", "\na", " a\nb"]})
@example(tree={"'": 1})
def test_what_we_have_written_is_read_as_it_was_or_left_to_libyaml(tree: Json) -> None:
    ours = read_lines(dump_yaml(tree, {}), EXPANDED_LIMIT)
    assert ours is None or repr(ours) == repr(tree)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "a",
            "on",
            "1",
            "a: b",
            "it's",
            "a\nb",
            "a\nb\n",
            "\n\na\n\n",
            " a\nb",
            "\x07\r",
            "\U0001f600\u200d",
            "-1",
        ),
        *(
            1,
            -1.5,
            True,
            None,
            10**60,
            [],
            {},
            [[]],
            [["a", {"b": [1]}], {"c": {}}],
            {"on": 1, "a b": {"c": 2}},
        ),
    ],
)
def test_ordinary_values_need_no_libyaml(value: Json) -> None:
    tree = {"body": value, "more": [value, {"last": value}]}
    assert repr(read_lines(dump_yaml(tree, {}), EXPANDED_LIMIT)) == repr(tree)


def test_an_alias_is_the_same_object() -> None:
    shared, nested = ["s", 1], [{"a": "b"}]
    tree = {"one": shared, "two": [nested, shared], "three": nested}
    text = dump_yaml(tree, {id(shared): "shared-1", id(nested): "nested-2"})
    read: Any = read_lines(text, EXPANDED_LIMIT)
    assert read == tree
    assert read["one"] is read["two"][1]
    assert read["three"] is read["two"][0]


def test_every_recording_here_is_read_without_libyaml_and_just_as_by_it() -> None:
    assert len(RECORDED) > 200
    for path in RECORDED[::7]:
        text = path.read_text("utf-8")
        ours = read_lines(text, EXPANDED_LIMIT)
        assert repr(ours) == repr(read_events(iter(LOADER(text).get_event, None), EXPANDED_LIMIT)), path


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_refused_is_not_read_here(text: str) -> None:
    assert read_lines(text, EXPANDED_LIMIT) is None


def bomb(levels: int) -> str:
    lines = ["x0: &x0", "- " + "lol" * 100]
    for level in range(1, levels):
        lines += [f"x{level}: &x{level}", *[f"- *x{level - 1}"] * 3]
    return "\n".join(lines) + "\n...\n"


def test_an_alias_bomb_is_left_to_the_one_who_refuses_it() -> None:
    assert read_lines(bomb(60), EXPANDED_LIMIT) is None
    with pytest.raises(CassetteError, match="the aliases unfold to more than 536870912 characters"):
        load_yaml(bomb(60))


@pytest.mark.parametrize("levels", range(2, 6))
def test_what_unfolds_to_too_much_is_never_read(levels: int) -> None:
    text = bomb(levels)
    enough = bisect_left(range(10**6), True, key=lambda limit: read_lines(text, limit) is not None)
    with pytest.raises(CassetteError, match="unfold"):
        load_yaml(text, expanded_limit=enough // 2)
    load_yaml(text, expanded_limit=enough)


def test_what_is_nested_too_deep_is_left_to_the_one_who_refuses_it() -> None:
    lines = [f"{'  ' * depth}a:" for depth in range(200)]
    text = "\n".join([*lines, f"{'  ' * 200}b: 1", "...", ""])
    assert read_lines(text, EXPANDED_LIMIT) is None
    with pytest.raises(CassetteError, match="nested deeper than 160 levels"):
        load_yaml(text)
