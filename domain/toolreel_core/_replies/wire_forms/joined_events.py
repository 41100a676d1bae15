"""What the events of a streamed reply say so far: the part that Responses and Messages have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from toolreel_core._jsontext import Json, Tree, sound
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._replies.wire_forms.assembly import Assembly

_Events = TypeVar("_Events", bound="JoinedEvents")


@dataclass(frozen=True, slots=True)
class JoinedEvents:
    """Events that were joined."""

    head: Mapping[str, Json] = field(default_factory=dict)
    """Fields of the reply, without its blocks or items."""
    assembly: Assembly = field(default_factory=Assembly)
    """The blocks or items."""
    failure: Json = None
    """The error that the stream reported."""
    complete: bool = False
    """Whether the reply has ended."""
    over: bool = False
    """Whether the rest can be ignored."""

    def failed(self: _Events, event: Tree) -> _Events:
        """After an event that reports an error."""
        return replace(self, failure=event.get("error") or event, over=True)

    def has(self, kind: str) -> bool:
        """Whether there is a value of a type."""
        return any(value.get("type") == kind for value in self.assembly.values())

    def announced(self, kind: str, name: str, id_: Json) -> tuple[Delta, ...]:
        """What to display of a call that begins."""
        number = self.assembly.before(self.assembly.latest, kind)
        return (Delta("tool_call", sound(name), number, id_ if isinstance(id_, str) else "", sound(name)),)

    def arguments(self, kind: str, text: str) -> tuple[Delta, ...]:
        """What to display of a piece of a call's arguments."""
        return (Delta("tool_call", sound(text), self.assembly.before(self.assembly.latest, kind)),)
