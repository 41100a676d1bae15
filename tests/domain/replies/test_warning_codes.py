from __future__ import annotations

import ast
from typing import get_args

from tests.architecture.source import DOMAIN, modules
from toolreel_core._replies import WORDS, WarningCode

CODES = get_args(WarningCode)


def test_every_code_has_its_words_and_no_words_are_without_a_code() -> None:
    assert list(WORDS) == list(CODES)
    assert len(set(CODES)) == len(CODES)


def test_the_words_are_one_sentence_for_each_code() -> None:
    for words in WORDS.values():
        assert words[0].isupper()
        assert words.endswith(".")
        assert "\n" not in words
    assert len(set(WORDS.values())) == len(WORDS)


def test_every_code_is_found_somewhere_in_the_core() -> None:
    """A code that nothing emits would be a promise that is not kept."""
    used = {
        node.value
        for module in modules(DOMAIN)
        if module.name != "toolreel_core._replies.reply"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
    }
    assert [code for code in CODES if code not in used] == []
