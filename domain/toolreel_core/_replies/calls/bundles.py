"""Bundles: one call of ``multi_tool_use.parallel`` that holds several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import NOTHING, ArgumentRepairs, Json, JsonText, canonical, parse
from toolreel_core._replies.calls.arguments import read_arguments
from toolreel_core._replies.calls.call_ids import native_id
from toolreel_core._replies.calls.call_location import CallEntry
from toolreel_core._replies.calls.call_names import meant_name

_BUNDLES: Final = frozenset({"multi_tool_use.parallel", "multi_tool_use_parallel"})


def unbundled(
    entry: CallEntry, known: Collection[str], *, max_depth: int, repairs: ArgumentRepairs = "safe"
) -> tuple[CallEntry, ...]:
    """The calls of an entry: itself, or the calls that it bundles.

    >>> uses = '{"tool_uses": [{"recipient_name": "functions.ping", "parameters": {}}]}'
    >>> unbundled(CallEntry("call_a", "multi_tool_use.parallel", uses), [], max_depth=64)[0].id
    'call_a_0'
    """
    name, _ = meant_name(entry.name, _BUNDLES)
    if name not in _BUNDLES or name in known:
        return (entry,)
    bundled = read_arguments(entry.arguments, max_depth=max_depth, repairs=repairs)
    tree = parse(bundled.value) if isinstance(bundled.value, JsonText) else None
    uses = tree.get("tool_uses") if isinstance(tree, Mapping) else None
    if not isinstance(uses, Sequence) or isinstance(uses, str):
        return (entry,)
    identity, codes = native_id(entry.id)
    codes = ("MULTI_TOOL_USE_EXPANDED", *entry.codes, *codes, *bundled.warnings)
    bundle = replace(entry, id=identity, codes=codes)
    calls = [_bundled_call(bundle, place, use) for place, use in enumerate(uses)]
    whole = [call for call in calls if call is not None]
    # All or nothing: if one use cannot be read, none runs and the model gets an error for the bundle.
    return tuple(whole) if whole and len(whole) == len(calls) else (entry,)


def _bundled_call(entry: CallEntry, place: int, use: Json) -> CallEntry | None:
    name = use.get("recipient_name") if isinstance(use, Mapping) else None
    if not isinstance(use, Mapping) or not isinstance(name, str) or not name.strip():
        return None
    parameters = use.get("parameters")
    return replace(
        entry,
        id=f"{entry.id}_{place}" if entry.id else None,
        name=name,
        arguments=canonical(parameters) if isinstance(parameters, Mapping) else parameters,
        # Opaque fields belong to the entry; sent twice, a signature would be rejected.
        carry=NOTHING if place else entry.carry,
    )
