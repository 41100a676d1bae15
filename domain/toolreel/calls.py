"""Tool calls as a reply carries them, brought into one form.

Shape drift that is absorbed here: one object instead of a list, the legacy
``function_call``, arguments as an object, null or blank, and missing ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from toolreel.arguments import Arguments, read_arguments
from toolreel.jsontext import Json

__all__ = ["CallsRead", "ToolCall", "read_calls"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model wants."""

    id: str
    """The provider's own id, or ``call_<turn>_<number>`` where it gave none; unique in its message."""
    name: str
    arguments: Arguments
    original: str
    """The arguments as the model wrote them."""
    provenance: str = "structured"
    """Where it stood: ``structured``, ``legacy`` or ``text:<dialect>``."""


@dataclass(frozen=True, slots=True)
class CallsRead:
    """The calls of one message, in order."""

    calls: tuple[ToolCall, ...]
    warnings: tuple[str, ...]
    """Codes of what was mended or passed over on the way."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call entry before its arguments are read."""

    id: Json
    name: Json
    arguments: Json
    provenance: str


def read_calls(message: Mapping[str, Json], *, turn: int, max_depth: int) -> CallsRead:
    """The structured calls of an assistant message.

    >>> message = {"function_call": {"name": "ping", "arguments": ""}}
    >>> read_calls(message, turn=2, max_depth=64).calls
    (ToolCall(id='call_2_0', name='ping', arguments='{}', original='', provenance='legacy'),)
    """
    entries, warnings = _entries(message)
    calls: list[ToolCall] = []
    for entry in entries:
        taken = {call.id for call in calls}
        call, found = _call(entry, _fresh_id(turn, len(calls), taken), taken, max_depth)
        warnings += found
        calls += call
    return CallsRead(tuple(calls), tuple(dict.fromkeys(warnings)))


def _entries(message: Mapping[str, Json]) -> tuple[list[_Entry], list[str]]:
    match message.get("tool_calls"):
        case Mapping() as single:
            entries, warnings = _structured([single])
            return entries, ["TOOL_CALLS_NOT_LIST", *warnings]
        case str():
            entries, warnings = [], ["TOOL_CALLS_NOT_LIST"]
        case Sequence() as several:
            entries, warnings = _structured(several)
        case _:
            entries, warnings = [], []
    match message.get("function_call"):
        case Mapping() as legacy if not entries:
            entry = _Entry(None, legacy.get("name"), legacy.get("arguments"), "legacy")
            return [entry], [*warnings, "LEGACY_FUNCTION_CALL"]
        case _:
            return entries, warnings


def _structured(values: Sequence[Json]) -> tuple[list[_Entry], list[str]]:
    entries: list[_Entry] = []
    warnings: list[str] = []
    for value in values:
        if isinstance(value, Mapping) and isinstance(function := value.get("function"), Mapping):
            name, arguments = function.get("name"), function.get("arguments")
            entries.append(_Entry(value.get("id"), name, arguments, "structured"))
        else:
            warnings.append("CALL_ENTRY_INVALID")
    return entries, warnings


def _call(entry: _Entry, fallback: str, taken: set[str], max_depth: int) -> tuple[list[ToolCall], list[str]]:
    if not isinstance(entry.name, str) or not entry.name.strip():
        return [], ["CALL_WITHOUT_NAME"]
    name = entry.name.strip()
    identity, warnings = _identity(entry.id, fallback, taken)
    if name != entry.name:
        warnings.append("NAME_NORMALIZED")
    arguments = read_arguments(entry.arguments, max_depth=max_depth)
    call = ToolCall(identity, name, arguments.value, arguments.original, entry.provenance)
    return [call], [*warnings, *arguments.warnings]


def _fresh_id(turn: int, index: int, taken: set[str]) -> str:
    candidates = (f"call_{turn}_{number}" for number in count(index))
    return next(candidate for candidate in candidates if candidate not in taken)


def _identity(given: Json, fallback: str, taken: set[str]) -> tuple[str, list[str]]:
    if given is None or given == "":
        return fallback, ["CALL_ID_MISSING"]
    warnings = [] if isinstance(given, str) else ["CALL_ID_NOT_STRING"]
    if isinstance(given, bool) or not isinstance(given, str | int):
        return fallback, warnings
    identity = str(given)
    return (fallback, [*warnings, "CALL_ID_DUPLICATE"]) if identity in taken else (identity, warnings)
