"""Numbers and texts for readers of the page, and its colours."""

from __future__ import annotations

from typing import Final

from toolreel._internal import printable
from toolreel_core.evals import Interval, Result


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


def truncated(text: str, longest: int = 4_000) -> str:
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
    "pass": ("#0072b2", "#5fb2e6"),
    "pass_unexercised": ("#8cc6ee", "#2b6c99"),
    "fail": ("#d55e00", "#f08a3c"),
    "unsupported": ("#7a838c", "#8d969f"),
    "void": ("#c3c9cf", "#4a535c"),
}
_LOW: Final[Shade] = ("#f4b183", "#74390f")
_MIDDLE: Final[Shade] = ("#f4efe4", "#3c3f43")
_HIGH: Final[Shade] = ("#a5cdea", "#194d74")


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


def result_css() -> str:
    """The rules of results and rates; dark ones hold on screens only, so that paper stays white."""
    return f"{_rules(0)}@media screen and (prefers-color-scheme:dark){{{_rules(1)}}}"


def _rules(mode: int) -> str:
    fills = "".join(f".{name}{{fill:{shade[mode]}}}" for name, shade in _FILLS.items())
    heat = (f"td.heat{step}{{background:{shade[mode]}}}" for step, shade in enumerate(HEAT))
    return f"{fills}{''.join(heat)}"
