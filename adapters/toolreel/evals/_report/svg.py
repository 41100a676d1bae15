"""SVG drawings, their colours, and numbers and texts for readers; the same values give the same bytes.

No two neighbouring marks differ in hue alone: results have words, strategies have shapes. Colours are written
out instead of CSS variables, since programs that render pictures in documents know no variables; without dark
mode, the light colours apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from toolreel._internal.visible_text import printable
from toolreel_core.evals._statistics.counts import Interval
from toolreel_core.evals._verdicts import Result

LONGEST: Final = 4_000
"""Characters of one text that the page shows."""


def percent(share: float | None) -> str:
    """A share in percent, with one digit behind the point where it is needed.

    >>> percent(0.8667), percent(1.0), percent(None)
    ('86.7 %', '100 %', 'no valid run')
    """
    return "no valid run" if share is None else f"{_short(100 * share)} %"


def points(share: float) -> str:
    """A difference of two shares, in points.

    >>> points(0.041), points(-0.5), points(0.0)
    ('+4.1 points', '-50 points', '0 points')
    """
    sign = "+" if share > 0 else ""
    return f"{sign}{_short(100 * share)} points"


def interval_words(interval: Interval | None) -> str:
    """An interval, and nothing where there is none."""
    return "" if interval is None else str(interval)


def thousands(number: float) -> str:
    """A number with its thousands apart.

    >>> thousands(12345), thousands(0.00123), thousands(2.5)
    ('12,345', '0.00123', '2.5')
    """
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def truncated(text: str, longest: int = LONGEST) -> str:
    """A text that models or servers wrote, truncated, with the number of omitted characters.

    >>> truncated("abcdef", 4)
    'abcd … 2 more characters are in the cassette'
    """
    rest = len(text) - longest
    if rest <= 0:
        return printable(text)
    return f"{printable(text[:longest])} … {rest:,} more characters are in the cassette"


def _short(number: float) -> str:
    digits = f"{number:.1f}".removesuffix(".0")
    return "0" if digits == "-0" else digits


Shade = tuple[str, str]
"""A colour in light and in dark, each as ``#rrggbb``."""

RESULTS: Final[dict[Result, str]] = {
    "pass": "passed",
    "pass_unexercised": "passed without the hard part",
    "fail": "failed",
    "unsupported": "unsupported",
    "void": "void",
}
"""What each result is called."""

_FILLS: Final[dict[str, Shade]] = {
    "paper": ("#ffffff", "#14181d"),
    "ink": ("#1b1f24", "#e8ecf1"),
    "soft": ("#55606b", "#a4afbb"),
    "none": ("#eef0f2", "#262c33"),
    "pass": ("#0072b2", "#5fb2e6"),
    "pass_unexercised": ("#8cc6ee", "#2b6c99"),
    "fail": ("#d55e00", "#f08a3c"),
    "unsupported": ("#7a838c", "#8d969f"),
    "void": ("#c3c9cf", "#4a535c"),
    "series0": ("#0072b2", "#5fb2e6"),
    "series1": ("#c4540a", "#f08a3c"),
    "series2": ("#00805c", "#3fc79b"),
    "series3": ("#a34d80", "#dd8fbd"),
    "series4": ("#6b5b00", "#d8c24a"),
    "series5": ("#55606b", "#a4afbb"),
}
_LINES: Final[dict[str, Shade]] = {"grid": ("#d5dae0", "#39424c"), "axis": ("#7a838c", "#8d969f")}
_LOW: Final[Shade] = ("#f4b183", "#74390f")
_MIDDLE: Final[Shade] = ("#f4efe4", "#3c3f43")
_HIGH: Final[Shade] = ("#a5cdea", "#194d74")

_SERIES: Final = 6


