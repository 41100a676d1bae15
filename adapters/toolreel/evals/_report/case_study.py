"""The four tables of the tool calling case study, of any evaluation, and the study's own snapshot.

Figures are counted as the study counts: of all runs, so what a provider refused or failed is a failure, and
percentiles are those of its harness. ``case_study.toml`` has its snapshot in the shape of our figures, so
that one function renders both.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from toolreel._internal import ResultsError
from toolreel.evals._report.rendering import TextTable, percent
from toolreel.evals._summary.totals import grouped, recommendation
from toolreel_core._jsontext import as_tree, parse
from toolreel_core.evals import Cell, EvalPlan, Trial, alias_of, reference_percentile

_GUARDS: Final = ("long_arguments_guard", "study_long_arguments_guard")
"""The scenario of which the study says that argument discipline decides it, by both of its names here."""
_ADVICE: Final = {
    "yes": "Yes",
    "conditional": "Conditional",
    "no": "No (tool calling)",
    "undecided": "Undecided",
}


def case_study() -> dict[str, Any]:
    """The figures that the study has published: ``strategy``, ``notes`` of scenarios, and ``model``.

    >>> case_study()["strategy"]["raw"]["tools"]
    [496, 580]
    """
    text = files("toolreel.evals._report").joinpath("case_study.toml").read_text("utf-8")
    return tomllib.loads(text)


def case_study_figures(trials: Iterable[Trial], plan: EvalPlan) -> dict[str, Any]:
    """The figures of an evaluation, in the shape of the study's; models under production, if that was run.

    :raises ResultsError: if no run has been made
    """
    made = [one for one in trials if one.key]
    if not made:
        raise ResultsError("no run has been made yet; `toolreel eval run` makes them")
    strategies = grouped(made, lambda one: one.cell.strategy)
    chosen = "production" if "production" in strategies else [*strategies][-1]
    return {
        "strategy": {name: _strategy(rows) for name, rows in strategies.items()},
        "notes": _notes(made),
        "chosen": chosen,
        "model": {
            name: _model(rows, plan)
            for name, rows in grouped(strategies[chosen], lambda one: one.cell.model).items()
        },
    }


def _strategy(rows: Sequence[Trial]) -> dict[str, Any]:
    tools, controls = _parts(rows)
    ms = [one.ms for one in tools]
    errors = Counter(alias_of(one.category, one.status) for one in rows if not one.ok)
    scenarios = grouped(rows, lambda one: one.cell.scenario)
    return {
        "overall": _count(rows),
        "tools": _count(tools),
        "control": _count(controls),
        "tool_p50_ms": reference_percentile(ms, 50),
        "tool_p95_ms": reference_percentile(ms, 95),
        "categories": dict(errors.most_common()),
        "scenarios": {name: _count(of_scenario) for name, of_scenario in scenarios.items()},
    }


def _parts(rows: Iterable[Trial]) -> tuple[list[Trial], list[Trial]]:
    """The runs of tool scenarios, and of controls."""
    given = [*rows]
    return [one for one in given if not one.control], [one for one in given if one.control]


def _count(rows: Sequence[Trial]) -> tuple[int, int]:
    return sum(one.ok for one in rows), len(rows)


def _notes(made: Iterable[Trial]) -> dict[str, str]:
    """Which tool scenario is hardest, if one is, and which are controls."""
    tools, controls = _parts(made)
    shares = {
        name: sum(one.ok for one in rows) / len(rows)
        for name, rows in grouped(tools, lambda one: one.cell.scenario).items()
    }
    least = min(shares.values(), default=1.0)
    hardest = [name for name, share in shares.items() if share == least < 1]
    return {
        **({hardest[0]: "hardest"} if len(hardest) == 1 else {}),
        **dict.fromkeys((one.cell.scenario for one in controls), "control"),
    }


def _model(rows: Sequence[Trial], plan: EvalPlan) -> dict[str, Any]:
    """Its best sampling profile, the first of several that are equally good; and what to configure."""
    tools, controls = _parts(rows)
    profiles = grouped(tools or rows, lambda one: one.cell.profile)
    share = {name: sum(one.ok for one in of_it) / len(of_it) for name, of_it in profiles.items()}
    best = max(share, key=lambda name: share[name])
    runs, control = profiles[best], [one for one in controls if one.cell.profile == best]
    failed = [one for one in runs if not one.ok]
    advice = recommendation(runs).capitalize()
    notes = [*_misses(failed)]
    if not all(one.ok for one in control):
        notes.append(f"control passes {sum(one.ok for one in control)} of {len(control)}")
        advice = advice.replace("Yes", "Yes (tool scenarios)")
    weaker = [f"{name} {percent(each)}" for name, each in share.items() if each < share[best]]
    return {
        "profile": best,
        "tools": _count(runs),
        "p95_ms": reference_percentile([one.ms for one in runs], 95),
        "recommended": advice,
        "notes": "; ".join(notes) or "-",
        "profiles": " / ".join(_with_options(name, plan) for name in share if share[name] == share[best]),
        "preset": " + ".join(_workarounds(rows[0].cell, plan)) or "-",
        "advised": advice,
        "advice": ", ".join((f"{percent(share[best])} of tool runs", *weaker)),
    }


def _misses(failed: Sequence[Trial]) -> Iterator[str]:
    """Where most runs fail that a profile misses, and what the provider refused or failed."""
    for name, count in Counter(one.cell.scenario for one in failed).most_common(1):
        if 2 * count > len(failed):
            yield f"misses concentrated in {name} ({count} of {len(failed)})"
    provider = Counter(alias_of(one.category, one.status) for one in failed if not one.valid)
    yield from (f"{name} ({count})" for name, count in provider.most_common())


def _with_options(name: str, plan: EvalPlan) -> str:
    options = as_tree(parse(plan.presets.profile(name).options))
    shown = " ".join(f"{'t' if key == 'temperature' else key}={value}" for key, value in options.items())
    return f"{name} ({shown or 'no overrides'})"


def _workarounds(cell: Cell, plan: EvalPlan) -> Sequence[str]:
    """The presets that the strategy applies to this model beyond its provider's defaults."""
    strategy = next(each for each in plan.strategies if each.name == cell.strategy)
    provider = plan.endpoint_at(cell.endpoint).provider
    known = plan.presets.workaround(provider, cell.model).names if strategy.workarounds else ()
    return (*known, *strategy.presets)


