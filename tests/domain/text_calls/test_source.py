from __future__ import annotations

import re

from tests.domain.text_calls.asking import OFFERED, source
from toolreel_core._text_calls.source import Source

A = re.compile("a+")


def test_places_are_found_from_anywhere_in_any_order() -> None:
    text = source("xaxxaax")
    for start in (0, 1, 2, 5, 6, 7, 0, 3):
        found, expected = text.search(A, start), A.search(text.text, start)
        assert (found and found.span()) == (expected and expected.span())


def test_a_call_is_named_after_a_dialect_that_is_enabled() -> None:
    text = Source("", OFFERED, frozenset({"glm_xml"}), cut=False)
    assert text.prefer("hermes_json", "glm_xml") == "glm_xml"
    assert text.prefer("hermes_json", "qwen_xml") == "hermes_json"
