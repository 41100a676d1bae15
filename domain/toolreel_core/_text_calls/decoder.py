"""Results of decoding the text after an opener.

:class:`Calls` and :class:`Broken` are calls and failed calls, :class:`Frame` is a message header, and
``None`` is ordinary text: a marker without a well-formed call after it is prose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json, JsonText, canonical, read
from toolreel_core._text_calls.source import Source

MAX_DEPTH = 64
"""Levels of nesting in the arguments of a call."""

Rejection: TypeAlias = Literal[
    "malformed", "truncated", "builtin_recipient", "fabricated_result", "quotation", "too_large"
]


@dataclass(frozen=True, slots=True)
class Found:
    """One decoded call."""

    name: str
    arguments: JsonText
    dialect: str
    id: str = ""
    """The id written by the model, which some chat templates need back."""


@dataclass(frozen=True, slots=True)
class Calls:
    """One or more calls."""

    calls: tuple[Found, ...]
    end: int
    broken: tuple[Rejection, ...] = ()
    """Why other calls of the same block were rejected."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A call that could not be read."""

    why: Rejection
    end: int
    """The end of its debris."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Part of a message header or trailer, which is not visible text."""

    end: int
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()


Reading: TypeAlias = Calls | Broken | Frame | None

Decoder: TypeAlias = Callable[[Source, int, int], Reading]
"""Decodes the text after the opener at ``start:end``."""


def found(name: str, arguments: Mapping[str, Json], dialect: str, call_id: Json = None) -> Found | None:
    """A call, or ``None`` if its name or arguments are invalid.

    The arguments are parsed again from canonical text, so that the rules for structured calls apply to them:
    no infinite numbers, no lone surrogates, limited nesting.
    """
    try:
        sound = read(canonical(arguments), max_depth=MAX_DEPTH).map(canonical).value_or(None)
    except (ValueError, RecursionError):
        return None
    if sound is None or not name:
        return None
    return Found(name, sound, dialect, identity(call_id))


def identity(call_id: Json) -> str:
    """The id of a call as text; empty if the value cannot be an id."""
    return str(call_id).strip() if isinstance(call_id, (str, int)) and not isinstance(call_id, bool) else ""
