"""Ties: sets of candidates that no test separates.

Ties are not transitive: the first may be tied with the second and the second with the third, while the first
is better than the third. So a candidate can be in several sets, and each set has a letter, as in the compact
letter display of multiple comparisons (insert-and-absorb, Piepho 2004): two candidates are tied if they share
a letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import ascii_letters

from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name


@dataclass(frozen=True, slots=True)
class Ties:
    """Candidates, best first, and their sets of ties."""

    names: tuple[str, ...]
    """All candidates by falling rate."""
    sets: tuple[tuple[str, ...], ...]
    """The largest sets inside of which no two are separated, the set with the best first."""

    @property
    def letters(self) -> Mapping[str, str]:
        """The letters of each candidate's sets, such as ``ab``.

        >>> tied({"raw": 0.8, "baseline": 0.85, "production": 0.9}, [("raw", "production")]).letters
        {'production': 'a', 'baseline': 'ab', 'raw': 'b'}
        """
        inside = [(names, _mark(at)) for at, names in enumerate(self.sets)]
        return {name: "".join(mark for names, mark in inside if name in names) for name in self.names}


def tied(rates: Mapping[str, float], separated: Iterable[tuple[str, str]]) -> Ties:
    """The sets of candidates that are left when the pairs are known that a test has separated.

    >>> tied({"raw": 0.8, "baseline": 0.85, "production": 0.9}, [("raw", "production")]).sets
    (('production', 'baseline'), ('baseline', 'raw'))

    :param rates: of each candidate; only the order of the names comes from them
    :param separated: pairs of names, in whatever order
    """
    names = sorted(rates, key=lambda name: (-rates[name], name))
    place = {name: at for at, name in enumerate(names)}
    sets = [tuple(range(len(names)))] if names else []
    for pair in separated:
        apart = [place[name] for name in pair if _known(name, place)]
        split = [part for one in sets for part in _parts(one, *apart)]
        # Absorb: a subset of another set adds no information.
        sets = [one for one in dict.fromkeys(split) if not any(set(one) < set(other) for other in split)]
    return Ties(tuple(names), tuple(tuple(names[at] for at in one) for one in sorted(sets)))


def _mark(at: int) -> str:
    return ascii_letters[at] if at < len(ascii_letters) else f"({at + 1})"


def _known(name: str, place: Mapping[str, int]) -> bool:
    if name not in place:
        raise ConfigError(unknown_name("candidate", name, place))
    return True


def _parts(one: tuple[int, ...], first: int, second: int) -> tuple[tuple[int, ...], ...]:
    """A set as it is, or without the one and without the other if both are in it."""
    if first not in one or second not in one:
        return (one,)
    return tuple(at for at in one if at != first), tuple(at for at in one if at != second)
