from __future__ import annotations

import re

import pytest

from toolreel_core._text_calls import MARKED, OPENERS, mark_at, trigger


def test_every_marked_dialect_has_an_opener() -> None:
    assert {dialect for opener in OPENERS.values() for dialect in opener.dialects} == set(MARKED)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("``", "ticks"),
        ("~~~", "tildes"),
        ("<!--", "comment"),
        ("\n  > so", "blockquote"),
        ("<think>", "think"),
        ("[THINK]", "think"),
        ("<tool_response>", "result"),
        ("✿RESULT✿", "result"),
        ("Observation: so", "result"),
        ("<tool_call>", "tool_call"),
        ("<TOOL_CALL>", "tool_call"),
        ("<|tool_call>", "gemma4"),
        ("<|tool_call|>", "pipes"),
        ("<|function_call|>", "gigachat"),
        ("function call<|role_sep|>", "gigachat"),
        ("<｜DSML｜invoke", "dsml"),
        ("<|DSML|invoke", "dsml"),
        ("to=functions.ping", "addressed"),
        ("functools[", "functools"),
        ("</tool_call>", "wrapper"),
        ("<｜tool▁calls▁begin｜>", "wrapper"),
        ("<|im_end|>", "special"),
        ("[e~[", "special"),
        ("<|im_start|>assistant", "special"),
        ("<|begin|>assistant", "special"),
        ("<｜hy_eos:opensource｜>", "special"),
        ("<answer:opensource>", "special"),
        ("<tool_response name='a'>", "result"),
        ("<think:opensource>", "think"),
        ("<|inner_prefix|>", "think"),
        ("<b>", None),
        ("<", None),
        ("[1]", None),
    ],
)
def test_a_mark_says_what_it_is(text: str, kind: str | None) -> None:
    found = mark_at(text, 0)
    assert (found.lastgroup if found else None) == kind
    if found:
        assert trigger(text).match(text)


def test_letters_are_looked_at_only_where_a_mark_begins_with_them() -> None:
    assert trigger("plain").search("to=functions.ping") is None
    assert re.compile(trigger("to=").pattern).search("so to=functions.ping")
