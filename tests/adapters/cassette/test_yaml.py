from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel._internal import CassetteError
from toolreel.cassette import _yaml as cassette_yaml
from toolreel.cassette import dump_yaml, load_yaml
from toolreel_core._jsontext import Json

ODD = (
    "\t\r\n \x00\x07\x1b\x7f\x85\xa0\u2028\u2029\ufeff\ufffe\uffff\U0001f600"
    "\U0010ffff'\"\\#:-?&*!|>%@`{}[],~=<yn0189._eé漢"
)
TEXT = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "",
        "- a",
        *[
            "yes",
            "no",
            "null",
            "~",
            "1e5",
            "0x1F",
            "1_000",
            "1:30",
            "2024-01-01",
            "=",
            "<<",
            "...",
            "---",
            ".nan",
        ],
    ]
)
TREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(tree=TREE)
def test_every_json_value_comes_back_from_yaml(tree: Json) -> None:
    assert json.dumps(load_yaml(dump_yaml({"body": tree}, {}))) == json.dumps({"body": tree})


@pytest.mark.parametrize(("text", "written"), worked("texts of several lines", "cassettes"))
def test_texts_of_several_lines_are_blocks_if_nothing_has_to_be_escaped(text: str, written: str) -> None:
    assert dump_yaml({"k": text}, {}) == f"k: {written}...\n"


def test_an_anchor_is_written_only_where_a_value_stands_twice() -> None:
    shared, alone = ["s"], ["s"]
    text = dump_yaml([shared, shared, alone, alone], {id(shared): "shared-1"})
    assert text == "- &shared-1\n  - s\n- *shared-1\n- - s\n- - s\n...\n"
    loaded = load_yaml(text)
    assert isinstance(loaded, list)
    assert loaded[0] is loaded[1]


def test_what_is_no_plain_value_is_not_written() -> None:
    with pytest.raises(CassetteError, match="cannot be written as YAML"):
        dump_yaml([object()], {})


DEEP = 100_000
HOSTILE: dict[str, str] = {
    **dict(worked("a hostile or broken text", "cassettes")),
    "[" * DEEP + "\n...\n": "nested deeper than 160 levels",
    "- " * DEEP + "\n...\n": "nested deeper than 160 levels",
}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_or_broken_text_is_refused(text: str) -> None:
    with pytest.raises(CassetteError) as caught:
        load_yaml(text)
    assert HOSTILE[text] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("open_and_close", ["[]", "{}"])
def test_an_alias_bomb_is_refused_without_unfolding_it(open_and_close: str) -> None:
    before, after = open_and_close[0], open_and_close[1]
    keys = ["", "", ""] if before == "[" else ["a: ", "b: ", "c: "]
    lines = ["x0: &x0 " + "lol" * 100]
    for level in range(1, 60):
        inside = ", ".join(f"{key}*x{level - 1}" for key in keys)
        lines.append(f"x{level}: &x{level} {before}{inside}{after}")
    with pytest.raises(CassetteError, match="more than 536870912 characters with its aliases unfolded"):
        load_yaml("\n".join(lines) + "\n...\n")


def test_a_text_above_the_limit_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette_yaml, "TEXT_LIMIT", 10)
    with pytest.raises(CassetteError, match="larger than 10 characters"):
        load_yaml("!" * 11)


def test_a_checkout_with_other_line_ends_or_without_the_last_one_is_read() -> None:
    assert load_yaml("a: |-\r\n  b\r\n  c\r\n...\r\n") == {"a": "b\nc"}
    assert load_yaml("a: 1\n...") == {"a": 1}


@pytest.mark.parametrize("package", ["yaml", "vcr"])
def test_without_the_extra_a_name_says_which(package: str) -> None:
    program = f"import sys; sys.modules['{package}'] = None; from toolreel.cassette import export_cassette"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    said = f"{package} is not installed: it comes with the extra 'record', pip install 'toolreel[record]'"
    assert done.stderr.endswith(f"MissingExtra: {said}\n")
