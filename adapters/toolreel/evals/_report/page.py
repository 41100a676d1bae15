"""The report as one self-contained HTML page: the answer, tables, a heat map, and all runs turn by turn.

Texts of models and servers are escaped, or are in data that the page's own script shows as text. The same
results give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from textwrap import shorten

from toolreel._driver import outcome_in_words
from toolreel._internal import (
    compressed_element,
    compressed_json,
    json_script_element,
    read_asset_text,
    standalone_page,
    with_shortened_texts,
)
from toolreel._replay import TurnSummary, story
from toolreel.evals import _report as report
from toolreel.evals._replay import RecordedRun
from toolreel.evals._report.tables import (
    RESULTS,
    TextTable,
    as_html,
    escape_html,
    html_cell,
    html_row_head,
    html_table_section,
    outcome_counts_text,
    percent_text,
    report_header_lines,
    summary_tables,
    without_usual_columns,
)
from toolreel.evals._results import Results
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import group_by_key, rate_of
from toolreel.evals._summary.gates import plan_results
from toolreel.evals._summary.totals import (
    AXES,
    findings_of,
    headline_sentences,
    warning_sentences,
)
from toolreel_core._conversation import readable_content, wire_tree
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, chained_digest
from toolreel_core._protocol import ReplyRead
from toolreel_core.evals import (
    Cell,
    EvalPlan,
    ObservedTurn,
    Record,
    Trial,
    accepted_void_runs_sentence,
    incompleteness_sentence,
)

LONGEST = 4_000
"""Characters of one text of a transcript."""


def transcript_of(record: Record, plan: EvalPlan, folder: Path) -> Tree:
    """The transcript of a run as data, long texts cut; if it cannot be replayed, the reason."""
    try:
        _, again = RecordedRun.of_record(record, plan, folder).replay()
    except ToolreelError as error:
        # Files are named from the results on: where these are is no matter of a page that is passed on.
        problem = str(error).replace(f"{folder}/", "")
        told: Tree = {"opening": [], "turns": [], "ending": "", "attempt": 1, "problem": problem}
        return as_tree(with_shortened_texts(told, LONGEST))
    ended, evidence = again.run, again.evidence
    words = outcome_in_words(evidence.outcome).sentence
    answered = dict.fromkeys(note.turn for note in ended.notes if isinstance(note, ReplyRead))
    seen: Mapping[int, ObservedTurn] = dict(zip(answered, evidence.turns, strict=True))
    told = {
        "opening": [[wire_tree(each)["role"], readable_content(each)] for each in ended.state.plan.messages],
        "turns": [_turn_data(turn, seen.get(turn.number)) for turn in story(ended)],
        "ending": f"{evidence.outcome.name}: {words}",
        "attempt": len(record.attempts),
        "problem": "",
    }
    return as_tree(with_shortened_texts(told, LONGEST))


def _turn_data(turn: TurnSummary, seen: ObservedTurn | None) -> Json:
    told: Tree = {"number": turn.number, "remarks": [*turn.remarks], "said": [*turn.said]}
    if seen is None:
        return {**told, "text": "", "finish": "", "tokens": "", "calls": []}
    return {
        **told,
        "text": seen.text,
        "finish": seen.finish,
        "tokens": f"{turn.prompt_tokens:,} tokens in, {turn.completion_tokens:,} out",
        "calls": [asdict(call) for call in seen.calls],
    }


_REASON = 300
"""Characters of a reason or a hint in the list of runs."""
_DIGITS = 12
"""Of a key or a digest, for the name of a run or a cell in links and commands."""


def cell_id(cell: Cell) -> str:
    return chained_digest("report cell", *cell.axes)[:_DIGITS]


def _index_data(cells: Mapping[Cell, Sequence[Trial]], plan: EvalPlan, folder: str) -> dict[str, Json]:
    axes = ("scenario", *AXES)
    runs: list[Json] = [
        [
            *(at, one.trial, one.key[:_DIGITS], one.outcome, one.category),
            *(shorten(text, _REASON, placeholder=" …") for text in (one.reason, one.hint)),
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
        "cells": [[cell_id(cell), *(getattr(cell, axis) for axis in axes)] for cell in cells],
        "runs": runs,
    }


def report_page(results: Results) -> str:
    """The whole page.

    :raises ResultsError: if the results cannot be read
    :raises ConfigError: if the plan names something that has gone
    """
    plan = plan_of_header(results.header)
    trials = results.trials(plan)
    cells = group_by_key((one for one in trials if one.key), lambda one: one.cell)
    folder = results.path.resolve().name  # alone, since a reader may have it elsewhere
    told = {record.key: transcript_of(record, plan, results.path) for record in results.records()}
    packs = (compressed_json({one.key[:_DIGITS]: told[one.key] for one in rows}) for rows in cells.values())
    models = [*dict.fromkeys(one.cell.model for one in trials)]
    title = f"Evaluation of {models[0] if len(models) == 1 else f'{len(models)} models'}"
    return standalone_page(
        title,
        _page_body(title, results, plan, trials, folder),
        styles=(read_asset_text(report, "page.css"),),
        scripts=tuple(read_asset_text(report, name) for name in ("transcripts.js", "explorer.js")),
        data=(
            json_script_element("run-index", _index_data(cells, plan, shlex.quote(folder))),
            *(compressed_element(f"cell-{at}", pack) for at, pack in enumerate(packs)),
        ),
    )


def _page_body(title: str, results: Results, plan: EvalPlan, trials: Sequence[Trial], folder: str) -> str:
    made, valid = [one for one in trials if one.key], [one for one in trials if one.valid and not one.control]
    findings, gates = findings_of(trials, plan), plan_results(plan, trials)
    answer = "; ".join(sentence.removesuffix(".") for sentence in headline_sentences(findings))
    if valid:
        scenarios = len({one.cell.scenario for one in valid})
        answer += f", from {len(valid):,} valid runs of {scenarios} tool scenarios"
    judged = "".join(
        f'<li><span class="badge {gate.standing}">{gate.standing}</span> '
        f"<span>{escape_html(gate.sentence)}</span></li>"
        for gate in gates
    )
    incomplete = incompleteness_sentence(trials, plan.options.min_coverage)
    state = incomplete or "Complete: every run of the plan has ended, and none has to be made again."
    accepted = accepted_void_runs_sentence(trials, plan.options)
    tables = [_heat_map(made, plan)] if made else []
    tables += map(as_html, map(without_usual_columns, summary_tables(trials, findings, ())))
    rows = [
        line.partition(": ")[::2]
        for line in report_header_lines(trials, plan, results.header.created, folder)
    ]
    rows += [("plan", plan.digest), ("toolreel", results.header.versions.get("toolreel", "?"))]
    return read_asset_text(report, "body.html").format(
        title=escape_html(title),
        answer=escape_html(f"{answer}."),
        gates=f'<ul class="gates" aria-label="Gates">{judged}</ul>' if gates else _NO_GATE,
        mood="bad" if incomplete else "good",
        state=escape_html(f"{state} {accepted}." if accepted else state),
        notes="".join(
            f"<li>{escape_html(note)}</li>" for note in (*findings.notes, *warning_sentences(made))
        ),
        tables="\n".join(tables),
        folder=escape_html(folder),
        command=escape_html(f"toolreel eval replay {shlex.quote(folder)} --check"),
        provenance=as_html(TextTable("Provenance", ("what", "value"), rows)),
    )


_NO_GATE = '<p class="state">The plan has no gate.</p>'


def _heat_map(made: Sequence[Trial], plan: EvalPlan) -> str:
    packs = {each.name: each.pack for each in plan.scenarios}
    tasks = [*dict.fromkeys(one.cell.task for one in made)]
    cells = group_by_key(made, lambda one: (one.cell.scenario, one.cell.task))
    rows = list[str]()
    for pack, names in groupby(packs, packs.get):
        # A cell for each column, since the page sorts rows by them.
        rows.append(f'<th scope="row" class="pack">pack {pack}</th>' + '<td class="pack"></td>' * len(tasks))
        for name in names:
            row = "".join(_heat_cell(cells.get((name, task), [])) for task in tasks)
            rows.append(f"{html_row_head(name)}{row}")
    note = (
        "In each cell: the rate of valid runs, its 95 % interval, and how all runs went. A cell leads to its "
        "runs, side by side."
    )
    # Of a single model, its name is in the title of the page already.
    only = f"{tasks[0].model}:" if len({task.model for task in tasks}) == 1 else ""
    heads = (plan.label(task).removeprefix(only) for task in tasks)
    return html_table_section("Scenarios", ("scenario", *heads), rows, (note,), "heat")


def _heat_cell(trials: Sequence[Trial]) -> str:
    if not trials:
        return html_cell("not run")
    rate, words, style = rate_of(trials), outcome_counts_text(trials), "none"
    if rate:
        words, style = f"{percent_text(rate.rate)} ({rate}): {words}", f"heat{round(rate.rate * 10)}"
    return f'<td class="{style}"><a href="#cell={cell_id(trials[0].cell)}">{escape_html(words)}</a></td>'
