"""What tasks, cells and runs are called on the page, and the names by which links lead to them."""

from __future__ import annotations

from toolreel_core._jsontext.digest import chain
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan

_DIGITS = 12


def label_of(cell: Cell, plan: EvalPlan) -> str:
    """What a task is called: by whatever is not the same for all of them."""
    language = f" {cell.language}" if len(plan.languages) > 1 else ""
    return f"{plan.label(cell)}{language}"


def cell_name(cell: Cell) -> str:
    """The name of a cell in links; the same on every page of the same plan."""
    return chain("report cell", *cell.task, cell.scenario)[:_DIGITS]
