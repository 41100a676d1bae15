"""The four tables of the tool calling case study, of any evaluation, and the study's own snapshot.

Figures are counted as the study counts: of all runs, so what a provider refused or failed is a failure, and
percentiles are those of its harness. ``case_study.toml`` has its snapshot in the shape of our figures, so
that one function renders both.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from toolreel._internal import ResultsError
from toolreel.evals._report.tables import TextTable, percent_text
from toolreel.evals._statistics import group_by_key
from toolreel.evals._summary.totals import recommendation, tool_and_control_trials
from toolreel_core._jsontext import as_tree, parse
from toolreel_core.evals import EvalPlan, Trial, harness_name_of_category, percentile_as_in_harness


def published_case_study_figures() -> dict[str, Any]:
    """The figures that the study has published: ``strategy``, ``notes`` of scenarios, and ``model``."""
    text = files("toolreel.evals._report").joinpath("case_study.toml").read_text("utf-8")
    return tomllib.loads(text)


def measured_case_study_figures(trials: Iterable[Trial], plan: EvalPlan) -> dict[str, Any]:
    """The figures of an evaluation, in the shape of the study's; models under production, if that was run."""
    made = [one for one in trials if one.key]
    if not made:
        raise ResultsError("no run has been made yet; `toolreel eval run` makes them")
    strategies = group_by_key(made, lambda one: one.cell.strategy)
    chosen = "production" if "production" in strategies else [*strategies][-1]
    models = group_by_key(strategies[chosen], lambda one: one.cell.model)
    scenarios = group_by_key(made, lambda one: one.cell.scenario)
    shares = {name: fmean(one.ok for one in rows) for name, rows in scenarios.items() if not rows[0].control}
    least = min(shares.values(), default=1.0)
    hardest = [name for name, share in shares.items() if share == least < 1]
    return {
        "chosen": chosen,
        "strategy": {name: _strategy_row(rows) for name, rows in strategies.items()},
        "notes": {
            **({hardest[0]: "hardest"} if len(hardest) == 1 else {}),
            **{name: "control" for name, rows in scenarios.items() if rows[0].control},
        },
        "model": {name: _model_row(rows, plan) for name, rows in models.items()},
    }


def _passed_and_total_counts(rows: Sequence[Trial]) -> tuple[int, int]:
    return sum(one.ok for one in rows), len(rows)


def _error_counts(rows: Iterable[Trial]) -> dict[str, int]:
    return dict(
        Counter(
            harness_name_of_category(one.category, one.status) for one in rows if not one.ok
        ).most_common()
    )


def _strategy_row(rows: Sequence[Trial]) -> dict[str, Any]:
    tools, controls = tool_and_control_trials(rows)
    scenarios = group_by_key(rows, lambda one: one.cell.scenario)
    return {
        "overall": _passed_and_total_counts(rows),
        "tools": _passed_and_total_counts(tools),
        "control": _passed_and_total_counts(controls),
        **{f"tool_p{at}_ms": percentile_as_in_harness([one.ms for one in tools], at) for at in (50, 95)},
        "categories": _error_counts(rows),
        "scenarios": {name: _passed_and_total_counts(of_scenario) for name, of_scenario in scenarios.items()},
    }


def _model_row(rows: Sequence[Trial], plan: EvalPlan) -> dict[str, Any]:
    tools, controls = tool_and_control_trials(rows)
    profiles = group_by_key(tools or rows, lambda one: one.cell.profile)
    shares = {name: fmean(one.ok for one in of_profile) for name, of_profile in profiles.items()}
    best = max(shares, key=lambda name: shares[name])
    runs, control = profiles[best], [one for one in controls if one.cell.profile == best]
    errors, advice = _error_counts(runs), recommendation(runs).capitalize()
    notes = [_cell_text(errors)] if errors else []
    if not all(one.ok for one in control):
        notes.append(f"control passes {_cell_text(_passed_and_total_counts(control))}")
        advice = advice.replace("Yes", "Yes (tool scenarios)")
    cell = rows[0].cell
    strategy = next(each for each in plan.strategies if each.name == cell.strategy)
    known = plan.presets.workaround(plan.endpoint_at(cell.endpoint).provider, cell.model).names
    equals = []
    for name in (name for name, share in shares.items() if share == shares[best]):
        options = as_tree(parse(plan.presets.profile(name).options)).items()
        shown = " ".join(f"{'t' if key == 'temperature' else key}={value}" for key, value in options)
        equals.append(f"{name} ({shown or 'no overrides'})")
    return {
        "profile": best,
        "tools": _passed_and_total_counts(runs),
        "p95_ms": percentile_as_in_harness([one.ms for one in runs], 95),
        "recommended": advice,
        "notes": "; ".join(notes) or "-",
        "profiles": " / ".join(equals),
        "preset": " + ".join((*(known if strategy.workarounds else ()), *strategy.presets)) or "-",
        "advised": advice,
        "advice": ", ".join(f"{name} {percent_text(share)}" for name, share in shares.items()),
    }


def case_study_tables(figures: Mapping[str, Any], whose: str) -> list[TextTable]:
    """The study's four tables, with its columns.

    :param whose: what the titles say of whose figures they are
    """
    strategies, models, columns = (
        figures["strategy"],
        figures["model"],
        published_case_study_figures()["columns"],
    )
    names = dict.fromkeys(name for each in strategies.values() for name in each["scenarios"])
    by_scenario = [
        (
            name,
            *(_cell_text(each["scenarios"].get(name, (0, 0))) for each in strategies.values()),
            figures["notes"].get(name, "-"),
        )
        for name in names
    ]

    def table(title: str, what: str, first: str, rows: Mapping[str, Mapping[str, Any]]) -> TextTable:
        keys = columns[what].values()
        cells = [(name, *(_cell_text(each[key]) for key in keys)) for name, each in rows.items()]
        return TextTable(f"{title}: {whose}", (first, *columns[what]), cells)

    best = f"{figures.get('chosen', 'production')} best-per-model (tool scenarios only)"
    return [
        table("Strategy summary", "strategy", "strategy", strategies),
        TextTable(f"By scenario (ok / runs): {whose}", ("scenario", *strategies, "notes"), by_scenario),
        table(best, "best", "model", models),
        table("Production config and model recommendations", "config", "model", models),
    ]


def _cell_text(figure: Any) -> str:  # noqa: ANN401 - a text, a number, passed of all runs, or runs by category
    match figure:
        case [ok, runs]:
            return f"{ok}/{runs} ({percent_text(ok / runs)})" if runs else "-"
        case Mapping():
            return ", ".join(f"{error} ({count})" for error, count in figure.items()) or "-"
        case _:
            return str(figure)
