"""What a request sent of the stored history: which messages were changed, added or left out.

The history is compared in the form that the provider speaks, as any provider of that form would get it, so
that only what is special about this request is a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain, islice, zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias

from toolreel_core._conversation import Form, Message, Transcript, wire_tree
from toolreel_core._jsontext import JsonText, canonical, parse
from toolreel_core._plan import Request
from toolreel_core._settings import Provider, WireForm

Sending: TypeAlias = Literal["same", "changed", "left_out", "added"]
_Pair: TypeAlias = tuple[int | None, int | None]
"""The number of a stored item and of the sent one; ``None`` where there is none."""

_WHOLE: Final = 3_000
"""Items that are told apart one by one at most; beyond, the rest counts as left out and added."""


class ItemRange(NamedTuple):
    """Items of a request whose numbers count up together."""

    sending: Sending
    stored: int
    """The number of the first stored item; -1 without any."""
    sent: int
    length: int
    fresh: bool
    """Whether this is the first request with this difference; later ones only repeat it."""


class NumberedItems:
    """The items of all requests of a run, each with a number.

    Every request repeats the whole conversation. In a page of 2,000 turns that would be millions of messages,
    so a request is a few ranges of numbers.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._blocks: dict[bytes, tuple[int, ...]] = {}
        self._stored: list[int] = []
        self._known_pairs: set[_Pair] = set()
        self._count = 0
        self._form: WireForm | None = None

    @property
    def texts(self) -> list[str]:
        """The items by number."""
        return [*self._numbers]

    def add_text(self, text: str) -> int:
        """The number of an item."""
        return self._numbers.setdefault(text, len(self._numbers))

    def add_message(self, message: Message) -> int:
        """The number of a message in the chat-completions form."""
        return self.add_text(canonical(wire_tree(message)))

    def sent_ranges(self, request: Request, stored: Transcript) -> list[ItemRange]:
        """What a request sent of the stored messages.

        :param stored: as it was when the request was made; histories only grow from call to call
        """
        was, now = self._stored_numbers(request, stored), self._sent_numbers(request)
        begin = _common_start(was, now)
        end = min(_common_start(was[::-1], now[::-1]), min(len(was), len(now)) - begin)
        middle = self._pair_items(was[begin : len(was) - end], now[begin : len(now) - end])
        return [
            *_unchanged_ranges(now[:begin]),
            *self._item_ranges(middle),
            *_unchanged_ranges(now[len(now) - end :]),
        ]

    def _stored_numbers(self, request: Request, stored: Transcript) -> list[int]:
        """The stored messages as any provider of that form gets them, without quirks."""
        count = len(stored.messages)
        if request.form != "chat_completions":
            # There a message can be several items, or none, and later ones may join an earlier item.
            form = Form(Provider(wire_form=request.form))
            texts = map(canonical, Transcript.of(stored.messages, form).texts.values())
            self._form, self._stored = request.form, [*map(self.add_text, texts)]
            return self._stored
        if self._form != request.form:
            self._form, self._stored, self._count = request.form, [], 0
        newest = [*islice(reversed(stored.messages), count - self._count)]
        self._stored += map(self.add_message, reversed(newest))
        self._count = count
        return self._stored

    def _sent_numbers(self, request: Request) -> list[int]:
        rope = request.sent.texts
        for block in rope.full:
            if block not in self._blocks:  # requests share their full blocks, so each is parsed once
                values = parse(JsonText(f"[{block.removeprefix(b',').decode()}]"))
                texts = values if isinstance(values, Sequence) else ()
                self._blocks[block] = tuple([self.add_text(canonical(value)) for value in texts])
        full = chain.from_iterable(self._blocks[block] for block in rope.full)
        rest = rope.behind
        return [*full, *(self.add_text(text.decode()) for text in rest)]

    def _pair_items(self, was: Sequence[int], now: Sequence[int]) -> Iterator[_Pair]:
        """Stored items with the sent ones; where they differ, they belong together in their order."""
        if max(len(was), len(now)) > _WHOLE:
            yield from chain(((one, None) for one in was), ((None, other) for other in now))
            return
        for _, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            yield from zip_longest(was[a:b], now[c:d])

    def _item_ranges(self, pairs: Iterable[_Pair]) -> Iterator[ItemRange]:
        """Pairs as ranges whose numbers count up together."""
        last: ItemRange | None = None
        for pair in pairs:
            stored, sent = (-1 if each is None else each for each in pair)
            fresh = stored != sent and pair not in self._known_pairs
            self._known_pairs.add(pair)
            sending: Sending = "same" if stored == sent else "changed"
            if -1 in (stored, sent):
                sending = "added" if stored == -1 else "left_out"
            if last and last[:1] + last[4:] == (sending, fresh):
                goes_on = stored in {-1, last.stored + last.length} and sent in {-1, last.sent + last.length}
                if goes_on:
                    last = last._replace(length=last.length + 1)
                    continue
            if last:
                yield last
            last = ItemRange(sending, stored, sent, 1, fresh)
        if last:
            yield last


def _common_start(one: Sequence[int], other: Sequence[int]) -> int:
    """How many items at the beginning of both are the same."""
    short = min(len(one), len(other))
    if one[:short] == other[:short]:
        return short
    return next(at for at in range(short) if one[at] != other[at])


def _unchanged_ranges(numbers: Sequence[int]) -> Iterator[ItemRange]:
    """Items that are sent as they are stored, as ranges."""
    first = 0
    while first < len(numbers):
        # Mostly all of them count up, which is seen at once.
        count = len(numbers) - first
        if numbers[first:] != [*range(numbers[first], numbers[first] + count)]:
            count = next(at for at in range(1, count) if numbers[first + at] != numbers[first] + at)
        yield ItemRange("same", numbers[first], numbers[first], count, fresh=False)
        first += count
