"""A reply in Responses or Messages as the events of a stream: blocks or items, one behind the other.

Texts and thoughts pass in pieces. Everything else goes out whole, and in its place: what stands behind a call
waits for the end, as calls do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias

from toolreel_core._jsontext import Tree, as_tree, canonical, items_of
from toolreel_core._proxy import messages_reply, responses_reply
from toolreel_core._proxy.completion import Completion
from toolreel_core._replies import type_of

OtherForm: TypeAlias = Literal["messages", "responses"]
Kind: TypeAlias = Literal["text", "thinking"]
"""What passes in pieces."""


class Words(Protocol):
    """What a form says of a reply in a stream; each is a module."""

    def item_of(self, kind: str, text: str, /) -> Tree:
        """A text or a thought, whole."""
        ...

    def begun(self, body: Tree, /) -> Iterator[Tree]:
        """Before the first block."""
        ...

    def opened(self, place: int, kind: str, block: Tree, /) -> Iterator[Tree]:
        """A text begins."""
        ...

    def piece(self, place: int, kind: str, text: str, block: Tree, /) -> Iterator[Tree]:
        """More of a text."""
        ...

    def closed(self, place: int, kind: str, block: Tree, /) -> Iterator[Tree]:
        """A text has ended."""
        ...

    def whole(self, place: int, block: Tree, /) -> Iterator[Tree]:
        """A block that comes at once."""
        ...

    def ended(self, body: Tree, /) -> Iterator[Tree]:
        """Behind the last block."""
        ...


_WORDS: Final[dict[OtherForm, Words]] = {"messages": messages_reply, "responses": responses_reply}
_ROWS: Final = {"messages": "content", "responses": "output"}
_KINDS: Final[dict[str, Kind]] = {
    "text": "text",
    "thinking": "thinking",
    "message": "text",
    "reasoning": "thinking",
}
_CALLS: Final = frozenset({"tool_use", "function_call"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A block that has gone out."""

    kind: str
    """Its type, or the kind of what passes in pieces."""
    text: str = ""
    place: int = -1
    """Where the upstream has it; -1 where it speaks another form."""
    id: str = ""
    block: Tree = field(default_factory=dict)
    """The block, if it went out whole."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """What of a reply has gone out: an immutable value."""

    form: OtherForm
    shown: tuple[Shown, ...] = ()
    """The blocks; the last one is open if :attr:`open`."""
    begun: bool = False
    open: bool = False
    held: bool = False
    """Whether the rest waits for the end."""
    sequence: int = 0
    """Number of events."""
    id: str = ""
    """The id of the reply, once it has been told."""

    def piece(
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
        if self.held:
            return self, ()
        events = [] if self.begun else [*self._form_words.begun(body_of(self.form, said))]
        at = replace(self, begun=True, id=self.id or said.id)
        said = replace(said, id=at.id)
        last = self.shown[-1] if self.open else Shown("")
        if (last.kind, last.place) != (kind, place):
            if not at._may_follow(place, blocks):
                return replace(self, held=True), ()
            at, between = at._advance_to(place, dict(blocks))
            block = Shown(kind, "", place, at._block_id(kind, said, dict(blocks).get(place, {})))
            at = replace(at, shown=(*at.shown, block), open=True)
            events += [*between, *self._form_words.opened(at._next_place, kind, {"id": block.id})]
        last = at.shown[-1]
        events += self._form_words.piece(at._next_place, kind, text, {"id": last.id})
        at = replace(at, shown=(*at.shown[:-1], replace(last, text=last.text + text)))
        return at._number_events(events)

    def end(self, said: Completion, rest: str) -> tuple[Tree, ...]:
        """The rest of the events, once the whole reply is known.

        :param rest: the text that has not passed, where the blocks do not go on with what has
        """
        said = replace(said, id=self.id or said.id)
        body = body_of(self.form, said)
        events = [] if self.begun else [*self._form_words.begun(body)]
        blocks = [*map(as_tree, items_of(body, _ROWS[self.form]))]
        if self._is_beginning_of(blocks):
            row = [*map(_under_its_id, self.shown, blocks), *blocks[len(self.shown) :]]
            events += self._continuing_events(row)
        else:
            row = [*map(self._block_as_shown, self.shown), *self._blocks_left(blocks, said, rest)]
            events += self._closing_events() if self.open else ()
            for place in range(len(self.shown), len(row)):
                events += self._form_words.whole(place, row[place])
        whole: Tree = {**body, _ROWS[self.form]: row}
        return self._number_events((*events, *self._form_words.ended(whole)))[1]

    def _block_as_shown(self, shown: Shown) -> Tree:
        """A block as it has gone out."""
        return shown.block or _under_its_id(shown, self._form_words.item_of(shown.kind, shown.text))

    def _blocks_left(self, blocks: Sequence[Tree], said: Completion, rest: str) -> Iterator[Tree]:
        """The blocks that follow where others have gone out than the reply has."""
        place = len(self.shown)
        if rest.strip():
            left = self._form_words.item_of("text", rest)
            id_: Tree = {"id": responses_reply.id_of("message", said.id, place)}
            yield {**left, **(id_ if self.form == "responses" else {})}
        whole = [canonical(one.block) for one in self.shown if one.block]
        for block in blocks:
            if type_of(block) not in _KINDS and canonical(block) not in whole:
                yield block

    @property
    def places(self) -> frozenset[int]:
        """Where the upstream has what has gone out."""
        return frozenset(one.place for one in self.shown)

    @property
    def _form_words(self) -> Words:
        return _WORDS[self.form]

    @property
    def _next_place(self) -> int:
        return len(self.shown) - 1

    def _may_follow(self, place: int, blocks: Sequence[tuple[int, Tree]]) -> bool:
        """Whether all that stands before a place has gone out, or can go out now."""
        passed = {one.place: one.text for one in self.shown}
        for at, block in blocks:
            known = type_of(block) in _CALLS or (
                type_of(block) in _KINDS and passed.get(at, "") != text_of(block)
            )
            if at < place and known:
                return False
        return place == -1 or all(one.place < place for one in self.shown)

    def _advance_to(self, place: int, blocks: dict[int, Tree]) -> tuple[EventRow, list[Tree]]:
        """After the open block and all others before a place have ended."""
        events, shown = list[Tree](), [*self.shown]
        if self.open:
            events += self._closing_events(blocks.get(shown[-1].place))
        begun = {one.place for one in shown}
        for at in sorted(blocks):
            if at < place and at not in begun:
                block = self._with_block_id(blocks[at], len(shown))
                events += self._form_words.whole(len(shown), block)
                shown.append(Shown(type_of(block), "", at, "", block))
        return replace(self, shown=tuple(shown), open=False), events

    def _closing_events(self, block: Tree | None = None) -> Iterator[Tree]:
        last = self.shown[-1]
        known = _under_its_id(last, block or self._form_words.item_of(last.kind, last.text))
        yield from self._form_words.closed(self._next_place, last.kind, known)

    def _is_beginning_of(self, blocks: Sequence[Tree]) -> bool:
        """Whether what has gone out is the beginning of these blocks."""
        if len(self.shown) > len(blocks):
            return False
        for number, (one, block) in enumerate(zip(self.shown, blocks, strict=False)):
            kind = _KINDS.get(type_of(block), type_of(block))
            last = self.open and number == len(self.shown) - 1
            if kind != one.kind:
                return False
            if kind in {"text", "thinking"} and not _continues_text(text_of(block), one.text, last=last):
                return False
        return True

    def _continuing_events(self, blocks: Sequence[Tree]) -> Iterable[Tree]:
        done = len(self.shown)
        if self.open:
            last, block = self.shown[-1], blocks[done - 1]
            whole = text_of(block)
            rest = (whole if whole.startswith(last.text) else whole.lstrip())[len(last.text) :]
            if rest:
                yield from self._form_words.piece(self._next_place, last.kind, rest, {"id": last.id})
            yield from self._closing_events(block)
        for place, block in enumerate(blocks[done:], done):
            yield from self._form_words.whole(place, block)

    def _with_block_id(self, block: Tree, place: int) -> Tree:
        if self.form == "messages" or block.get("id"):
            return block
        return {**block, "id": responses_reply.id_of(type_of(block), self.id, place)}

    def _block_id(self, kind: Kind, said: Completion, block: Tree) -> str:
        if self.form == "messages":
            return ""
        own = block.get("id")
        item = "message" if kind == "text" else "reasoning"
        return own if isinstance(own, str) and own else responses_reply.id_of(item, said.id, len(self.shown))

    def _number_events(self, events: Iterable[Tree]) -> tuple[EventRow, tuple[Tree, ...]]:
        listed = tuple(events)
        after = replace(self, sequence=self.sequence + len(listed))
        if self.form == "messages":
            return after, listed
        numbered = (
            {**event, "sequence_number": number} for number, event in enumerate(listed, self.sequence)
        )
        return after, tuple(numbered)


def body_of(form: OtherForm, said: Completion) -> Tree:
    """A reply in one of these forms."""
    return messages_reply.body_of(said) if form == "messages" else responses_reply.body_of(said)


def text_of(block: Tree) -> str:
    """The text of a block or item that passes in pieces."""
    if type_of(block) in {"text", "thinking"}:
        return str(block.get(type_of(block), ""))
    return "".join(str(as_tree(part).get("text", "")) for part in items_of(block, "content"))


def _under_its_id(shown: Shown, block: Tree) -> Tree:
    """A block under the id that the client knows it by; blocks of Messages have none."""
    return {**block, "id": shown.id} if shown.id and not shown.block else block


def _continues_text(whole: str, begun: str, *, last: bool) -> bool:
    return any(given.startswith(begun) if last else given == begun for given in (whole, whole.lstrip()))
