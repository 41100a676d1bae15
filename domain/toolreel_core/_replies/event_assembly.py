"""Pieces of a stream, put in the places of the values that they belong to.

Servers say by an index, by an id or not at all which value they mean. Gateways count wrong: a call begins at
the index of the text before it (teabranch/open-responses-server#63), so an index means the value that was
begun there last, and another value at the same index gets a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

from pyrsistent import PMap, PVector, pmap, pvector

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_list, encodable_text, text_at
from toolreel_core._replies.warning_codes import WarningCodes

_SAME = ("type", "id")
"""What tells a value that begins from another one at the same index."""
# More digits are not an index, and ``int()`` raises an error at 4,301.
_LONGEST = 10
"""Digits from which a number sent as text is ignored."""


DeltaKind: TypeAlias = Literal["content", "reasoning", "tool_call"]


@dataclass(frozen=True, slots=True)
class Delta:
    """A chunk of a reply, for display while it arrives."""

    kind: DeltaKind
    text: str
    """Never empty; for a tool call first the name, then chunks of the arguments."""
    index: int = 0
    """Of a tool call: its place among the calls of the reply, as far as the server says."""
    call_id: str = ""
    """Of a tool call: the id that this chunk gives it; most servers send it with the name only."""
    name: str = ""
    """Of a tool call: its name, if this chunk is that; empty for a chunk of the arguments."""


Deltas: TypeAlias = tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class Events:
    head: Tree = field(default_factory=dict)
    """Fields of the reply as a whole, such as id, model and usage."""
    failure: Json = None
    complete: bool = False
    """Whether the reply has ended."""
    over: bool = False
    """Whether the rest can be ignored."""
    silent: int = 0
    """Number of events that count as progress, though nothing of them is displayed."""


_Texts: TypeAlias = Mapping[tuple[str, int], PVector[str]]
"""The pieces of each text of a value, by its key and its number, where a value has several of a kind."""
_NO_VALUES: PMap[int, Tree] = pmap()
_NO_TEXTS: PMap[int, _Texts] = pmap()
_NO_PIECES: _Texts = {}
_NO_PLACES: PMap[int | str | None, int] = pmap()


@dataclass(frozen=True, slots=True)
class BlockEvents(Events):
    """Events of the forms whose replies consist of blocks or items, which are the values here."""

    call_type: ClassVar[str] = ""
    begun: PMap[int, Tree] = _NO_VALUES
    """What a value begins with, by its place."""
    texts: PMap[int, _Texts] = _NO_TEXTS
    """The texts of each value so far, by its place."""
    places: PMap[int | str | None, int] = _NO_PLACES
    """The place that an index or an id means at present."""
    closed: frozenset[int | None] = frozenset()
    """Indexes whose value has ended, so that another one may begin there."""
    latest: int = 0
    """The place of the newest event, for servers that leave out which they mean."""

    def with_failure(self, event: Tree) -> Self:
        return replace(self, failure=event.get("error") or event, over=True)

    def open_value(self, value: Tree, index: int | None, names: Sequence[str] = ()) -> Self:
        """With the value of these ids that begins at an index; begun again, it loses its pieces."""
        place = self.find_place(None, names)
        if place is None:
            known = self.places.get(index)
            if known is None:
                place = self.next_place() if index is None or index in self.begun else index
            else:
                # The same value begins again, as far as its type and its id say, or another one.
                was = self.begun[known]
                same = all(was.get(key) in (None, "", value.get(key, was.get(key))) for key in _SAME)
                place = known if index not in self.closed and same else self.next_place()
        keys = [*names, *([] if index is None else [index])]
        return replace(
            self,
            begun=self.begun.set(place, value),
            texts=self.texts.discard(place),
            places=self.places.update(dict.fromkeys(keys, place)),
            closed=self.closed - {index},
            latest=place,
        )

    def find_place(self, index: int | None, names: Sequence[str] = ()) -> int | None:
        """The place that an id or else an index means; ``None`` if nothing was begun there."""
        found = (self.places.get(key) for key in (*names, index))
        return next((place for place in found if place is not None), None)

    def next_place(self) -> int:
        return max(self.begun, default=-1) + 1

    def merge_value(self, place: int, value: Tree, homes: Mapping[str, str]) -> Self:
        """With the whole value at a place: what it leaves empty stays, pieces of what it has are dropped."""
        given = {key: one for key, one in value.items() if one not in (None, "")}
        texts = {
            key: pieces
            for key, pieces in self.texts.get(place, _NO_PIECES).items()
            # Gateways end an item with an empty part where its text has been streamed; then the pieces stay.
            if not any(
                not isinstance(part, Mapping) or part.get("text") or part.get("refusal")
                for part in as_list(value.get(homes[key[0]]) or [])
            )
        }
        begun = self.begun.set(place, {**self.begun[place], **given})
        return replace(self, begun=begun, texts=self.texts.set(place, texts), latest=place)

    def add_text(
        self, place: int, key: str, text: str, *, of: str = "", part: int = 0, whole: bool = False
    ) -> Self:
        """With more text of a value, of this type if not begun; if ``whole``, instead of its pieces."""
        begun = self.begun if place in self.begun else self.begun.set(place, {"type": of})
        texts = self.texts.get(place, _NO_PIECES)
        pieces = pvector([text]) if whole else texts.get((key, part), pvector()).append(text)
        texts = {**texts, (key, part): pieces}
        return replace(self, begun=begun, texts=self.texts.set(place, texts), latest=place)

    def has_text(self, place: int, key: str, part: int = 0) -> bool:
        return (key, part) in self.texts.get(place, _NO_PIECES)

    def values(self) -> Iterable[Tree]:
        for place in sorted(self.begun):
            value = dict(self.begun[place])
            texts = self.texts.get(place, _NO_PIECES)
            for (key, _), pieces in sorted(texts.items(), key=lambda text: text[0][1]):
                value[key] = "".join([text_at(value, key), *pieces])
            yield value

    def has_calls(self) -> bool:
        return any(value.get("type") == self.call_type for value in self.begun.values())

    def deltas_to_show(
        self, kind: DeltaKind | None, text: Json, id_: Json = "", *, named: bool = False
    ) -> Deltas:
        """What to display of a text of the newest block or item; ``named``: it is the name of a call.

        :param id_: of a call that begins
        :param named: whether the text is the name of a call
        """
        if kind is None or not isinstance(text, str) or not text:
            return ()
        text = encodable_text(text)
        if kind != "tool_call":
            return (Delta(kind, text),)
        begun = self.begun.items()
        number = sum(value.get("type") == self.call_type for place, value in begun if place < self.latest)
        return (Delta(kind, text, number, id_ if isinstance(id_, str) else "", text if named else ""),)


def integer_field(event: Mapping[str, Json], key: str) -> int | None:
    """A number that an event says; servers leave it out, or send it as text."""
    given = event.get(key)
    if isinstance(given, str):
        return int(given) if given.isascii() and given.isdecimal() and len(given) < _LONGEST else None
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return int(given) if given == given // 1 else None


def type_of(value: Tree) -> str:
    return text_at(value, "type")


class ReadAsChat(NamedTuple):
    """A body in the chat-completions form, and what was noticed."""

    body: Json
    codes: WarningCodes = ()
    carry: JsonText = NOTHING
    """What has to go back with the message in the form that it came in: a JSON object."""
    paused: bool = False
    """Whether the server has paused its turn, and goes on when the message is sent back."""
    own: Json = None
    """The body in its own form, as if it had not been streamed; null if that is chat completions."""


def single_message_completion(
    head: Tree, content: str, finish: Json, *, role: Json = "assistant", **parts: Json
) -> Tree:
    """A chat completion with one message, which has those of the parts that are not empty."""
    message: Tree = {"role": role, "content": content, **{key: part for key, part in parts.items() if part}}
    return {**head, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