def _between(low: str, high: str, share: float) -> str:
    parts = (
        round(int(low[at : at + 2], 16) * (1 - share) + int(high[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _heat(step: int) -> Shade:
    share = step / 10
    if share <= 0.5:
        return _between(_LOW[0], _MIDDLE[0], share * 2), _between(_LOW[1], _MIDDLE[1], share * 2)
    return _between(_MIDDLE[0], _HIGH[0], share * 2 - 1), _between(_MIDDLE[1], _HIGH[1], share * 2 - 1)


HEAT: Final[tuple[Shade, ...]] = tuple(_heat(step) for step in range(11))
"""From a rate of 0 to one of 1; text in the colour of ink is readable on each."""


def heat_class(rate: float | None) -> str:
    """The class of a cell with that rate.

    >>> heat_class(0.0), heat_class(0.96), heat_class(None)
    ('heat0', 'heat10', 'none')
    """
    return "none" if rate is None else f"heat{round(rate * 10)}"


def series_class(place: int) -> str:
    """The class of a strategy, by its place among them.

    >>> series_class(0), series_class(7)
    ('series0', 'series1')
    """
    return f"series{place % _SERIES}"


def drawing_css() -> str:
    """The rules of all drawings; dark ones hold on screens only, so that paper stays white."""
    return (
        f"{''.join(_rules(0))}"
        "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px}"
        ".small{font-size:10.5px}.bold{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}"
        ".thick{stroke-width:2}"
        f"@media screen and (prefers-color-scheme:dark){{{''.join(_rules(1))}}}"
    )


def _rules(mode: int) -> Iterator[str]:
    fills = _FILLS | {f"heat{step}": shade for step, shade in enumerate(HEAT)}
    for name, shade in fills.items():
        yield f".{name}{{fill:{shade[mode]}}}"
    for name, shade in (_LINES | {f"line-{name}": shade for name, shade in _FILLS.items()}).items():
        if not name.startswith(("line-paper", "line-none")):
            yield f".{name}{{stroke:{shade[mode]};fill:none}}"
    # In the page's tables the same colours lie behind text.
    for step, shade in enumerate(HEAT):
        yield f"td.heat{step}{{background:{shade[mode]}}}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture."""

    name: str
    """Of its file, and what its identifiers begin with."""
    width: float
    height: float
    title: str
    about: str
    """What one sees in it, for those who do not see it."""
    body: str

    @property
    def inline(self) -> str:
        """The element for a page that has the rules of all drawings; as wide as its place."""
        return self._element("", "")

    @property
    def standalone(self) -> str:
        """A file of its own, readable on light and on dark paper."""
        paper = rect(0, 0, self.width, self.height, "paper")
        size = f' width="{_number(self.width)}" height="{_number(self.height)}"'
        return self._element(f"<style>{drawing_css()}</style>{paper}", size)

    def _element(self, before: str, size: str) -> str:
        size = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}"{size}'
        label = f'role="img" aria-labelledby="{self.name}-title {self.name}-about"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>'
            f'<title id="{self.name}-title">{_text(self.title)}</title>'
            f'<desc id="{self.name}-about">{_text(self.about)}</desc>{before}{self.body}</svg>\n'
        )


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return f'<rect {_attributes(x=x, y=y, width=width, height=height)} class="{kind}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line {_attributes(x1=x1, y1=y1, x2=x2, y2=y2)} class="{kind}"/>'


def text(x: float, y: float, content: str, kind: str = "ink") -> str:
    """A text whose base line begins there."""
    return f'<text {_attributes(x=x, y=y)} class="{kind}">{_text(content)}</text>'


def marker(place: int, x: float, y: float, kind: str) -> str:
    """The shape of the strategy at a place, around a point."""
    corners: tuple[tuple[float, float], ...]
    match place % 4:
        case 0:
            return rect(x - 4.5, y - 4.5, 9, 9, kind)
        case 1:
            return f'<circle {_attributes(cx=x, cy=y)} r="5" class="{kind}"/>'
        case 2:
            corners = ((x, y - 6), (x + 5.5, y + 4.5), (x - 5.5, y + 4.5))
        case _:
            corners = ((x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y))
    path = " ".join(f"{_number(across)},{_number(down)}" for across, down in corners)
    return f'<polygon points="{path}" class="{kind}"/>'


def width_of(words: str) -> float:
    """About how wide a text is, in the size of most texts."""
    return 6.6 * len(words)


def _attributes(**numbers: float) -> str:
    return " ".join(f'{name}="{_number(value)}"' for name, value in numbers.items())


def _number(value: float) -> str:
    """A length, with as few digits as a picture needs."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _text(words: str) -> str:
    return escape(printable(words), quote=False)
