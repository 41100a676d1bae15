"""What a decoder makes of the text behind an opener.

:class:`Calls` and :class:`Broken` are what stands there, :class:`Frame` is what a message is wrapped
in, and ``None`` says that it is ordinary text: a marker that no well-formed call follows is prose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json, JsonText, canonical, read
from toolreel_core._text_calls.source import Source

__all__ = [
    "MAX_DEPTH",
    "Broken",
    "Calls",
    "Decoder",
    "Found",
    "Frame",
    "Reading",
    "Rejection",
    "found",
    "identity",
]

MAX_DEPTH = 64
"""Levels of nesting in the arguments of a call."""

Rejection: TypeAlias = Literal[
    "malformed", "truncated", "builtin_recipient", "fabricated_result", "quotation", "too_large"
]


@dataclass(frozen=True, slots=True)
class Found:
    """One call, as a decoder reads it."""

    name: str
    arguments: JsonText
    dialect: str
    id: str = ""
    """The id that the model gave the call, which some chat templates want back."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls stand here."""

    calls: tuple[Found, ...]
    end: int
    broken: tuple[Rejection, ...] = ()
    """What was wrong with their siblings in the same block."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What should have been a call stands here."""

    why: Rejection
    end: int
    """Where its debris ends."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Part of what a message is wrapped in stands here; it is no part of the visible text."""

    end: int
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()


Reading: TypeAlias = Calls | Broken | Frame | None

Decoder: TypeAlias = Callable[[Source, int, int], Reading]
"""Reads what follows the opener that stands between two places."""


def found(name: str, arguments: Mapping[str, Json], dialect: str, call_id: Json = None) -> Found | None:
    """A call, if its name and arguments can be those of one.

    The arguments are read anew from canonical text, so that they are held to the same rules as
    structured ones: no infinite numbers, no lone surrogates, no bottomless nesting.
    """
    try:
        sound = read(canonical(arguments), max_depth=MAX_DEPTH).map(canonical).value_or(None)
    except (ValueError, RecursionError):
        return None
    if sound is None or not name:
        return None
    return Found(name, sound, dialect, identity(call_id))


def identity(call_id: Json) -> str:
    """The id of a call as text; empty if a value is none."""
    return str(call_id).strip() if isinstance(call_id, (str, int)) and not isinstance(call_id, bool) else ""
