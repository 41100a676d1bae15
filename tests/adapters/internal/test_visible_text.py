from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel._internal import printable_json, printable_text

UNSEEN = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and chr(code) not in "\n\t"
]
FURTHER = ["\u034f", "\u115f", "\u2800", "\u3164", "\ufe00", "\U000e0100"]
"""Letters and marks without anything to see."""


def test_every_control_and_format_character_is_spelt_out() -> None:
    for character in [*UNSEEN, *FURTHER]:
        shown = printable_text(f"a{character}b")
        assert shown.isprintable(), hex(ord(character))
        assert shown.encode().decode("unicode_escape") == f"a{character}b"


@given(st.text(st.characters() | st.sampled_from([*UNSEEN, *FURTHER])))
def test_shown_text_is_as_it_was_or_spelt_out_and_shown_again_the_same(text: str) -> None:
    shown = printable_text(text)
    assert printable_text(shown) == shown
    assert not {*shown} & {*UNSEEN}


@given(st.recursive(st.text(st.characters() | st.sampled_from(UNSEEN)), st.lists))
def test_json_means_the_same_and_has_nothing_unseen(value: object) -> None:
    for indent in (None, 2):
        text = printable_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(text) == value
        assert not {*text} & {*UNSEEN}


@pytest.mark.parametrize("text", ["größer 🙂", "☀️ ❤️", "日本語", "שלום", "a\tb\nc", "é", "\u00a0"])
def test_what_can_be_seen_stays(text: str) -> None:
    assert printable_text(text) == printable_json(text) == text
