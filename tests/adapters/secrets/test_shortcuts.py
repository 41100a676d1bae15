"""The shortcuts of the scan find exactly what it finds without them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.secrets.planted import INNOCENT, KINDS
from tests.adapters.secrets.slow_scan import slow_body_texts, slow_leaks, slow_line_texts
from toolreel._secrets import (
    EMAIL,
    SHAPES,
    SecretRules,
    body_texts,
    leaks,
    leaks_at,
    line_texts,
    read_rules,
    tree_texts,
)

KNOWN = {"STAFF": "quiet-horse/ÄB 17", "PIN": "1234 5678"}
RULES = SecretRules(shapes=(*SHAPES, EMAIL))
_WORDS = ([
    *(planted.text for planted in KINDS.values()),
    *(planted.text.swapcase() for planted in KINDS.values()),
    *(planted.secret for planted in KINDS.values()),
    *(planted.before for planted in KINDS.values()),
    *(text for text in INNOCENT if len(text) < 1_000),
    *KNOWN.values(),
    *(f"EMP-{number}" for number in (1, 123456)),
    *("api_key", "password", "token", "\0", "\u017fk-", "\u212aey: ", "\\u0073k-", "\\", '"', "\n", "Σ", "ß"),
])  # fmt: skip
WORDS = st.integers(0, len(_WORDS) - 1).map(_WORDS.__getitem__)
"""Whole secrets, what surrounds them, halves of them, and characters that lower-casing or JSON change."""
TEXTS = st.one_of(st.lists(WORDS | st.text(max_size=8), max_size=4).map("".join), st.text(max_size=30))
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.sampled_from(["api_key", "password"]), inner, max_size=3)
        | st.fixed_dictionaries({"data": TEXTS, "format": TEXTS})
        | st.fixed_dictionaries({"blob": TEXTS, "base64": TEXTS})
        | inner.map(json.dumps)
        | inner.map(lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    ),
    max_leaves=8,
)
KNOWNS = st.sampled_from([{}, KNOWN])
RULE_SETS = st.sampled_from(
    [
        SecretRules(),
        RULES,
        SecretRules(allowed=("sk-*", "quiet*")),
    ]
)


@given(VALUES, KNOWNS, RULE_SETS, st.booleans())
def test_a_line_has_the_leaks_that_each_of_its_texts_has(
    value: object, known: Mapping[str, str], rules: SecretRules, spaced: bool
) -> None:
    line = json.dumps(value, separators=None if spaced else (",", ":"), ensure_ascii=spaced)
    expected = [*slow_leaks(slow_line_texts(line), known, rules)]
    assert [*leaks_at(line_texts(line), known, rules)] == expected


@given(VALUES, KNOWNS)
def test_so_has_a_body(value: object, known: Mapping[str, str]) -> None:
    body = json.dumps(value).encode()
    assert [*leaks_at(body_texts("body", body), known, RULES)] == [
        *slow_leaks(slow_body_texts("body", body), known, RULES)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_found_wherever_it_stands_among_others(kind: str) -> None:
    text = KINDS[kind].text
    for texts in ([text], ["word", text, "word"], [*INNOCENT, text, *INNOCENT]):
        found = leaks_at((("", one) for one in texts), {})
        assert {leak.kind for _, leak in found} == {leak.kind for leak in leaks(text, {})} != set()


def test_a_pattern_of_a_project_may_ask_for_the_end_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[patterns]\n"staff number" = "\\\\AEMP-[0-9]{6}\\\\Z"\n', encoding="utf-8")
    rules = read_rules(path)
    ((place, leak),) = leaks_at(tree_texts(["one", "EMP-123456", "two"]), {}, rules)
    assert (place, leak.kind) == ("[1]", "staff number")
