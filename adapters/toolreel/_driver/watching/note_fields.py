"""What of a note may be shown anywhere: names, counts and codes, never what a user or a model said."""

from __future__ import annotations

from dataclasses import fields
from typing import Final, TypeAlias

from toolreel_core._protocol import Note, tag

Field: TypeAlias = str | int | float | bool | tuple[str, ...]

CONTENT: Final = frozenset({"sample", "samples", "message", "error", "labels"})
"""Fields of notes that quote a message, an argument, an answer or an error."""


def name_of(note: Note) -> str:
    """The kind of a note.

    >>> from toolreel_core._protocol.notes import RetryPlanned
    >>> name_of(RetryPlanned(turn=1, attempt=2, ms=500))
    'retry_planned'
    """
    return tag(type(note))


def fields_of(note: Note) -> dict[str, Field]:
    """The fields of a note without content; those that are ``None`` are left out.

    >>> from toolreel_core._protocol.notes import CallRejected
    >>> fields_of(CallRejected(1, "c1", "stock", "INVALID_ARGUMENTS", "part: expected a text, got 7"))
    {'turn': 1, 'call_id': 'c1', 'name': 'stock', 'code': 'INVALID_ARGUMENTS'}
    """
    shown = [each.name for each in fields(note) if each.name not in CONTENT]
    return {name: value for name in shown if (value := getattr(note, name)) is not None}
