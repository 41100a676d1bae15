"""Recommendations as a table, as JSON and as a catalogue in TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolreel._internal.errors import ResultsError
from toolreel.evals._advice.recommend import Recommendations
from toolreel.evals._summary.summary_files import interval_tree
from toolreel.evals._tables.table import TextTable, interval_text, out_of, percent
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._plan.presets.collection import Model, Presets
from toolreel_core.evals._advice.recommendation import Advice, Recommended
from toolreel_core.evals._statistics.counts import Count

_WORDS: dict[Advice, str] = {
    "yes": "yes",
    "yes_for_tools": "yes (tool scenarios)",
    "conditional": "conditional",
    "no": "no",
    "undecided": "undecided",
}


def recommendation_lines(found: Recommendations) -> tuple[str, ...]:
    """The rules in words."""
    levels = found.levels
    about = (
        "these scenarios" if levels.scope == "these" else "scenarios like these, each of which counts once"
    )
    level = f"{100 * levels.works:g} %"
    return (
        f"Strategy {found.strategy}, measured on {found.measured_on}; the intervals are about {about}.",
        f"yes: the whole 95 % interval of the best profile is at {level} or above; no: the whole of it is "
        f"below; undecided: {level} lies in it.",
        f"conditional: yes, but another profile of the model is below {level} as a whole, or less than "
        f"{100 * levels.coverage:g} % of the runs are valid.",
        "yes (tool scenarios): yes, but the control is below as a whole.",
    )


def recommendation_table(found: Recommendations) -> TextTable:
    """The table of the case study, with intervals."""
    head: tuple[str, ...] = (
        *("model", "best profile", "tool ok", "rate", "95%", "like these", "split-half", "p95_ms"),
        *("workaround", "without help", "recommended?", "why"),
    )
    notes = (
        "95%: of the rate in these scenarios, widened for the choice among profiles",
        "like these: of the rate in scenarios like these, each of which counts once",
        "split-half: the profile that is best in one half of the trials, measured in the other half",
    )
    rows = tuple(map(_row, found.models))
    if found.endpoints:
        head = (head[0], "endpoint", *head[1:])
        rows = tuple(
            (row[0], one.figures.endpoint, *row[1:]) for row, one in zip(rows, found.models, strict=True)
        )
    return TextTable("recommendations", head, rows, notes)


def _row(one: Recommended) -> tuple[str, ...]:
    figures, best = one.figures, one.figures.best
    return (
        one.model,
        best.profile,
        out_of(best.count.passed, best.count.runs),
        percent(best.count.rate),
        interval_text(best.these),
        interval_text(best.like_these),
        _counted(figures.split_half),
        str(best.p95_ms),
        ", ".join(figures.workarounds) or "-",
        _counted(figures.without),
        _WORDS[one.advice],
        one.why,
    )


def _counted(count: Count | None) -> str:
    return f"{out_of(count.passed, count.runs)} {percent(count.rate)}" if count else "-"


def recommendation_tree(found: Recommendations) -> dict[str, Json]:
    """All of it."""
    return {
        "strategy": found.strategy,
        "measured_on": found.measured_on,
        "levels": {
            "works": found.levels.works,
            "coverage": found.levels.coverage,
            "scope": found.levels.scope,
        },
        "models": [_tree(one) for one in found.models],
    }


def _tree(one: Recommended) -> Tree:
    figures, best = one.figures, one.figures.best
    return {
        "model": one.model,
        **({"endpoint": figures.endpoint} if figures.endpoint else {}),
        "recommended": one.advice,
        "why": one.why,
        "profiles": list(one.profiles),
        "best_profile": best.profile,
        "ok": best.count.passed,
        "valid": best.count.runs,
        "runs": best.runs,
        "interval": interval_tree(best.these),
        "interval_like_these": interval_tree(best.like_these),
        "p95_ms": best.p95_ms,
        "split_half": _count_tree(figures.split_half),
        "control": {**_count_tree(figures.control_count), "interval": interval_tree(figures.control)},
        "workarounds": list(figures.workarounds),
        "without_help": _count_tree(figures.without) or None,
        "by_profile": {
            each.profile: {**_count_tree(each.count), "interval": interval_tree(each.these)}
            for each in figures.profiles
        },
    }


def _count_tree(count: Count | None) -> dict[str, Json]:
    return {"ok": count.passed, "valid": count.runs, "rate": count.rate} if count else {}


def catalogue_toml(found: Recommendations, presets: Presets) -> str:
    """A catalogue whose tables ``[model]`` have the recommendations; what else is known of a model stays.

    Models about which nothing is decided are named in comments, since a catalogue has no word for them.

    :raises ResultsError: if a model is recommended at several endpoints, since it has one table
    """
    if len(found.endpoints) > 1:
        names = ", ".join(found.endpoints)
        raise ResultsError(
            f"--toml: a model has one table for all endpoints; name one with --endpoint: {names}"
        )
    return "\n".join(_toml(found, presets))


def _toml(found: Recommendations, presets: Presets) -> Iterator[str]:
    yield f"# Recommendations by an evaluation of {found.measured_on}, strategy {found.strategy}."
    yield "# Use it with `--catalogue FILE`, or name it in the variable TOOLREEL_CATALOGUE."
    for one in found.models:
        yield ""
        if one.advice == "undecided" or not one.figures.best.count.runs:
            yield f"# {_text(one.model)} has no recommendation: {one.advice}: {_line(one.why)}"
            continue
        yield from _model_toml(one, found.measured_on, presets.model(one.model))


def _model_toml(one: Recommended, measured_on: str, known: Model | None) -> Iterator[str]:
    best = one.figures.best
    yield f"[model.{_text(one.model)}]"
    if known:
        if known.name == one.model and known.patterns != (known.name,):
            yield f"patterns = {_text([*known.patterns])}"
        if known.provider:
            yield f"provider = {_text(known.provider)}"
        for key in ("presets", "tags"):
            if values := getattr(known, key):
                yield f"{key} = {_text([*values])}"
    yield f"[model.{_text(one.model)}.recommendation]"
    yield f"verdict = {_text(one.advice)}"
    yield f"profiles = {_text([*one.profiles])}"
    yield f"best_profile = {_text(best.profile)}"
    yield f"ok = {best.count.passed}"
    yield f"runs = {best.count.runs}"
    yield f"p95_ms = {best.p95_ms}"
    yield f"measured_on = {_text(measured_on)}"
    yield f"note = {_text(_line(one.why))}"


def _text(value: Json) -> str:
    """TOML has the strings and lists of JSON, but for a character that it wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(text: str) -> str:
    return " ".join(text.split())
