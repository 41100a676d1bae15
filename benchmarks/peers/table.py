"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.peers.budgets import budgets
from benchmarks.peers.figures import (
    Figure,
    Ratio,
    cpu_a_turn,
    import_cpu,
    more_memory,
    peak,
    ratio,
    runs_a_second,
    wall_a_turn,
)
from benchmarks.peers.results import Measured, Results

__all__ = ["budget_table", "cpu_table", "wall_table"]

_NONE = "–"
_HELD = {True: "yes", False: "**no**", None: "not known, it was cut"}


def cpu_table(results: Results) -> str:
    """CPU of a turn, many runs at once, memory and import, with ratios, versions, date and machine."""
    machine = results.machine
    turns, at_once = _points(results, lambda one: one.one), _points(results, lambda one: one.many)
    heads = [
        f"{results.date}, {machine.cpu}, {machine.cores} cores, Python {machine.python}",
        "version",
        *(f"{count:,} {'turn' if count == 1 else 'turns'}" for count in turns),
        *(f"{count:,} at once" for count in at_once),
        "memory for that",
        "import",
    ]
    ours = results.contestants.get("toolreel")
    rows = [
        [
            one.name,
            one.version,
            *(_cost(one, ours, count) for count in turns),
            *(_shown(runs_a_second(one, count), _rate, "<") for count in at_once),
            _shown(more_memory(one, max(at_once, default=0)), lambda value: f"{value:.0f} MiB"),
            f"{import_cpu(one):.0f} ms",
        ]
        for one in results.contestants.values()
    ]
    lines = [*_table(heads, rows)]
    lines += [_line([name, f"not installed: {why}"]) for name, why in results.missing.items()]
    lines += [f"\n{one.name}: {one.broken}" for one in results.contestants.values() if one.broken]
    return "\n".join(lines) + "\n"


def wall_table(results: Results) -> str:
    """Wall time of a turn, the most memory of runs one after another, and what the server took meanwhile."""
    turns = _points(results, lambda one: one.one)
    heads = [
        "wall ms a turn",
        *(f"{count:,}" for count in turns),
        "memory at most",
        "CPU of the server a turn",
    ]
    rows = [
        [
            one.name,
            *(_shown(wall_a_turn(one, count), _ms) for count in turns),
            _shown(peak(one, max(turns, default=0)), lambda value: f"{value:.0f} MiB"),
            _server(one),
        ]
        for one in results.contestants.values()
    ]
    return "\n".join(_table(heads, rows)) + "\n"


def budget_table(results: Results) -> str:
    """What toolreel is held to."""
    rows = [[each.what, each.wanted, each.found, _HELD[each.held]] for each in budgets(results)]
    return "\n".join(_table(["", "wanted", "found", "holds"], rows)) + "\n"


def _points(results: Results, of: Callable[[Measured], Iterable[int]]) -> list[int]:
    return sorted({point for one in results.contestants.values() for point in of(one)})


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    ruler = "|---|" + "---:|" * (len(heads) - 1)
    return [_line(heads), ruler, *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cost(one: Measured, ours: Measured | None, turns: int) -> str:
    """Milliseconds, and how often toolreel's that is."""
    against = ratio(one, ours, turns) if ours and ours is not one else None
    return _shown(cpu_a_turn(one, turns), _ms, more=f" ({_times(against)})" if against else "")


def _shown(found: Figure | None, form: Callable[[float], str], sign: str = ">", more: str = "") -> str:
    """A figure; where runs were cut, on which side of it that of whole runs is, and where they were cut."""
    if found is None:
        return _NONE
    if found.cut_at is None:
        return form(found.value) + more
    return f"{sign} {form(found.value)}{more}, cut at {found.cut_at}"


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _rate(value: float) -> str:
    return f"{value:.0f}/s" if value >= 20 else f"{value:.1f}/s"


def _times(found: Ratio) -> str:
    times = f"{found.value:.2f}x" if found.value < 10 else f"{found.value:.0f}x"
    return f"> {times}" if found.at_least else times


def _server(one: Measured) -> str:
    """Microseconds, at the longest runs."""
    samples = one.one.get(max(one.one, default=0), ())
    turns = sum(sample.turns for sample in samples)
    return f"{sum(sample.server for sample in samples) / turns * 1e6:.0f} us" if turns else _NONE
