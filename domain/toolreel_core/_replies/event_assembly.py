"""Pieces of a stream, put in the places of the values that they belong to.

Servers say by an index, by an id or not at all which value they mean. Gateways count wrong: a call begins at
the index of the text before it (teabranch/open-responses-server#63), so an index means the value that was
begun there last, and another value at the same index gets a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from pyrsistent import PMap, PVector, pmap, pvector

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, sound
from toolreel_core._replies.stream import Delta

_SAME: Final = ("type", "id")
"""What tells a value that begins from another one at the same index."""
_LONGEST: Final = 10
"""Digits from which a number sent as text is ignored."""


class Piece(NamedTuple):
    """A part of a text of a value."""

    place: int
    key: str
    part: int
    """The number of the text, where a value has several of a kind."""
    text: str


_NO_VALUES: PMap[int, Tree] = pmap()
_NO_PIECES: PVector[Piece] = pvector()
_NO_PLACES: PMap[int | str, int] = pmap()


@dataclass(frozen=True, slots=True)
class Assembly:
    """The blocks or items of a reply while they arrive.

    >>> at = Assembly().open({"type": "text"}, 0)
    >>> [*at.add(0, "text", "Hel").add(0, "text", "lo").values()]
    [{'type': 'text', 'text': 'Hello'}]
    """

    begun: PMap[int, Tree] = field(default=_NO_VALUES)
    """What a value begins with, by its place."""
    pieces: PVector[Piece] = field(default=_NO_PIECES)
    places: PMap[int | str, int] = field(default=_NO_PLACES)
    """The place that an index or an id means at present."""
    closed: frozenset[int] = frozenset()
    """Indexes whose value has ended, so that another one may begin there."""
    latest: int = 0
    """The place of the newest event, for servers that leave out which they mean."""

    def open(self, value: Tree, index: int | None, names: Sequence[str] = ()) -> Assembly:
        """With the value that begins at an index; begun again, it loses its pieces.

        :param names: ids of the value
        """
        place = self.place(None, names)
        if place is None:
            known = None if index is None else self.places.get(index)
            if index is None or (known is None and index in self.begun):
                place = self.free()
            elif known is None:
                place = index
            else:
                # The same value begins again, as far as its type and its id say, or another one.
                was = self.begun[known]
                same = all(
                    not _has_text(was.get(key)) or was.get(key) == value.get(key, was.get(key))
                    for key in _SAME
                )
                place = known if index not in self.closed and same else self.free()
        again = place in self.begun
        kept = pvector(piece for piece in self.pieces if piece.place != place) if again else self.pieces
        keys = [*names, *([] if index is None else [index])]
        return replace(
            self,
            begun=self.begun.set(place, value),
            pieces=kept,
            places=self.places.update(dict.fromkeys(keys, place)),
            closed=self.closed - {index},
            latest=place,
        )

    def close(self, index: int | None) -> Assembly:
        """With a value that has ended."""
        return self if index is None else replace(self, closed=self.closed | {index})

    def place(self, index: int | None, names: Sequence[str] = ()) -> int | None:
        """The place that an id or else an index means; ``None`` if nothing was begun there."""
        found = (self.places.get(key) for key in (*names, *(() if index is None else (index,))))
        return next((place for place in found if place is not None), None)

    def merged(self, place: int, value: Tree, homes: Mapping[str, str]) -> Assembly:
        """With the whole value at a place: what it leaves empty stays, and pieces of what it has are dropped.

        :param homes: the key of a whole value in which each kind of piece stands
        """
        begun = self.begun[place]
        said = {key: one for key, one in value.items() if _has_text(one) or key not in begun}
        kept = pvector(
            piece
            for piece in self.pieces
            if piece.place != place or not _has_text_under(value, homes[piece.key])
        )
        return replace(self, begun=self.begun.set(place, {**begun, **said}), pieces=kept, latest=place)

    def add(self, place: int, key: str, text: str, *, of: str = "", part: int = 0) -> Assembly:
        """With more text of a value.

        :param of: the type of the value, if it was not begun
        """
        begun = self.begun if place in self.begun else self.begun.set(place, {"type": of} if of else {})
        pieces = self.pieces.append(Piece(place, key, part, text))
        return replace(self, begun=begun, pieces=pieces, latest=place)

    def settled(self, place: int, key: str, text: str, *, of: str = "", part: int = 0) -> Assembly:
        """With a text as a whole, in place of its pieces."""
        others = pvector(piece for piece in self.pieces if piece[:3] != (place, key, part))
        return replace(self, pieces=others).add(place, key, text, of=of, part=part)

    def has(self, place: int, key: str, part: int = 0) -> bool:
        """Whether there are pieces of a text."""
        return any(piece[:3] == (place, key, part) for piece in self.pieces)

    def free(self) -> int:
        """A place behind all others."""
        return max(self.begun, default=-1) + 1

    def values(self) -> Iterable[Tree]:
        """The values in the order of their places."""
        texts: dict[int, dict[str, list[Piece]]] = {}
        for piece in self.pieces:
            texts.setdefault(piece.place, {}).setdefault(piece.key, []).append(piece)
        for place in sorted(self.begun):
            value = dict(self.begun[place])
            for key, pieces in texts.get(place, {}).items():
                before = value.get(key)
                ordered = sorted(pieces, key=lambda piece: piece.part)
                value[key] = "".join(
                    [
                        before if isinstance(before, str) else "",
                        *(piece.text for piece in ordered),
                    ]
                )
            yield value

    def before(self, place: int, kind: str) -> int:
        """How many values of a type stand before a place."""
        return sum(value.get("type") == kind for at, value in self.begun.items() if at < place)


def _has_text_under(value: Tree, key: str) -> bool:
    """Whether a whole value has a text under a key, by itself or in its parts: gateways send empty parts."""
    home = value.get(key)
    if not isinstance(home, Sequence) or isinstance(home, str):
        return bool(home)
    return any(not isinstance(part, Mapping) or part.get("text") or part.get("refusal") for part in home)


def _has_text(value: Json) -> bool:
    return value is not None and value != ""


def number_in(event: Mapping[str, Json], key: str) -> int | None:
    """A number that an event says; servers leave it out, or send it as text."""
    given = event.get(key)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return int(given) if isinstance(given, str) and given.isdecimal() and len(given) < _LONGEST else None


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


def type_of(value: Tree) -> str:
    """The type of an event, an item or a block; empty where it says none, or no text."""
    given = value.get("type")
    return given if isinstance(given, str) else ""


class Translated(NamedTuple):
    """A body in the chat-completions form."""

    body: Json
    carry: JsonText = NOTHING
    """What has to go back with the message in the form that it came in: a JSON object."""
    paused: bool = False
    """Whether the server has paused its turn, and goes on when the message is sent back."""
