"""Which void runs an evaluation goes without, and how many of them at most.

A provider that keeps refusing a model never lets an evaluation end. Void runs of an accepted category count
as ended; they stay void, so they are in no rate, and every summary says how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._internal import Table, unknown_name
from toolreel_core.evals._verdicts import CATEGORIES, Result

VOIDS: Final = tuple(name for name, one in CATEGORIES.items() if one.result == "void")
"""The categories that can be accepted."""


@dataclass(frozen=True, slots=True)
class AcceptedVoids:
    """The void runs that an evaluation may end with; by default none."""

    categories: tuple[str, ...] = ()
    """Such as ``transport.forbidden``."""
    min_coverage: float = 1.0
    """The least share of the runs, those of all cells together, that must not be void and accepted."""

    def includes(self, result: Result, category: str) -> bool:
        """Whether a run is void and accepted.

        >>> AcceptedVoids(("transport.forbidden",)).includes("void", "transport.forbidden")
        True
        """
        return result == "void" and category in self.categories

    def suffice(self, accepted: int, runs: int) -> bool:
        """Whether enough runs are left.

        >>> AcceptedVoids(("transport.forbidden",), 0.75).suffice(1, 4)
        True

        :param accepted: how many of the runs are void and accepted
        """
        return not accepted or runs - accepted >= self.min_coverage * runs - _ROUNDING

    def sentence(self, accepted: int, runs: int) -> str:
        """How many there are, and whether the others are enough; empty where none is to be accepted.

        >>> print(AcceptedVoids(("transport.forbidden",), 0.9).sentence(1, 4))
        1 of 4 runs void and accepted (transport.forbidden): 75.0 % covered, less than min_coverage (90.0 %)
        """
        if not self.categories:
            return ""
        covered = 100 * (runs - accepted) / runs if runs else 100.0
        enough = "at least" if self.suffice(accepted, runs) else "less than"
        return (
            f"{accepted} of {runs} runs void and accepted ({', '.join(self.categories)}): "
            f"{covered:.1f} % covered, {enough} min_coverage ({100 * self.min_coverage:.1f} %)"
        )


_ROUNDING: Final = 1e-9
"""0.9 of ten runs are nine, although binary fractions do not say so."""


def accepted_categories(table: Table, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of ``accept_void``, each of which has to be a category that makes a run void.

    :raises PlaceError: if one is not, with the nearest
    """
    for word in words:
        if word in CATEGORIES and word not in VOIDS:
            what = f"{word!r} is no void run, so that it counts; there are: {', '.join(VOIDS)}"
            raise table.complaint(what, "accept_void")
        if word not in VOIDS:
            raise table.complaint(unknown_name("void category", word, VOIDS), "accept_void")
    return words


def min_coverage(table: Table, *, accepting: bool) -> float:
    """The share under ``min_coverage``.

    :param accepting: whether any void run is accepted; without one, the share would mean nothing
    :raises PlaceError: if it is no share, or means nothing
    """
    share = table.amount("min_coverage", 1.0)
    if share is None or not share <= 1:
        raise table.complaint(f"expected a number from 0 to 1, got {share!r}", "min_coverage")
    if share < 1 and not accepting:
        what = "it is about void runs that are accepted; name their categories (accept_void)"
        raise table.complaint(what, "min_coverage")
    return share
