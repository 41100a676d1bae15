"""The cost of a turn against the number of turns, as an SVG that needs nothing else, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from math import ceil, floor, log10

from benchmarks.peers.figures import cpu_a_turn
from benchmarks.peers.results import Measured, Results

__all__ = ["plot"]

_WIDTH, _HEIGHT = 920, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 270, 50, 60
_APART = 17.0
"""Pixels between two names at the right edge."""
_LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "faint": "#6a737d", "grid": "#d8dee4"}
_DARK = {"paper": "#0d1117", "ink": "#f0f6fc", "faint": "#9198a1", "grid": "#2f353d"}
_OTHERS = ("#0a7ea4", "#d1570b", "#12935f", "#c2569b", "#8a63d2", "#b08000", "#d64545")
"""For those that are not ours; each stands out on white and on black."""

_SHAPES = """\
text { font: 13px system-ui, sans-serif }
.title { font-size: 15px; font-weight: 600 }
.small, .name { font-size: 12px }
.line { fill: none; stroke-width: 1.6 }
.ours { stroke-width: 3 }
.floor { stroke-dasharray: 5 4 }
"""


def _colours(named: Mapping[str, str]) -> str:
    """A class for what is filled, and one for what is drawn, in each colour."""
    return "".join(
        f".{name} {{ fill: {colour} }} .{name}-line {{ stroke: {colour} }}\n"
        for name, colour in named.items()
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """One contestant's."""

    name: str
    kind: str
    colour: str
    """The class that has it."""
    points: Sequence[tuple[float, float, bool]]
    """Turns, milliseconds of CPU a turn, and whether the limit of time ended those runs there."""

    @property
    def end(self) -> tuple[float, float, bool]:
        """The last point."""
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Logarithms on both axes."""

    most_turns: float
    low: float
    high: float
    """Powers of ten of the cost."""

    def x(self, turns: float) -> float:
        """From the left, in pixels."""
        width = _WIDTH - _LEFT - _RIGHT
        return _LEFT + width * log10(turns) / max(log10(self.most_turns), 1e-9)

    def y(self, cost: float) -> float:
        """From the top, in pixels."""
        height = _HEIGHT - _TOP - _BOTTOM
        return _HEIGHT - _BOTTOM - height * (log10(cost) - self.low) / (self.high - self.low)


def plot(results: Results) -> str:
    """The picture."""
    lines = [*_lines(results.contestants.values())]
    costs = [cost for line in lines for _, cost, _ in line.points]
    turns = sorted({turns for one in results.contestants.values() for turns in one.one})
    others = {f"other{place}": colour for place, colour in enumerate(_OTHERS)}
    scale = _Scale(turns[-1], floor(log10(min(costs))), ceil(log10(max(costs))))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        "<title>CPU time of a turn against the number of turns of a run</title>",
        f"<style>\n{_SHAPES}{_colours(_LIGHT | others)}",
        f"@media (prefers-color-scheme: dark) {{\n{_colours(_DARK)}}}\n</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>',
        _text(_LEFT, 24, "CPU of the client for a turn, by turns of the run", "title ink"),
        _text(_LEFT, 41, f"{results.date}, {results.machine.cpu}, both axes logarithmic", "small faint"),
        *_axes(scale, turns),
        *(part for line in lines for part in _drawn(line, scale)),
        *_names(lines, scale),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _lines(contestants: Iterable[Measured]) -> Iterator[_Line]:
    others = cycle(range(len(_OTHERS)))
    for one in contestants:
        figures = [(turns, found) for turns in sorted(one.one) if (found := cpu_a_turn(one, turns))]
        if not figures:
            continue
        colour = "faint" if one.kind == "floor" else "ink"
        if one.kind in {"sdk", "framework"}:
            colour = f"other{next(others)}"
        points = [(found.cut_at or turns, found.value, found.cut_at is not None) for turns, found in figures]
        yield _Line(one.name, one.kind, colour, sorted(points))


def _axes(scale: _Scale, turns: Sequence[int]) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for power in range(round(scale.low), round(scale.high) + 1):
        y = scale.y(10.0**power)
        yield f'<path class="line grid-line" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield _text(_LEFT - 8, y + 4, f"{10.0**power:,g} ms", "small faint", "end")
    for count in turns:
        x = scale.x(count)
        yield f'<path class="line grid-line" d="M{x:.1f} {_TOP}V{bottom}"/>'
        yield _text(x, bottom + 18, f"{count:,}", "small faint", "middle")
    yield _text((_LEFT + right) / 2, bottom + 40, "turns of the run", "small faint", "middle")


def _drawn(line: _Line, scale: _Scale) -> Iterator[str]:
    at = [(scale.x(turns), scale.y(cost), cut) for turns, cost, cut in line.points]
    kind = {"toolreel": " ours", "floor": " floor"}.get(line.kind, "")
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in at)
    yield f'<path class="line {line.colour}-line{kind}" d="M{path}"/>'
    for x, y, cut in at:
        look = f'r="4" class="paper {line.colour}-line"' if cut else f'r="3" class="{line.colour}"'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" {look}/>'


def _names(lines: Sequence[_Line], scale: _Scale) -> Iterator[str]:
    """At the right edge, next to where the lines end, but never over each other."""
    ends = sorted((scale.y(line.end[1]), line.name, line) for line in lines)
    at, placed = float(_TOP), []
    for y, _, line in ends:
        at = max(y, at)
        placed.append((at, line))
        at += _APART
    over = max(0.0, at - (_HEIGHT - _BOTTOM) - _APART)
    for y, line in placed:
        turns, cost, cut = line.end
        edge, level = _WIDTH - _RIGHT + 14, y - over
        yield (
            f'<path class="line grid-line" '
            f'd="M{scale.x(turns) + 6:.1f} {scale.y(cost):.1f}L{edge - 4} {level:.1f}"/>'
        )
        name = f"{line.name}, cut at {turns:,.0f}" if cut else line.name
        yield _text(edge, level + 4, name, f"name {line.colour}")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
