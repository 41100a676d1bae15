"""The pictures of a report, by the names of their files."""

from __future__ import annotations

from toolreel.evals._report.content import ReportContent
from toolreel.evals._report.costs import costs_drawing
from toolreel.evals._report.failures import failures_drawing
from toolreel.evals._report.forest import forest_drawing
from toolreel.evals._report.heat import heat_drawing
from toolreel.evals._report.svg import Drawing


def drawings(content: ReportContent) -> tuple[Drawing, ...]:
    """All pictures: heat map, strategies, failures, cost."""
    return (
        heat_drawing(content.heat),
        forest_drawing(content.findings.strategies, content.compared),
        failures_drawing(content.breakdown),
        costs_drawing(content.costs),
    )


def report_pictures(content: ReportContent) -> dict[str, str]:
    """The text of each file, such as that of ``heatmap.svg``."""
    return {f"{drawing.name}.svg": drawing.standalone for drawing in drawings(content)}
