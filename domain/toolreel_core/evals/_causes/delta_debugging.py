"""Delta debugging: the smallest part of a set for which something is still true.

A search is a generator: it yields a candidate, and is sent the answer. So the same search asks recordings
in one place and a server with a budget in another, and stopping it early loses no answer.

A. Zeller and R. Hildebrandt 2002, IEEE Transactions on Software Engineering 28:183.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Final, Generic, Literal, TypeAlias, TypeVar

Answer: TypeAlias = Literal["yes", "no", "undecided"]
"""Whether it is still true of a candidate; ``undecided``: nobody can say, so it counts as no."""

_Item = TypeVar("_Item")
_Set: TypeAlias = tuple[_Item, ...]
Search: TypeAlias = Generator[_Set[_Item], Answer, _Set[_Item]]
"""Yields candidates, is sent answers, and returns the last candidate that was answered with yes."""


def halving(items: Sequence[_Item]) -> Search[_Item]:
    """Take parts away, first halves, then smaller ones; what is left cannot do without any single item.

    :param items: of which it is true
    """
    kept, parts = tuple(items), 2
    while kept:
        smaller: _Set[_Item] | None = None
        for candidate in _candidates(kept, min(parts, len(kept))):
            if (yield candidate) == "yes":
                smaller = candidate
                break
        if smaller is not None:
            parts = 2 if len(smaller) * 2 <= len(kept) else max(parts - 1, 2)
            kept = smaller
        elif parts >= len(kept):
            break
        else:
            parts *= 2
    return kept


def _candidates(kept: _Set[_Item], parts: int) -> Iterable[_Set[_Item]]:
    """Each part alone, then all but each part; for one item, nothing at all."""
    if len(kept) == 1:
        yield ()
        return
    bounds = [len(kept) * place // parts for place in range(parts + 1)]
    spans = list(pairwise(bounds))
    yield from (kept[low:high] for low, high in spans)
    if parts > 2:  # of two halves, each is what the other leaves
        yield from (kept[:low] + kept[high:] for low, high in spans)


@dataclass(frozen=True, slots=True)
class Minimal(Generic[_Item]):
    """The result of a search."""

    items: tuple[_Item, ...]
    alone: tuple[_Item, ...]
    """Items that suffice without any other."""
    smallest: bool
    """Whether all smaller sets were asked for, and none was yes or undecided."""
    undecided: int
    """Candidates about which nobody can say anything."""


MOST_CANDIDATES: Final = 2_000
"""Sets that are asked for at most, to find one smaller than halving has found."""


def smallest_set(
    items: Sequence[_Item], ask: Callable[[_Set[_Item]], Answer], most: int = MOST_CANDIDATES
) -> Minimal[_Item]:
    """The smallest set of items that suffices, if there are few enough to ask for all; else a minimal one.

    >>> found = smallest_set("abcdef", lambda some: "yes" if {"b", "e"} <= set(some) else "no")
    >>> found.items, found.smallest
    (('b', 'e'), True)

    :param ask: called once for each set at most; never for none of the items, nor for all
    """
    whole = tuple(items)
    known: dict[_Set[_Item], Answer] = {whole: "yes", (): "no"}

    def asked(candidate: _Set[_Item]) -> Answer:
        if candidate not in known:
            known[candidate] = ask(candidate)
        return known[candidate]

    alone = tuple(item for item in whole if asked((item,)) == "yes")
    found = answered(halving(whole), asked)
    sizes = range(1, len(found))
    searched = sum(comb(len(whole), size) for size in sizes) <= most
    if searched:
        smaller = (some for size in sizes for some in combinations(whole, size))
        found = next((some for some in smaller if asked(some) == "yes"), found)
    below = [answer for some, answer in known.items() if len(some) < len(found)]
    undecided = sum(answer == "undecided" for answer in known.values())
    return Minimal(found, alone, searched and "undecided" not in below, undecided)


def answered(search: Search[_Item], ask: Callable[[_Set[_Item]], Answer]) -> _Set[_Item]:
    """Run a search to its end."""
    try:
        candidate = next(search)
        while True:
            candidate = search.send(ask(candidate))
    except StopIteration as end:
        result: _Set[_Item] = end.value
        return result
