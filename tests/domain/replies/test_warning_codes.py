from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from tests.architecture.source import DOMAIN, modules
from toolreel_core._replies import (
    ERROR_WORDS,
    PROBLEM_WORDS,
    WARNING_SENTENCES,
    ArgumentErrorCode,
    ProblemCode,
    WarningCode,
)

CODES = get_args(WarningCode)


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (WARNING_SENTENCES, CODES),
        (PROBLEM_WORDS, get_args(ProblemCode)),
        (ERROR_WORDS, get_args(ArgumentErrorCode)),
    ],
)
def test_every_code_has_a_sentence_of_its_own(words: Mapping[str, str], codes: tuple[str, ...]) -> None:
    assert tuple(words) == codes
    assert len({*words.values()}) == len(words)


def test_every_code_is_found_somewhere_in_the_core() -> None:
    """A code that nothing emits would be a promise that is not kept."""
    others = [module for module in modules(DOMAIN) if module.name != "toolreel_core._replies.warning_codes"]
    source = "".join(module.path.read_text("utf-8") for module in others)
    assert [code for code in CODES if f'"{code}"' not in source] == []
