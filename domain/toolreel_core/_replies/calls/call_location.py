"""Find the tool calls of a message, in the documented place or in one of the known others.

Shapes: openai/codex#13114, ollama/ollama#14656, koog#2095.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import NOTHING, Json, JsonText, in_order, read
from toolreel_core._replies.provider_fields import of_call
from toolreel_core._replies.warning_codes import WarningCode

Oddity: TypeAlias = Literal["CALL_WITHOUT_NAME", "UNSUPPORTED_CALL_TYPE"]
"""Why an entry that was intended as a call is not one."""

_NO_ENTRY: Final[Mapping[str, Json]] = {}
_WRAPPERS: Final = ("function", "functionCall", "function_call")
_ARGUMENTS: Final = ("arguments", "input", "parameters", "args")
_MARKS: Final = frozenset({*_WRAPPERS, "custom", "name", "type", "id"})
"""Keys of an entry; an object without any of them holds entries by name or number."""


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call before its name, id and arguments are normalised."""

    id: Json
    name: str
    """Not blank, otherwise unchanged."""
    arguments: Json
    provenance: str = "structured"
    carry: JsonText = NOTHING
    codes: tuple[WarningCode, ...] = ()
    """Warnings about its shape and place."""


@dataclass(frozen=True, slots=True)
class EntriesFound:
    """The entries of a message, in order."""

    entries: tuple[CallEntry, ...] = ()
    codes: tuple[WarningCode, ...] = ()
    """Warnings about their place, and about entries that were skipped."""
    oddities: tuple[Oddity, ...] = ()
    """Why entries that were intended as calls were skipped."""


def entries_in(
    message: Mapping[str, Json], *, outside: Iterable[Json] = (), parts: Sequence[Json] = ()
) -> EntriesFound:
    """The calls of a message from the first place that has any; other places repeat them.

    >>> entries_in({"function_call": {"name": "ping", "arguments": "{}"}}).entries[0].provenance
    'legacy'
    """
    found = _listed(message.get("tool_calls"))
    for misplaced in outside:
        if not found.entries and misplaced:
            found = _joined(found, _marked(_listed(misplaced), "TOOL_CALLS_MISPLACED"))
    if parts:
        found = _joined(found, _marked(_bare(_entries(parts)), "CALLS_IN_CONTENT_PARTS"))
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and any(legacy.values()):
        found = _joined(found, _marked(_legacy(legacy), "LEGACY_FUNCTION_CALL"))
    return found


def _joined(first: EntriesFound, second: EntriesFound) -> EntriesFound:
    """The first; if it has no entries, the second with the warnings of both."""
    codes = (*first.codes, *second.codes)
    if first.entries:
        return replace(first, codes=codes)
    return EntriesFound(second.entries, codes, (*first.oddities, *second.oddities))


def _marked(found: EntriesFound, code: WarningCode) -> EntriesFound:
    entries = tuple(replace(entry, codes=(code, *entry.codes)) for entry in found.entries)
    return EntriesFound(entries, (code, *found.codes), found.oddities)


def _bare(found: EntriesFound) -> EntriesFound:
    """Entries that need no ``function`` wrapper, as parts of a content (Anthropic's shape)."""
    codes = tuple(code for code in found.codes if code != "MISSING_FUNCTION_WRAPPER")
    return replace(found, entries=tuple(replace(entry, codes=()) for entry in found.entries), codes=codes)


def _legacy(call: Mapping[str, Json]) -> EntriesFound:
    found = _entries([{"function": call}])
    legacy = tuple(replace(entry, provenance="legacy") for entry in found.entries)
    return replace(found, entries=legacy)


def _listed(value: Json) -> EntriesFound:
    """The entries of ``tool_calls``: a list, or an object or JSON text that some servers send."""
    if value is None:
        return EntriesFound()
    if isinstance(value, str):
        return _of_text(value) if value.strip() else EntriesFound()
    if isinstance(value, dict):
        return _marked(_entries(_flat(_by_index(value))), "TOOL_CALLS_NOT_LIST")
    if isinstance(value, list):
        nested = any(isinstance(item, list) for item in value)
        return _marked(_entries(_flat(value)), "TOOL_CALLS_NOT_LIST") if nested else _entries(value)
    return EntriesFound(codes=("TOOL_CALLS_NOT_LIST",))


def _of_text(text: str) -> EntriesFound:
    tree = read(text).value_or(None)
    if isinstance(tree, dict | list):
        found = _listed(tree)
        return found if "TOOL_CALLS_NOT_LIST" in found.codes else _marked(found, "TOOL_CALLS_NOT_LIST")
    return EntriesFound(codes=("TOOL_CALLS_NOT_LIST", "CALL_ENTRY_INVALID"))


def _flat(value: Json) -> Iterable[Json]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _by_index(value: Mapping[str, Json]) -> list[Json]:
    """One entry, or the values of an object in the order of its numeric keys."""
    if not value.keys().isdisjoint(_MARKS):
        return [value]
    return [*(in_order(value) or value).values()]


def _entries(values: Iterable[Json]) -> EntriesFound:
    entries: list[CallEntry] = []
    codes: list[WarningCode] = []
    oddities: list[Oddity] = []
    for value in values:
        if not isinstance(value, dict):
            codes.append("CALL_ENTRY_INVALID")
            continue
        entry = _entry(value)
        if isinstance(entry, CallEntry):
            entries.append(entry)
        else:
            oddities.append(entry)
    codes.extend(oddities)
    for entry in entries:
        codes.extend(entry.codes)
    return EntriesFound(tuple(entries), tuple(codes), tuple(oddities))


def _entry(value: Mapping[str, Json]) -> CallEntry | Oddity:
    function = _function(value)
    if not function and _is_custom(value):
        return "UNSUPPORTED_CALL_TYPE"
    names = [name for place in (function, value) if _is_name(name := place.get("name"))]
    if not names:
        return "CALL_WITHOUT_NAME"
    # In the shape of the Responses API the result goes back under `call_id`; `id` is that of the item.
    identity = value.get("call_id") or value.get("id", function.get("id"))
    carry = of_call(value, function)
    own_name = value.get("function") is function and _is_name(function.get("name"))
    if own_name and _own_arguments(function, value):
        return CallEntry(identity, str(names[0]), function.get("arguments"), _provenance(value), carry)
    found = (place.get(key) for place in (function, value) for key in _ARGUMENTS)
    arguments = next((each for each in found if each is not None), None)
    return CallEntry(
        identity, str(names[0]), arguments, _provenance(value), carry, codes=("MISSING_FUNCTION_WRAPPER",)
    )


def _is_name(name: Json) -> bool:
    return isinstance(name, str) and bool(name.strip())


def _provenance(value: Mapping[str, Json]) -> str:
    """The provenance of an entry: response transforms that read calls from text set it."""
    given = value.get("provenance")
    return given if isinstance(given, str) and given.startswith("text:") else "structured"


def _function(value: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in _WRAPPERS:
        function = value.get(key)
        if isinstance(function, dict):
            return function
    return _NO_ENTRY


def _is_custom(value: Mapping[str, Json]) -> bool:
    kind = value.get("type")
    return isinstance(value.get("custom"), dict) or (isinstance(kind, str) and kind.lower() == "custom")


def _own_arguments(function: Mapping[str, Json], value: Mapping[str, Json]) -> bool:
    """Whether the arguments are in the function object, or missing everywhere."""
    if function.get("arguments") is not None:
        return True
    return all(place.get(key) is None for place in (function, value) for key in _ARGUMENTS)
