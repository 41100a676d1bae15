"""Messages as requests have them, each text once, and what each request sent of the stored ones.

Every request repeats the whole conversation. In a page of 2,000 turns that would be millions of messages, so
a request is a few ranges of numbers here: of messages that are sent as they are stored, changed, left out or
added.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, Literal, TypeAlias

from toolreel._replay.explain.sent_history import plain_items, role_of, unequal
from toolreel_core._conversation import Message, Rope, Transcript
from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core._plan import Request
from toolreel_core._settings import WireForm

Sending: TypeAlias = Literal["same", "changed", "left_out", "added"]
Pair: TypeAlias = tuple[int | None, int | None]
"""The number of a stored item and of the sent one; ``None`` where there is none."""

Range: TypeAlias = tuple[Sending, int, int, int, bool]

_WHOLE: Final = 3_000
"""Items that are told apart one by one at most; beyond, the rest counts as left out and added."""


class Items:
    """The items of all requests of a run, each with a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._blocks: dict[bytes, tuple[int, ...]] = {}
        self._stored: list[int] = []
        self._told: set[Pair] = set()
        self._seen = 0
        self._form: WireForm | None = None

    @property
    def texts(self) -> list[str]:
        """The items by number."""
        return [*self._numbers]

    def number(self, text: str) -> int:
        """The number of an item."""
        return self._numbers.setdefault(text, len(self._numbers))

    def message(self, message: Message) -> int:
        """The number of a message in the chat-completions form."""
        return self.number(canonical(*plain_items([message], "chat_completions")))

    def sent(self, request: Request, stored: Transcript) -> list[Json]:
        """What a request sent of the stored messages, as ranges: ``[how, stored, sent, count, fresh]``.

        A difference is fresh in the first request that has it; later ones only repeat it.

        :param stored: as it was when the request was made; histories only grow from call to call
        """
        was, now = self._plain(request, stored), self._of(request)
        begin = _alike(was, now)
        end = min(_alike(was[::-1], now[::-1]), min(len(was), len(now)) - begin)
        middle = self._middle(was[begin : len(was) - end], now[begin : len(now) - end])
        ranges = [*_same(now[:begin]), *self._ranges(middle), *_same(now[len(now) - end :])]
        return [[*each] for each in ranges]

    def _ranges(self, pairs: Iterable[Pair]) -> Iterator[Range]:
        """Pairs whose numbers count up together, as one range; -1 stands for no number."""
        how: Sending = "same"
        stored = sent = -1
        count, fresh = 0, False
        for pair in pairs:
            a, b = (-1 if each is None else each for each in pair)
            is_fresh = pair[0] != pair[1] and pair not in self._told
            self._told.add(pair)
            goes_on = (stored == -1 or a == stored + count) and (sent == -1 or b == sent + count)
            if count and (_how(*pair), is_fresh) == (how, fresh) and goes_on:
                count += 1
                continue
            if count:
                yield how, stored, sent, count, fresh
            how, stored, sent, count, fresh = _how(*pair), a, b, 1, is_fresh
        if count:
            yield how, stored, sent, count, fresh

    def _of(self, request: Request) -> list[int]:
        rope = request.sent.texts
        behind = chain(chain.from_iterable(rope.handfuls), rope.newest)
        return [*self._full(rope), *(self.number(text.decode()) for text in behind)]

    def _full(self, rope: Rope) -> Iterator[int]:
        # Requests share their full blocks, so each is parsed once.
        for block in rope.full:
            if block not in self._blocks:
                values = parse(JsonText(f"[{block.removeprefix(b',').decode()}]"))
                texts = values if isinstance(values, Sequence) else ()
                self._blocks[block] = tuple([self.number(canonical(value)) for value in texts])
            yield from self._blocks[block]

    def _plain(self, request: Request, stored: Transcript) -> list[int]:
        """The stored messages as any provider of that form gets them."""
        count = len(stored.messages)
        if request.form != "chat_completions" or request.form != self._form:
            # Of other forms, later messages may join an earlier item, so it is written again.
            texts = map(canonical, plain_items(stored.messages, request.form))
            self._form, self._stored, self._seen = request.form, [*map(self.number, texts)], count
            return self._stored
        newest = [*islice(reversed(stored.messages), count - self._seen)]
        self._stored += [self.message(message) for message in reversed(newest)]
        self._seen = count
        return self._stored

    def _middle(self, ones: Sequence[int], others: Sequence[int]) -> Iterator[Pair]:
        if not ones or not others or max(len(ones), len(others)) > _WHOLE:
            yield from chain(((one, None) for one in ones), ((None, other) for other in others))
            return
        texts = self.texts
        differing = [*unequal([*map(str, ones)], [*map(str, others)], lambda each: role_of(texts[int(each)]))]
        gone, new = {one for one, _ in differing}, {other for _, other in differing}
        same = deque(
            zip(
                (place for place in range(len(ones)) if place not in gone),
                (place for place in range(len(others)) if place not in new),
                strict=True,
            )
        )
        for one, other in differing:
            while same and (
                same[0][0] < (-1 if one is None else one) or same[0][1] < (-1 if other is None else other)
            ):
                place, _ = same.popleft()
                yield ones[place], ones[place]
            yield (None if one is None else ones[one]), (None if other is None else others[other])
        yield from ((ones[place], ones[place]) for place, _ in same)


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many items at the beginning of both are the same."""
    short = min(len(one), len(other))
    if one[:short] == other[:short]:
        return short
    return next(at for at in range(short) if one[at] != other[at])


def _how(stored: int | None, sent: int | None) -> Sending:
    if stored is None:
        return "added"
    if sent is None:
        return "left_out"
    return "same" if stored == sent else "changed"


def _same(numbers: Sequence[int]) -> Iterator[Range]:
    """Items that are sent as they are stored, as ranges."""
    first = 0
    while first < len(numbers):
        # Mostly all of them count up, which is seen at once.
        count = len(numbers) - first
        if numbers[first:] != [*range(numbers[first], numbers[first] + count)]:
            count = next(at for at in range(1, count) if numbers[first + at] != numbers[first] + at)
        yield "same", numbers[first], numbers[first], count, False
        first += count
