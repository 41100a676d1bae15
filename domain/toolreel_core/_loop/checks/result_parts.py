"""Images, audio and files that a tool gave: what of them the model gets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolreel_core._conversation import Media, blobs_of, is_taken, left_out
from toolreel_core._protocol import PartsLeftOut, State
from toolreel_core._replies import ToolCall
from toolreel_core._tools import Envelope, failed, parts_too_large


@dataclass(frozen=True, slots=True)
class PartsTaken:
    """A result and the parts that go with it."""

    result: Envelope
    """With a warning for each part that the provider does not take; failed if there is too much."""
    parts: tuple[Media, ...]
    notes: tuple[PartsLeftOut, ...]


def parts_taken(state: State, call: ToolCall, result: Envelope, parts: tuple[Media, ...]) -> PartsTaken:
    """What the model gets of the parts of a result."""
    limit, size = state.present.config.max_tool_parts_bytes, sum(blob.size for blob in blobs_of(parts))
    if size > limit:
        return PartsTaken(failed(call.name, parts_too_large(call.name, size, limit)), (), ())
    provider = state.present.provider
    taken = tuple([part for part in parts if is_taken(part, provider)])
    if len(taken) == len(parts):
        return PartsTaken(result, parts, ())
    lost = [part for part in parts if not is_taken(part, provider)]
    told = replace(result, warnings=(*result.warnings, *[left_out(part, provider) for part in lost]))
    note = PartsLeftOut(state.tally.turns, call.id, call.name, tuple([part.label for part in lost]))
    return PartsTaken(told, taken, (note,))
