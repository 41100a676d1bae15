"""The report as one self-contained HTML page: the answer, tables, a heat map, and all runs turn by turn.

Texts of models and servers are escaped, or are in data that the page's own script shows as text. The same
results give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from toolreel._internal import asset, framed
from toolreel.evals import _report as report
from toolreel.evals._configuration_differences import strategy_differences
from toolreel.evals._report.rendering import (
    Content,
    Link,
    TextTable,
    as_html,
    html_text,
    percent,
    without_usual,
)
from toolreel.evals._report.run_data import LONGEST, cell_name, run_data, transcript_of
from toolreel.evals._report.tables import flips_table, head_lines, split_words, summary_tables
from toolreel.evals._results import Results
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._statistics import rate_of
from toolreel.evals._summary.gates import GateResult, plan_results
from toolreel.evals._summary.totals import (
    answer,
    counted,
    findings_of,
    grouped,
    pairs_of,
    warnings,
)
from toolreel_core._jsontext import Json
from toolreel_core.evals import (
    EvalPlan,
    Trial,
    acceptance,
    incompleteness,
)

_SCRIPTS: Final = ("transcripts.js", "explorer.js")
_NEED: Final = ("fail", "pass_unexercised", "void", "unsupported", "pass")
"""Results, those of runs that are most worth reading first."""


def report_page(results: Results, max_runs: int | None = None) -> str:
    """The whole page.

    :param max_runs: how many runs are told turn by turn, failures first; all, if it is left out
    :raises ResultsError: if the results cannot be read
    :raises ConfigError: if the plan names something that has gone
    """
    plan = plan_of_header(results.header)
    trials = results.trials(plan)
    made = [one for one in trials if one.key]
    folder = results.path.resolve().name  # alone, since a reader may have it elsewhere
    need = sorted(made, key=lambda one: (_NEED.index(one.outcome), one.trial))
    keys = {one.key for one in need[:max_runs]}
    told: dict[str, Json] = {
        record.key: transcript_of(record, plan, results.path)
        for record in results.records()
        if record.key in keys
    }
    elements, longest = run_data(made, plan, told, shlex.quote(folder))
    models = [*dict.fromkeys(one.cell.model for one in trials)]
    title = f"Evaluation of {models[0] if len(models) == 1 else f'{len(models)} models'}"
    scope = (
        f"Of {len(made):,} runs, {max_runs:,} are told turn by turn, failures first."
        if max_runs is not None and max_runs < len(made)
        else "All runs are told turn by turn."
    )
    if longest < LONGEST:
        scope += f" Texts are cut after {longest:,} characters, so that the page stays small."
    return framed(
        title,
        "\n".join(_page_body(title, results, plan, trials, folder, scope)),
        styles=(asset(report, "page.css"),),
        scripts=tuple(asset(report, name) for name in _SCRIPTS),
        data=elements,
    )


def _page_body(
    title: str, results: Results, plan: EvalPlan, trials: Sequence[Trial], folder: str, scope: str
) -> Iterator[str]:
    made = [one for one in trials if one.key]
    findings, gates = findings_of(trials, plan), plan_results(plan, trials)
    tables = [
        _heat_map(made, plan),
        *map(without_usual, summary_tables(trials, findings, ())),
    ]
    yield f'<a class="skip" href="#main">To the figures</a>\n<header>\n<h1>{html_text(title)}</h1>'
    yield from _answer_section(answer(findings), gates, trials, plan)
    notes = [*findings.notes, *warnings(made)]
    if notes:
        items = "".join(f"<li>{html_text(note)}</li>" for note in notes)
        yield f'<ul class="notes" aria-label="What to know about the figures">{items}</ul>'
    yield '</header>\n<main id="main">'
    yield from (as_html(each, "heat" if each is tables[0] else "flat") for each in tables if each.rows)
    by_strategy = grouped(made, lambda one: one.cell.strategy)
    for first, second in combinations(by_strategy, 2):
        pairs = pairs_of(by_strategy[first], by_strategy[second], "strategy")
        flips = [pair for pair in pairs if pair[0].valid and pair[1].valid and pair[0].ok != pair[1].ok]
        for ok, name in ((True, first), (False, second)):
            if of_one := [pair for pair in flips if pair[0].ok is ok]:
                title = f"only {name} passed, of {first} and {second}"
                yield as_html(flips_table(of_one, title, ["strategy"]))
    yield (
        f'<section id="runs" aria-labelledby="h-runs"><h2 id="h-runs">Runs</h2>\n<p>{html_text(scope)} The '
        "command of a run plays it again from its cassette, offline, from the directory that "
        f'{html_text(folder)} is in.</p>\n<noscript><p class="notes">This list is made by the page\'s own '
        'script, which your browser does not run.</p></noscript>\n<div id="explorer"></div>\n</section>'
    )
    command = f"toolreel eval replay {shlex.quote(folder)} --check"
    yield f'<p class="command"><code data-copy="the command">{html_text(command)}</code></p>'
    rows = [line.partition(": ")[::2] for line in head_lines(trials, plan, results.header.created, folder)]
    rows += [
        (f"{each.before} to {each.after}", "; ".join(each.changes)) for each in strategy_differences(plan)
    ]
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
    incomplete, accepted = incompleteness(trials, plan.options.min_coverage), acceptance(trials, plan.options)
    state = incomplete or "Complete: every run of the plan has ended, and none has to be made again."
    whole = f"{state} {accepted}." if accepted else state
    yield f'</ul><p class="state {"bad" if incomplete else "good"}">{html_text(whole)}</p>\n</section>'


def _heat_map(made: Sequence[Trial], plan: EvalPlan) -> TextTable:
    """Scenarios by tasks, pack by pack: how often each cell passed, and how its runs went."""
    packs = {each.name: each.pack for each in plan.scenarios}
    tasks = [*dict.fromkeys(one.cell.task for one in made)]
    cells = grouped(made, lambda one: (one.cell.scenario, one.cell.task))
    ran = {one.cell.scenario for one in made}
    rows = list[tuple[Content, ...]]()
    for pack in dict.fromkeys(packs.values()):
        names = [name for name, of in packs.items() if of == pack and name in ran]
        of_pack = [
            rate_of(counted(one for name in names for one in cells.get((name, task), []))) for task in tasks
        ]
        if names:
            means = (f"mean {percent(rate.rate)}" if rate else "-" for rate in of_pack)
            rows.append(tuple(Link(title, "", "pack") for title in (f"pack {pack}", *means)))
        for name in names:
            row = list[Content]()
            for task in tasks:
                trials = cells.get((name, task), [])
                rate, words = rate_of(trials), split_words(trials)
                shown = f"{percent(rate.rate)} ({rate}): {words}" if rate else words
                style = f"heat{round(rate.rate * 10)}" if rate else "none"
                link: Content = (
                    Link(shown, f"#cell={cell_name(trials[0].cell)}", style) if trials else "not run"
                )
                row.append(link)
            rows.append((name, *row))
    note = (
        "In each cell: the rate of valid runs, its 95 % interval, and how all runs went. A cell leads to its "
        "runs, side by side. The row of a pack has the mean over its scenarios."
    )
    # Of a single model, its name is in the title of the page already.
    only = f"{tasks[0].model}:" if len({task.model for task in tasks}) == 1 else ""
    heads = (plan.label(task).removeprefix(only) for task in tasks)
    return TextTable("Scenarios", ("scenario", *heads), tuple(rows), (note,))
