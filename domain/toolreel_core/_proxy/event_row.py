"""A reply in Responses or Messages as the events of a stream: blocks or items, one behind the other.

Texts and thoughts pass in pieces. Everything else goes out whole, and in its place: what stands behind a call
waits for the end, as calls do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from toolreel_core._jsontext import Tree, as_tree, canonical, items_of
from toolreel_core._proxy import messages_reply, responses_reply
from toolreel_core._proxy.completion import Completion
from toolreel_core._replies import type_of

OtherForm: TypeAlias = Literal["messages", "responses"]
Kind: TypeAlias = Literal["text", "thinking"]
"""What passes in pieces."""


class _Writer(NamedTuple):
    """How a form writes a reply as events."""

    row: str
    """The key of the blocks in a body."""
    opening: int
    """How many events of a text come before that with its text."""
    text_block: Callable[[str, str], Tree]
    """A text or a thought as a block."""
    opening_events: Callable[[Tree], Iterator[Tree]]
    block_events: Callable[[int, Tree], Iterator[Tree]]
    closing_events: Callable[[Tree], Iterator[Tree]]


_WRITERS: Final[Mapping[OtherForm, _Writer]] = {
    "messages": _Writer(
        "content",
        1,
        messages_reply.text_block,
        messages_reply.opening_events,
        messages_reply.block_events,
        messages_reply.closing_events,
    ),
    "responses": _Writer(
        "output",
        2,
        responses_reply.text_block,
        responses_reply.opening_events,
        responses_reply.block_events,
        responses_reply.closing_events,
    ),
}
_KINDS: Final[Mapping[str, Kind]] = {
    "text": "text",
    "thinking": "thinking",
    "message": "text",
    "reasoning": "thinking",
}
_CALLS: Final = frozenset({"tool_use", "function_call"})


class Shown(NamedTuple):
    """A block that has gone out."""

    place: int
    """Where the upstream has it; -1 where it speaks another form."""
    block: Tree
    """The block, as far as it has gone out."""

    @property
    def kind(self) -> str:
        """Its type, or the kind of what passes in pieces."""
        return _KINDS.get(type_of(self.block), type_of(self.block))

    @property
    def text(self) -> str:
        """The text that has gone out."""
        return block_text(self.block)


@dataclass(frozen=True, slots=True)
class EventRow:
    """What of a reply has gone out: an immutable value."""

    form: OtherForm
    shown: tuple[Shown, ...] = ()
    """The blocks; the last one is open if :attr:`open`."""
    open: bool = False
    held: bool = False
    """Whether the rest waits for the end."""
    sequence: int = 0
    """Number of events."""
    id: str = ""
    """The id of the reply, once it has been told."""

    @property
    def places(self) -> frozenset[int]:
        """Where the upstream has what has gone out."""
        return frozenset(one.place for one in self.shown)

    @property
    def _writer(self) -> _Writer:
        return _WRITERS[self.form]

    def add_piece(
        self,
        kind: Kind,
        text: str,
        said: Completion,
        place: int = -1,
        blocks: Sequence[tuple[int, Tree]] = (),
    ) -> tuple[EventRow, tuple[Tree, ...]]:
        """After more of a text or thought, and the events for it.

        :param said: what is known of the reply
        :param place: where the upstream has the block, if it speaks this form
        :param blocks: the blocks of the upstream so far with their places, then
        """
        last = self.shown[-1] if self.open else None
        goes_on = last is not None and (last.kind, last.place) == (kind, place)
        if self.held or not (goes_on or self._may_follow(place, blocks)):
            return replace(self, held=True), ()
        at = replace(self, id=self.id or said.id)
        events = (
            []
            if self.sequence
            else [*self._writer.opening_events(body_of(self.form, replace(said, id=at.id)))]
        )
        if not goes_on:
            at, between = at._advance_to(place, dict(blocks))
            own = {key: value for key, value in dict(blocks).get(place, {}).items() if key == "id"}
            block = at._with_block_id({**self._writer.text_block(kind, ""), **own}, len(at.shown))
            at = replace(at, shown=(*at.shown, Shown(place, block)), open=True)
            events += [*between, *at._events_of_last(block)[: self._writer.opening]]
        events.append(at._events_of_last(self._writer.text_block(kind, text))[self._writer.opening])
        *before, last = at.shown
        grown = {**last.block, **self._writer.text_block(kind, last.text + text)}
        return replace(at, shown=(*before, Shown(place, grown)))._number_events(events)

    def final_events(self, said: Completion, rest: str) -> tuple[Tree, ...]:
        """The rest of the events, once the whole reply is known.

        :param rest: the text that has not passed, where the blocks do not go on with what has
        """
        said = replace(said, id=self.id or said.id)
        body, done = body_of(self.form, said), len(self.shown)
        events = [] if self.sequence else [*self._writer.opening_events(body)]
        blocks = [*map(as_tree, items_of(body, self._writer.row))]
        if self._is_beginning_of(blocks):
            row = [*map(_with_known_id, self.shown, blocks), *blocks[done:]]
            if self.open:
                last = self.shown[-1]
                if more := text_after(block_text(row[done - 1]), last.text):
                    added = self._writer.text_block(last.kind, more)
                    events.append(self._events_of_last(added)[self._writer.opening])
                events += self._end_of_block(row[done - 1])
        else:
            row = [*(one.block for one in self.shown), *self._blocks_left(blocks, said, rest)]
            events += self._end_of_block() if self.open else ()
        for place in range(done, len(row)):
            events += self._writer.block_events(place, row[place])
        ended = self._writer.closing_events({**body, self._writer.row: row})
        return self._number_events((*events, *ended))[1]

    def _blocks_left(self, blocks: Sequence[Tree], said: Completion, rest: str) -> Iterator[Tree]:
        """The blocks that follow where others have gone out than the reply has."""
        if rest.strip():
            left = replace(self, id=said.id)
            yield left._with_block_id(self._writer.text_block("text", rest), len(self.shown))
        whole = [canonical(one.block) for one in self.shown]
        for block in blocks:
            if type_of(block) not in _KINDS and canonical(block) not in whole:
                yield block

    def _may_follow(self, place: int, blocks: Sequence[tuple[int, Tree]]) -> bool:
        """Whether all that stands before a place has gone out, or can go out now."""
        passed = {one.place: one.text for one in self.shown}
        for at, block in blocks:
            known = type_of(block) in _CALLS or (
                type_of(block) in _KINDS and passed.get(at, "") != block_text(block)
            )
            if at < place and known:
                return False
        return place == -1 or all(one.place < place for one in self.shown)

    def _advance_to(self, place: int, blocks: Mapping[int, Tree]) -> tuple[EventRow, list[Tree]]:
        """After the open block and all others before a place have ended."""
        events, shown = list[Tree](), [*self.shown]
        if self.open:
            events += self._end_of_block(blocks.get(shown[-1].place))
        for at in sorted(blocks):
            if at < place and at not in self.places:
                block = self._with_block_id(blocks[at], len(shown))
                events += self._writer.block_events(len(shown), block)
                shown.append(Shown(at, block))
        return replace(self, shown=tuple(shown), open=False), events

    def _events_of_last(self, block: Tree) -> Sequence[Tree]:
        """The events of the open block, as if this were all of it."""
        return [*self._writer.block_events(len(self.shown) - 1, _with_known_id(self.shown[-1], block))]

    def _end_of_block(self, block: Tree | None = None) -> Iterator[Tree]:
        last = self.shown[-1]
        whole = block or last.block
        if len(items_of(whole, "content")) > 1:  # its texts have passed as one
            joined = {**whole, "content": self._writer.text_block(last.kind, block_text(whole))["content"]}
            yield from self._events_of_last(joined)[self._writer.opening + 1 : -1]
            yield self._events_of_last(whole)[-1]
        else:
            yield from self._events_of_last(whole)[self._writer.opening + 1 :]

    def _is_beginning_of(self, blocks: Sequence[Tree]) -> bool:
        """Whether what has gone out is the beginning of these blocks."""
        if len(self.shown) > len(blocks):
            return False
        for number, (one, block) in enumerate(zip(self.shown, blocks, strict=False)):
            kind = _KINDS.get(type_of(block), type_of(block))
            rest = text_after(block_text(block), one.text) if kind in {"text", "thinking"} else ""
            goes_on = self.open and number == len(self.shown) - 1
            if kind != one.kind or rest is None or (rest and not goes_on):
                return False
        return True

    def _with_block_id(self, block: Tree, place: int) -> Tree:
        if self.form == "messages" or block.get("id"):
            return block
        return {**block, "id": responses_reply.id_of(type_of(block), self.id, place)}

    def _number_events(self, events: Sequence[Tree]) -> tuple[EventRow, tuple[Tree, ...]]:
        after = replace(self, sequence=self.sequence + len(events))
        if self.form == "messages":
            return after, tuple(events)
        numbered = (
            {**event, "sequence_number": number} for number, event in enumerate(events, self.sequence)
        )
        return after, tuple(numbered)


def body_of(form: OtherForm, said: Completion) -> Tree:
    """A reply in one of these forms."""
    return messages_reply.body_of(said) if form == "messages" else responses_reply.body_of(said)


def block_text(block: Tree) -> str:
    """The text of a block or item that passes in pieces."""
    if type_of(block) in {"text", "thinking"}:
        return str(block.get(type_of(block), ""))
    return "".join(str(as_tree(part).get("text", "")) for part in items_of(block, "content"))


def _with_known_id(shown: Shown, block: Tree) -> Tree:
    """A block under the id that the client knows it by; blocks of Messages have none."""
    return {**block, "id": shown.block["id"]} if shown.block.get("id") else block


def text_after(whole: str, begun: str) -> str | None:
    """What follows in a text whose beginning has passed, perhaps without blanks; ``None`` if it has not."""
    for given in (whole, whole.lstrip()):
        if given.startswith(begun):
            return given[len(begun) :]
    return None
