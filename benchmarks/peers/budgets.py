"""What toolreel is held to, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.peers.figures import more_memory, ratio, runs_a_second
from benchmarks.peers.results import Measured, Results

__all__ = ["Budget", "budgets"]

_AGAINST: Mapping[str, Mapping[int, float]] = {
    "floor_encoded": {10: 1.8, 50: 1.8, 200: 1.8},
}
"""How often the CPU time of a loop by hand toolreel may take at most, by turns."""
_LESS_THAN_FRAMEWORKS: Mapping[int, float] = {10: 5, 200: 50}
"""How often toolreel's CPU time the best framework takes at least, by turns."""
_RUNS: Mapping[str, float] = {"toolreel_async": 100}
"""Runs for a second of CPU, of a thousand at once."""
_MEMORY = 75.0
"""Mebibytes that a thousand runs at once may need."""
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class Budget:
    """One of the figures that toolreel is held to."""

    what: str
    wanted: str
    found: str
    held: bool | None
    """``None`` if what was cut by the limit of time does not tell."""


def budgets(results: Results) -> Iterator[Budget]:
    """All for which there are figures."""
    known = results.contestants
    if ours := known.get("toolreel"):
        for identity, factors in _AGAINST.items():
            if floor := known.get(identity):
                yield from _against(ours, floor, factors)
        frameworks = [one for one in known.values() if one.kind == "framework"]
        yield from _against_frameworks(ours, frameworks)
    for identity, least in _RUNS.items():
        if one := known.get(identity):
            yield from _at_once(one, least)


def _against(ours: Measured, floor: Measured, factors: Mapping[int, float]) -> Iterator[Budget]:
    for turns, most in factors.items():
        if found := ratio(ours, floor, turns):
            what = f"CPU of a turn against {floor.name}, {turns:,} turns"
            held = _at_most(found.value, most, cut=found.at_least)
            yield Budget(what, f"at most {most:.2f}x", f"{found.value:.2f}x", held)


def _against_frameworks(ours: Measured, frameworks: list[Measured]) -> Iterator[Budget]:
    for turns, least in _LESS_THAN_FRAMEWORKS.items():
        found = [(known, one) for one in frameworks if (known := ratio(one, ours, turns))]
        if not found:
            continue
        best, one = min(found, key=lambda each: each[0].value)
        held = best.value >= least or (None if best.at_least else False)
        told = f"{'at least ' if best.at_least else ''}{best.value:.0f}x"
        what = f"CPU of a turn of the best framework ({one.name}) against toolreel, {turns:,} turns"
        yield Budget(what, f"at least {least:.0f}x", told, held)


def _at_once(one: Measured, least: float) -> Iterator[Budget]:
    if runs := runs_a_second(one, _MANY):
        what = f"{one.name}: runs for a second of CPU, {_MANY:,} at once"
        held = _at_most(-runs.value, -least, cut=runs.cut_at is not None)
        yield Budget(what, f"at least {least:.0f}", f"{runs.value:.0f}", held)
    if memory := more_memory(one, _MANY):
        what = f"{one.name}: memory for {_MANY:,} at once"
        held = _at_most(memory.value, _MEMORY, cut=memory.cut_at is not None)
        yield Budget(what, f"at most {_MEMORY:.0f} MiB", f"{memory.value:.0f} MiB", held)


def _at_most(value: float, most: float, *, cut: bool) -> bool | None:
    """Whether a cost is within its budget; of what was cut, the whole costs more."""
    return False if value > most else None if cut else True
