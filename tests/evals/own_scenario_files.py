"""Scenario files for tests, and evaluations of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.evals.provider import provider
from toolreel.evals import Results, evaluate, load_eval_plan
from toolreel_core._jsontext import Json
from toolreel_core.evals import EvalPlan, ScriptKind

RESERVE = Path(__file__).with_name("files").joinpath("reserve.toml").read_text("utf-8")

PYTHON = """\
from toolreel.evals import scenario
from toolreel_core.evals import Case, ScenarioScripts, TableWorld, call, outcome, script
from toolreel_core import ToolDefinition, ToolSurface, UserMessage


def noted(seen):
    orders = seen.world.contents()["orders"]
    return "" if len(orders) == 1 else f"{len(orders)} notes instead of one"


@scenario("take_note", about="One note.")
def take_note(seed: str) -> Case:
    word = f"milk {seed[:4]}"
    return Case(
        (UserMessage(f"Note: {word}."),),
        ToolSurface((ToolDefinition.of("note", "Note a text.", {"type": "object"}),)),
        TableWorld(effects=("note",)),
        (outcome("noted", noted),),
        ScenarioScripts(script(call("note", text=word), "Noted."), script("Noted.")),
    )
"""


def written(folder: Path, text: str = RESERVE, name: str = "reserve.toml") -> Path:
    """A scenario file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def plan_for(path: Path, url: str = "http://localhost", **changes: Json) -> EvalPlan:
    """A plan of one model and two trials of the scenarios of a file."""
    chosen: Json = {
        "add_models": ["vendor/model"],
        "strategies": ["raw"],
        "scenarios": [str(path)],
        "trials": 2,
    }
    return load_eval_plan(None, {"eval": chosen, "endpoint": {"base_url": url}, **changes}, environ={})


def evaluated_file(
    path: Path,
    out: Path,
    kind: ScriptKind = "good",
    worded: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Results:
    """The results of a server that plays one kind of a file's scripts, run after run."""
    with provider(kinds=(kind,), file=path, worded=worded) as there:
        evaluate(plan_for(path, there.url), out)
    return Results.open(out)