def case_study_tables(figures: Mapping[str, Any], whose: str) -> list[TextTable]:
    """The study's four tables, with its columns.

    :param whose: what the titles say of whose figures they are
    """
    strategies, models = figures["strategy"], figures["model"]
    scenarios = dict.fromkeys(name for each in strategies.values() for name in each["scenarios"])
    chosen = figures.get("chosen", "production")
    return [
        TextTable(
            f"Strategy summary: {whose}",
            (
                *("strategy", "overall", "tool scenarios only", "control (chat_only)"),
                *("tool p50_ms", "tool p95_ms", "top error categories"),
            ),
            tuple(
                (
                    name,
                    *(_passed(each[part]) for part in ("overall", "tools", "control")),
                    *(str(each[part]) for part in ("tool_p50_ms", "tool_p95_ms")),
                    ", ".join(f"{error} ({count})" for error, count in each["categories"].items()) or "-",
                )
                for name, each in strategies.items()
            ),
        ),
        TextTable(
            f"By scenario (ok / runs): {whose}",
            ("scenario", *strategies, "notes"),
            tuple(
                (
                    name,
                    *(_passed(each["scenarios"].get(name, (0, 0))) for each in strategies.values()),
                    figures["notes"].get(name, "-"),
                )
                for name in scenarios
            ),
        ),
        TextTable(
            f"{chosen} best-per-model (tool scenarios only): {whose}",
            ("model", "best profile", "tool ok", "tool p95_ms", "recommended?", "notes"),
            tuple(
                (
                    *(name, each["profile"], _passed(each["tools"]), str(each["p95_ms"])),
                    *(each["recommended"], each["notes"]),
                )
                for name, each in models.items()
            ),
        ),
        TextTable(
            f"Production config and model recommendations: {whose}",
            ("model", "recommended sampling profile(s)", "preset/workaround", "recommended?", "notes"),
            tuple(
                (name, *(each[part] for part in ("profiles", "preset", "advised", "advice")))
                for name, each in models.items()
            ),
        ),
    ]


def _passed(count: Sequence[int]) -> str:
    ok, runs = count
    return f"{ok}/{runs} ({percent(ok / runs)})" if runs else "-"


def case_study_lines(trials: Iterable[Trial], figures: Mapping[str, Any]) -> Iterator[str]:
    """The study's two conclusions, drawn from these runs, and what can be compared with it."""
    chosen = figures["chosen"]
    made = [one for one in trials if one.key and one.cell.strategy == chosen]
    tools, controls = _parts(made)
    guards = [one for one in tools if one.cell.scenario in _GUARDS]
    others = [one for one in tools if one.cell.scenario not in _GUARDS]
    unexercised = sum(one.outcome == "pass_unexercised" for one in guards)
    unrefused = f", {unexercised} of them without a refused call" if unexercised else ""
    failed = [one for one in controls if not one.ok]
    words = sum(one.category.startswith("task.outcome:final") for one in failed)
    yield (
        f"Argument discipline, under {chosen}: {guards[0].cell.scenario} passes {_passed(_count(guards))}"
        f"{unrefused}; the other tool scenarios pass {_passed(_count(others))}."
        if guards
        else f"Argument discipline: no run of {_GUARDS[0]} under {chosen} tells."
    )
    yield (
        f"Controls, under {chosen}: {_passed(_count(controls))} pass; {words} of {len(failed)} failures are "
        "nothing but other words than the prompt asks for."
        if controls
        else f"Controls: no run without tools under {chosen} tells; --scenarios chat_only adds them."
    )
    study = case_study()
    common = sum(name in study["model"] for name in figures["model"])
    yield (
        f"Compared with: {study['source']}. {common} of {len(figures['model'])} models here are among its "
        f"{len(study['model'])}; rates over different models say nothing about a change."
    )
    if not any(one.cell.scenario.startswith("study_") for one in made):
        yield (
            "The study's caps and checks are those of --scenarios case-study; scenarios of the same names "
            "without study_ check more and cap less."
        )
    yield (
        "The study does not publish its system texts, and its raw had workarounds merged into it; ours has "
        "none."
    )
