"""One line of the list: a recording, an evaluation or a durable run, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from toolreel._internal.pages.embedded_data import visible
from toolreel_core._jsontext.canonical import Json

Kind: TypeAlias = Literal["recording", "evaluation", "durable"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is only known once an entry has been read."""

    state: str
    """The outcome, or what it is doing."""
    model: str = ""
    turns: int | None = None
    calls: int | None = None
    tokens: int | None = None
    cost: str = ""
    note: str = ""
    """What else there is to say, such as why it cannot be read."""


_FACTS: Final = tuple(each.name for each in fields(Facts))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list."""

    kind: Kind
    name: str
    """Its path within the directory, without the ending; of a durable run its id."""
    modified_ms: int
    size: int | None
    """Bytes of its journal or cassette; ``None`` of a durable run."""
    facts: Facts | None = None
    """``None`` while it has not been read."""

    @property
    def key(self) -> str:
        """Names it in addresses; the server looks it up, and never makes a path of it."""
        return f"{self.kind}:{self.name}"

    def tree(self) -> list[Json]:
        """As JSON, with all that is unseen spelt out but in the key; a list, as there may be ten thousand."""
        head: list[Json] = [self.key, self.kind, visible(self.name), self.modified_ms, self.size]
        facts = self.facts
        if facts is None:
            return head
        return [
            *head,
            visible([getattr(facts, name) for name in _FACTS]),
        ]
