"""Each text of each note is known to be a name or a code, or it is content and shown nowhere."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from toolreel._driver import CONTENT
from toolreel_core._protocol import Note, notes

NAMES = frozenset({
    "after", "before", "call_id", "code", "codes", "digest", "endpoint", "failure", "finish", "key", "name",
    "names", "outcome", "policies", "problem", "provenance", "upstream", "why",
})  # fmt: skip
"""Fields that hold a name, a code or a digest."""


@pytest.mark.parametrize("kind", get_args(Note))
def test_every_text_of_a_note_is_a_name_or_content(kind: type) -> None:
    hints = get_type_hints(kind, {**vars(notes)})
    texts = {
        field.name
        for field in fields(kind)
        if "str" in str(hints[field.name]) or "Literal" in str(hints[field.name])
    }
    assert texts <= NAMES | CONTENT, "say in note_fields.py or here what it is"


def test_every_field_named_as_content_exists() -> None:
    there = {field.name for kind in get_args(Note) for field in fields(kind)}
    assert (CONTENT | NAMES) - there == frozenset()
