"""Colours and drawings."""

from __future__ import annotations

import re

import pytest

from toolreel.evals._report.forest import rate_axis
from toolreel.evals._report.svg import HEAT, Drawing, drawing_css, text


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def colours(name: str) -> list[str]:
    """In light and in dark."""
    return re.findall(rf"\.{name}\{{fill:(#[0-9a-f]{{6}})\}}", drawing_css())


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read(mode: int) -> None:
    ink, soft, paper, none = (colours(name)[mode] for name in ("ink", "soft", "paper", "none"))
    for background in (paper, none, *(shade[mode] for shade in HEAT)):
        assert contrast(ink, background) >= 7
    assert contrast(soft, paper) >= 4.5


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_every_mark_stands_out_from_the_paper(mode: int) -> None:
    paper = colours("paper")[mode]
    for name in ("pass", "fail", "unsupported", *(f"series{place}" for place in range(6))):
        assert contrast(colours(name)[mode], paper) >= 3, name


def test_names_are_written_and_never_read_as_markup() -> None:
    drawing = Drawing("x", 10.0, 10.128, "<title>", "a & b", text(1, 2, "</svg><script>\x00"))
    assert "<script>" not in drawing.standalone
    assert "&lt;/svg&gt;&lt;script&gt;\\x00" in drawing.inline
    assert 'viewBox="0 0 10 10.13"' in drawing.inline
    assert "<style>" not in drawing.inline


@pytest.mark.parametrize(
    ("least", "most", "steps"),
    [
        (0.0, 0.39, [0, 0.1, 0.2, 0.3, 0.4]),
        (0.053, 0.895, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.5, 0.5, [0.5, 0.6]),
        (1.0, 1.0, [0.9, 1.0]),
        (0.11, 0.72, [0.0, 0.2, 0.4, 0.6, 0.8]),
    ],
)
def test_rates_are_read_from_round_numbers(least: float, most: float, steps: list[float]) -> None:
    axis, parts = rate_axis(least, most)
    assert axis.ticks(parts) == pytest.approx(steps)
