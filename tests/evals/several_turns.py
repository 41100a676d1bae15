"""A scenario in which the user speaks three times, and a plan that has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.evals.provided import planned
from toolreel_core._conversation import UserMessage
from toolreel_core._plan import Preset
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import (
    Answer,
    Case,
    Desk,
    EvalPlan,
    Evidence,
    Scenario,
    ScenarioScripts,
    call,
    called_before,
    exercise,
    ordered,
    outcome,
    reads,
    says_something,
    script,
    takes,
    text,
)

__all__ = ["RESERVING", "plan_of_several_turns"]

_TOOLS = (
    reads("stock_of", "How many pieces of an article there are.", sku=text("The article.")),
    takes("reserve", "Reserve an article.", sku=text("The article."), pieces={"type": "integer"}),
)
_DESK = Desk((Answer.of("stock_of", {"sku": "LAMP"}, {"pieces": 3}),), ("reserve",))
_CASE = Case(
    (UserMessage("How many lamps (LAMP) are there?"),),
    ToolSurface(_TOOLS),
    _DESK,
    follow_ups=("Reserve two of them.", "Thank you. Done."),
)


def _answered(seen: Evidence) -> str:
    return "" if "3" in seen.answers[0] else "the first answer does not say how many there are"


_CHECKS = (
    ordered(("reserve", {"sku": "LAMP", "pieces": 2})),
    outcome("stock", _answered),
    outcome("answer", says_something),
    exercise("looked", called_before("stock_of", before="reserve")),
)
_SCRIPTS = ScenarioScripts(
    script(
        call("stock_of", sku="LAMP"),
        "There are 3.",
        call("reserve", sku="LAMP", pieces=2),
        "I have reserved 2.",
        "You are welcome.",
    ),
    script("There are 3.", call("reserve", sku="LAMP", pieces=3), "Reserved.", "Welcome."),
)
RESERVING: Final = Scenario(
    "reserving",
    "own",
    "A question, an order that refers to its answer, and thanks.",
    1,
    (),
    lambda _: replace(_CASE, checks=_CHECKS, scripts=_SCRIPTS),
    Preset.of("reserving", {"config": {"tool_use_mode": "relaxed"}}),
)


def plan_of_several_turns(url: str, **more: Any) -> EvalPlan:  # noqa: ANN401 - what is in a plan file
    """A plan of one model and that scenario."""
    return replace(planned(url, **more), scenarios=(RESERVING,))
