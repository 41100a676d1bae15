"""The colours of pictures and page, in light and in dark.

No two that stand beside each other differ in hue alone: results have words, strategies have shapes.
Colours are written out and not named as variables, since what draws pictures in documents knows no
variables; where nothing is known of dark mode, the light ones stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolreel_core.evals._verdicts.verdict import Result

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
_LINES: Final[dict[str, Shade]] = {
    "grid": ("#d5dae0", "#39424c"),
    "axis": ("#7a838c", "#8d969f"),
}
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
