"""The report as one self-contained HTML page: the answer, tables, a heat map, and all runs turn by turn.

Texts of models and servers are escaped, or are in data that the page's own script shows as text. The same
results give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from toolreel._driver import describe_outcome
from toolreel._internal import asset, framed, json_element, packed, packed_element, shortened
from toolreel._replay import TurnSummary, story
from toolreel.evals import _report as report
from toolreel.evals._replay import RecordedRun
from toolreel.evals._report.tables import (
    RESULTS,
    Content,
    Link,
    TextTable,
    as_html,
    head_lines,
    html_text,
    outcome_counts,
    percent,
    summary_tables,
    without_usual,
)
from toolreel.evals._results import Results
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import rate_of
from toolreel.evals._summary.gates import GateResult, plan_results
from toolreel.evals._summary.totals import (
    AXES,
    answer_sentences,
    findings_of,
    group_trials,
    warning_sentences,
)
from toolreel_core._conversation import readable_content, wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, chain
from toolreel_core._protocol import ReplyRead
from toolreel_core.evals import (
    Cell,
    EvalPlan,
    ObservedTurn,
    Record,
    Trial,
    acceptance_sentence,
    incompleteness_sentence,
)

LONGEST = 4_000


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Tree:
    """The transcript of a run as data, long texts cut; if it cannot be replayed, the reason."""
    told: dict[str, Json] = {"opening": [], "turns": [], "ending": "", "attempt": 1, "problem": ""}
    try:
        _, again = RecordedRun.of_record(record, plan, folder).replay()
    except ToolreelError as error:
        # Files are named from the results on: where these are is no matter of a page that is passed on.
        return as_tree(shortened({**told, "problem": str(error).replace(f"{folder}/", "")}, LONGEST))
    ended, evidence = again.run, again.evidence
    words, _ = describe_outcome(evidence.outcome)
    answered = dict.fromkeys(note.turn for note in ended.notes if isinstance(note, ReplyRead))
    seen: Mapping[int, ObservedTurn] = dict(zip(answered, evidence.turns, strict=True))
    told |= {
        "opening": [[wire_tree(each)["role"], readable_content(each)] for each in ended.state.plan.messages],
        "turns": [_turn_data(turn, seen.get(turn.number)) for turn in story(ended)],
        "ending": f"{evidence.outcome.name}: {words}",
        "attempt": len(record.attempts),
    }
    return as_tree(shortened(told, LONGEST))


def _turn_data(turn: TurnSummary, seen: ObservedTurn | None) -> Json:
    calls: list[Json] = [
        {
            **{name: getattr(call, name) for name in ("name", "arguments", "ok", "result")},
            "codes": [*call.codes],
        }
        for call in (seen.calls if seen else ())
    ]
    return {
        "number": turn.number,
        "text": seen.text if seen else "",
        "finish": seen.finish if seen else "",
        "tokens": f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out" if seen else "",
        "remarks": [*turn.remarks],
        "said": [*turn.said],
        "calls": calls,
    }


_REASON = 300
_DIGITS = 12
"""Of a key or a digest, for the name of a run or a cell in links and commands."""


def cell_name(cell: Cell) -> str:
    return chain("report cell", *cell.axes)[:_DIGITS]


def _index_data(cells: Mapping[Cell, Sequence[Trial]], plan: EvalPlan, folder: str) -> dict[str, Json]:
    axes = ("scenario", *AXES)
    runs: list[Json] = [
        [
            *(at, one.trial, one.key[:_DIGITS], one.outcome),
            one.category,
            *(f"{text[:_REASON]} …" if len(text) > _REASON else text for text in (one.reason, one.hint)),
            int(bool(one.recording)),
        ]
        for at, rows in enumerate(cells.values())
        for one in rows
    ]
    return {
        "folder": folder,
        "axes": [*axes],
        "packs": {each.name: each.pack for each in plan.scenarios},
        "results": {str(name): words for name, words in RESULTS.items()},
        "cells": [[cell_name(cell), *(getattr(cell, axis) for axis in axes)] for cell in cells],
        "runs": runs,
    }


def report_page(results: Results) -> str:
    """The whole page.

    :raises ResultsError: if the results cannot be read
    :raises ConfigError: if the plan names something that has gone
    """
    plan = plan_of_header(results.header)
    trials = results.trials(plan)
    cells = group_trials((one for one in trials if one.key), lambda one: one.cell)
    folder = results.path.resolve().name  # alone, since a reader may have it elsewhere
    told = {record.key: transcript_of(record, plan, results.path) for record in results.records()}
    packs = (packed({one.key[:_DIGITS]: told[one.key] for one in rows}) for rows in cells.values())
    models = [*dict.fromkeys(one.cell.model for one in trials)]
    title = f"Evaluation of {models[0] if len(models) == 1 else f'{len(models)} models'}"
    return framed(
        title,
        "\n".join(_page_body(title, results, plan, trials, folder)),
        styles=(asset(report, "page.css"),),
        scripts=tuple(asset(report, name) for name in ("transcripts.js", "explorer.js")),
        data=(
            json_element("run-index", _index_data(cells, plan, shlex.quote(folder))),
            *(packed_element(f"cell-{at}", pack) for at, pack in enumerate(packs)),
        ),
    )


def _page_body(
    title: str, results: Results, plan: EvalPlan, trials: Sequence[Trial], folder: str
) -> Iterator[str]:
    made = [one for one in trials if one.key]
    findings, gates = findings_of(trials, plan), plan_results(plan, trials)
    tables = [
        _heat_map(made, plan),
        *map(without_usual, summary_tables(trials, findings, ())),
    ]
    yield f'<a class="skip" href="#main">To the figures</a>\n<header>\n<h1>{html_text(title)}</h1>'
    yield from _answer_section(answer_sentences(findings), gates, trials, plan)
    notes = [*findings.notes, *warning_sentences(made)]
    if notes:
        items = "".join(f"<li>{html_text(note)}</li>" for note in notes)
        yield f'<ul class="notes" aria-label="What to know about the figures">{items}</ul>'
    yield '</header>\n<main id="main">'
    yield from (as_html(each, "heat" if each is tables[0] else "flat") for each in tables if each.rows)
    yield (
        '<section id="runs" aria-labelledby="h-runs"><h2 id="h-runs">Runs</h2>\n<p>All of them. The '
        "command of a run plays it again from its cassette, offline, from the directory that "
        f'{html_text(folder)} is in.</p>\n<noscript><p class="notes">This list is made by the page\'s own '
        'script, which your browser does not run.</p></noscript>\n<div id="explorer"></div>\n</section>'
    )
    command = f"toolreel eval replay {shlex.quote(folder)} --check"
    yield f'<p class="command"><code data-copy="the command">{html_text(command)}</code></p>'
    rows = [line.partition(": ")[::2] for line in head_lines(trials, plan, results.header.created, folder)]
    rows += [("plan", plan.digest), ("toolreel", results.header.versions.get("toolreel", "?"))]
    yield as_html(TextTable("Provenance", ("what", "value"), tuple(rows)))
    yield "</main>"


def _answer_section(
    sentences: Sequence[str], gates: Sequence[GateResult], trials: Sequence[Trial], plan: EvalPlan
) -> Iterator[str]:
    valid = [one for one in trials if one.valid and not one.control]
    scope = f"from {len(valid):,} valid runs of {len({one.cell.scenario for one in valid})} tool scenarios"
    whole = "; ".join(sentence.removesuffix(".") for sentence in sentences)
    yield '<section id="answer" aria-label="The answer">'
    yield f'<p class="answer">{html_text(f"{whole}, {scope}." if valid else f"{whole}.")}</p>'
    yield (
        '<ul class="gates" aria-label="Gates">' if gates else '<p class="state">The plan has no gate.</p><ul>'
    )
    yield from (
        f'<li><span class="badge {gate.standing}">{gate.standing}</span> '
        f"<span>{html_text(gate.sentence)}</span></li>"
        for gate in gates
    )
    incomplete, accepted = (
        incompleteness_sentence(trials, plan.options.min_coverage),
        acceptance_sentence(trials, plan.options),
    )
    state = incomplete or "Complete: every run of the plan has ended, and none has to be made again."
    whole = f"{state} {accepted}." if accepted else state
    yield f'</ul><p class="state {"bad" if incomplete else "good"}">{html_text(whole)}</p>\n</section>'


def _heat_map(made: Sequence[Trial], plan: EvalPlan) -> TextTable:
    packs = {each.name: each.pack for each in plan.scenarios}
    tasks = [*dict.fromkeys(one.cell.task for one in made)]
    cells = group_trials(made, lambda one: (one.cell.scenario, one.cell.task))
    ran = {one.cell.scenario for one in made}
    rows = list[tuple[Content, ...]]()
    for pack, names in groupby((name for name in packs if name in ran), packs.get):
        rows.append((Link(f"pack {pack}", "", "pack"), *[Link("", "", "pack")] * len(tasks)))
        rows += ((name, *(_heat_cell(cells.get((name, task), [])) for task in tasks)) for name in names)
    note = (
        "In each cell: the rate of valid runs, its 95 % interval, and how all runs went. A cell leads to its "
        "runs, side by side."
    )
    # Of a single model, its name is in the title of the page already.
    only = f"{tasks[0].model}:" if len({task.model for task in tasks}) == 1 else ""
    heads = (plan.label(task).removeprefix(only) for task in tasks)
    return TextTable("Scenarios", ("scenario", *heads), tuple(rows), (note,))


def _heat_cell(trials: Sequence[Trial]) -> Content:
    if not trials:
        return "not run"
    rate, words = rate_of(trials), outcome_counts(trials)
    link = f"#cell={cell_name(trials[0].cell)}"
    if rate is None:
        return Link(words, link, "none")
    return Link(f"{percent(rate.rate)} ({rate}): {words}", link, f"heat{round(rate.rate * 10)}")
