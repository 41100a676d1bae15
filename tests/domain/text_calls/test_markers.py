from __future__ import annotations

import pytest

from toolreel_core._text_calls import mark_at


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
