"""Tables and sentences beside them, as Markdown and HTML: of a summary, a comparison, rejudged runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape

from toolreel._internal import printable_text
from toolreel._secrets import url_safe_to_log
from toolreel.evals._replay import FATES, Rejudged
from toolreel.evals._statistics import Rate, RateDifference, group_by_key, rate_of, wilson_bounds
from toolreel.evals._summary.gates import GateResult
from toolreel.evals._summary.summary_files import trial_row
from toolreel.evals._summary.totals import (
    COVERED,
    WORKS,
    Comparison,
    Findings,
    Flip,
    TrialPair,
    recommendation,
    tool_and_control_trials,
)
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import (
    EvalPlan,
    Trial,
    TrialOutcome,
    TrialTally,
    accepted_void_runs_sentence,
    category,
)

_ERROR_LENGTH = 120
_USUAL = {"profile": "default", "coverage": "100%", "after empty reply": "0"}
"""Usual values by column; a column that has only these, or nothing, is left out of text."""


@dataclass(frozen=True, slots=True)
class TextTable:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def rows_by_column_name(table: TextTable) -> list[Json]:
    return [{name: cell or None for name, cell in zip(table.head, row, strict=True)} for row in table.rows]


def percent_text(share: float | None) -> str:
    """A share in whole percent: 100% only if it is all, 0% only if it is nothing.

    >>> percent_text(0.855), percent_text(0.999), percent_text(0.001), percent_text(None)
    ('86%', '99%', '1%', '-')
    """
    if share is None:
        return "-"
    # Half up: round() would make 12 of 12.5.
    whole = int(100 * share + 0.5)
    return f"{whole if share in {0, 1} else min(99, max(1, whole))}%"


def rate_cells(rate: Rate | None) -> tuple[str, str, str]:
    if rate is None:
        return "0/0", "-", "-"
    return f"{rate.passed}/{rate.of}", percent_text(rate.rate), f"{100 * rate.low:.1f}-{100 * rate.high:.1f}"


def points_text(difference: float) -> str:
    """A difference of rates in points of percent, with its sign.

    >>> points_text(0.0312), points_text(-0.2), points_text(0.0)
    ('+3.1', '-20.0', '0.0')
    """
    shown = f"{100 * difference:+.1f}"
    return "0.0" if shown in {"+0.0", "-0.0"} else shown


def difference_cells(found: RateDifference | None, p_holm: float | None) -> tuple[str, str, str]:
    if found is None:
        return "-", "-", "-"
    return (
        points_text(found.difference),
        f"{points_text(found.low)} to {points_text(found.high)}",
        p_text(p_holm),
    )


def p_text(value: float | None) -> str:
    """A p-value in three digits.

    >>> p_text(0.03125), p_text(0.00001), p_text(1.0), p_text(None)
    ('0.0312', '<0.0001', '1', '-')
    """
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.3g}"


def recording_or_key(one: Trial) -> str:
    return one.recording or one.key[:12]


def one_short_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ERROR_LENGTH else line[:_ERROR_LENGTH] + "…"


def without_usual_columns(table: TextTable) -> TextTable:
    kept = [
        place
        for place, name in enumerate(table.head)
        if any(row[place] not in {_USUAL.get(name, ""), ""} for row in table.rows)
    ]
    head, *rows = ([row[place] for place in kept] for row in (table.head, *table.rows))
    return replace(table, head=head, rows=rows)


# Characters with a meaning in Markdown; an underscore only at the edge of a word, so that names stay legible.
_SPECIAL = re.compile(r"([\\`*\[\]<>#|~$&!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
"""Characters that would break the line of a table."""


def markdown_document(title: str, lines: Iterable[str], tables: Iterable[TextTable]) -> str:
    """``lines`` are sentences, each a paragraph; empty ones are left out."""
    parts = [f"# {escape_markdown(title)}", *map(escape_markdown, filter(None, lines))]
    for table in tables:
        rows = [f"| {' | '.join(map(escape_markdown, row))} |" for row in (table.head, *table.rows)]
        grid = "\n".join((rows[0], f"|{' --- |' * len(table.head)}", *rows[1:]))
        parts += [f"## {escape_markdown(table.title)}", grid, *map(escape_markdown, table.notes)]
    return "\n\n".join(parts) + "\n"


def escape_markdown(text: str) -> str:
    r"""A text that Markdown shows as it is, in one line.

    What a model or a server wrote can be in it, so its markup is escaped.

    >>> print(escape_markdown("happy_path|_b_ <c>\n[d](e)"))
    happy_path\|\_b\_ \<c\> \[d\](e)
    """
    return _SPECIAL.sub(r"\\\1", printable_text(_CONTROL.sub(" ", text)))


def escape_html(text: str) -> str:
    return escape(printable_text(text))


def as_html(table: TextTable) -> str:
    rows = (f"{html_row_head(row[0])}{''.join(map(html_cell, row[1:]))}" for row in table.rows)
    return html_table_section(table.title, table.head, rows, table.notes)


def html_row_head(text: str) -> str:
    # Long names are at the head of rows; a narrow page may break them.
    return f'<th scope="row">{escape_html(text).replace("_", "_<wbr>")}</th>'


def html_cell(text: str) -> str:
    return f"<td>{escape_html(text)}</td>"


def html_table_section(
    title: str, head: Iterable[str], rows: Iterable[str], notes: Iterable[str], style: str = "flat"
) -> str:
    """A table with its title and notes.

    :param rows: HTML inside of each row
    """
    name = escape_html(title)
    ident = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    columns = "".join(f'<th scope="col">{escape_html(each)}</th>' for each in head)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    quiet = "".join(f'<p class="quiet">{escape_html(note)}</p>' for note in notes)
    return (
        f'<section id="{ident}" aria-labelledby="h-{ident}"><h2 id="h-{ident}">{name}</h2>\n'
        f'<div class="wide{" tall" * (style == "heat")}" tabindex="0" role="region" aria-label="{name}">'
        f'<table class="{style}" data-sorts>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>{body}</tbody></table></div>\n{quiet}</section>\n"
    )


RESULTS: dict[TrialOutcome, str] = {
    "pass": "passed",
    "pass_unexercised": "passed without the hard part",
    "fail": "failed",
    "unsupported": "unsupported",
    "void": "void",
}


def report_header_lines(
    trials: Sequence[Trial], plan: EvalPlan, created: str, folder: str
) -> tuple[str, ...]:
    tally = TrialTally.of(trials)
    outcomes: tuple[TrialOutcome, ...] = ("fail", "unsupported", "void", "missing")
    counts = ", ".join(f"{name}={tally.outcomes[name]}" for name in outcomes)
    places = (f"{name}={url_safe_to_log(plan.endpoint_at(name).base_url)}" for name in plan.endpoints)
    accepted = accepted_void_runs_sentence(trials, plan.options)
    part = f"{plan.count:,} of {plan.whole_count:,} runs; eval summarize joins the shards"
    return (
        f"ts: {created}, endpoint: {', '.join(place.removeprefix('=') for place in places)}",
        f"strategies: {', '.join(each.name for each in plan.strategies)}",
        f"scenarios: {', '.join(each.name for each in plan.scenarios)}",
        *([f"shard: {plan.shard} ({part})"] if plan.shard else []),
        f"runs={tally.runs}, ok={tally.ok}, {counts}",
        *([f"accepted_void: {accepted}"] if accepted else []),
        f"full report: {folder}",
    )


def summary_tables(
    trials: Sequence[Trial], findings: Findings, gates: Sequence[GateResult]
) -> list[TextTable]:
    made = [one for one in trials if one.key]
    # One candidate among several of the other kind mixes what those tell apart.
    compared = [what for what, totals in findings.totals.items() if len(totals) > 1] or ["strategies"]
    tables = (
        gate_table(gates),
        *(totals_table(what, findings) for what in compared),
        _tasks_table(made),
        _flaky_table(made),
        failures_table(made),
    )
    return [table for table in tables if table.rows]


def gate_table(results: Iterable[GateResult]) -> TextTable:
    return TextTable("gates", ("gate", "finding"), [(one.standing, one.sentence) for one in results])


def totals_table(what: str, findings: Findings) -> TextTable:
    k, totals = findings.whole.k, findings.totals[what]
    head = (
        *(what, "passed", "rate", "95%", "coverage", "exercised", "after empty reply"),
        *(f"pass^{k}", "p95 ms", "tokens a run", "cost a run"),
    )
    rows = []
    for total in totals:
        tally, metrics = total.tally, total.metrics
        runs, p95 = max(1, tally.runs), metrics["p95_ms"]
        rows.append(
            (
                total.name,
                *rate_cells(total.rate),
                percent_text(tally.coverage),
                percent_text(metrics["exercised_rate"]),
                str(tally.after_silence),
                percent_text(metrics["pass_hat_k"]),
                "-" if p95 is None else str(p95),
                f"{tally.tokens / runs:,.0f}",
                "unknown" if tally.cost is None else f"{tally.cost / runs:.4g}",
            )
        )
    methods = "; ".join(dict.fromkeys(total.rate.about for total in totals if total.rate))
    notes = [f"a rate is the mean over scenarios, of valid runs; pass^{k} is over cells with {k} of them"]
    notes += [f"95 % intervals: {methods}"] if methods else []
    notes += [note for note in findings.notes if note.startswith(what)]
    return TextTable(f"{what}, without controls", head, rows, notes)


def _tasks_table(made: Sequence[Trial]) -> TextTable:
    rows = []
    for cell, trials in group_by_key(made, lambda one: one.cell.task).items():
        tools, controls = map(TrialTally.of, tool_and_control_trials(trials))
        low, high = wilson_bounds(tools.ok, tools.valid) if tools.valid else (0.0, 1.0)
        rows.append(
            (
                *(cell.model, cell.profile, cell.strategy, cell.endpoint),
                f"{tools.ok}/{tools.valid}",
                percent_text(tools.ok / tools.valid if tools.valid else None),
                f"{100 * low:.1f}-{100 * high:.1f}",
                recommendation(trials),
                f"{controls.ok}/{controls.valid}" if controls.valid else "",
                percent_text(TrialTally.of(trials).coverage),
                next((one.category for one in trials if not one.ok), ""),
            )
        )
    head = (
        *("model", "profile", "strategy", "endpoint", "passed", "rate", "95%", "recommended", "control"),
        *("coverage", "category"),
    )
    note = (
        f"95%: Wilson's interval of these tool runs; recommended: it lies above {100 * WORKS:g} % "
        f"(conditional: with less than {100 * COVERED:g} % valid runs), or below it (no)"
    )
    return TextTable("models and strategies", head, rows, (note,))


def _flaky_table(made: Iterable[Trial]) -> TextTable:
    rows = []
    for cell, trials in group_by_key(made, lambda one: one.cell).items():
        rate = rate_of(trials)
        if rate and 0 < rate.passed < rate.of:
            passed, _, interval = rate_cells(rate)
            rows.append((cell.scenario, passed, interval, cell.strategy, cell.model, cell.profile))
    head = ("scenario", "passed", "95%", "strategy", "model", "profile")
    return TextTable("flaky cells: trials pass and fail", head, rows)


def failures_table(made: Iterable[Trial]) -> TextTable:
    groups = group_by_key(made, lambda one: one.cell.strategy)
    counts = {name: Counter(one.category for one in rows) for name, rows in groups.items()}
    total = sum(counts.values(), Counter[str]())
    rows = [
        (name, *(str(counts[each][name]) for each in groups), category(name).about)
        for name in sorted(filter(None, total), key=lambda name: (-total[name], name))
    ]
    return TextTable("why runs did not pass", ("category", *groups, "meaning"), rows)


FLIPS: dict[Flip, str] = {
    "lost": "lost: only the first passed",
    "gained": "gained: only the second passed",
}


def comparison_lines(found: Comparison) -> tuple[str, ...]:
    valid = len(found.valid_pairs)
    first, second = found.unpaired
    return (
        f"first: {found.first}",
        f"second: {found.second}",
        f"compared: {' and '.join(found.axes) or 'two evaluations'}; {valid} valid pairs, "
        f"{len(found.pairs) - valid} void or unsupported, {first} runs only in the first, {second} only in "
        "the second",
    )


def comparison_tables(found: Comparison) -> list[TextTable]:
    head = ("of", "first", "second", "points", "95%", "p (Holm)", "gained", "lost", "pairs", "about")
    notes = (
        "scenarios such as these: each scenario counts once; these: chance among the trials of a cell",
        "p is where the interval ends at 0, adjusted for all rows of the same kind",
    )
    rates = []
    for row in found.rows:
        pairs = row.pair_counts
        rates.append(
            (
                f"{row.axis} {row.value}" if row.axis else "all tool runs",
                *(f"{each.ok}/{each.valid}" for each in map(TrialTally.of, row.trials)),
                *difference_cells(row.difference_in_tables, row.p_holm),
                *(str(pairs[name]) for name in ("gained", "lost")),
                str(sum(pairs.values())),
                "-" if row.difference_in_tables is None else row.difference_in_tables.about.replace("-", " "),
            )
        )
    tables = (
        TextTable("rates", head, rates, notes),
        *(flips_table(found.flips(kind), title, found.axes) for kind, title in FLIPS.items()),
    )
    return [table for table in tables if table.rows]


_FLIPS = 24
"""Pairs that a table lists."""


def flips_table(pairs: Sequence[TrialPair], title: str, axes: Sequence[str]) -> TextTable:
    others = [axis for axis in ("strategy", "model", "profile") if axis not in axes]
    rows = []
    for first, second in pairs[:_FLIPS]:
        failed = second if first.ok else first
        at = (str(getattr(first.cell, axis)) for axis in others)
        where_ = (
            recording_or_key(first),
            recording_or_key(second),
            one_short_line(failed.hint or failed.error),
        )
        rows.append((first.cell.scenario, str(first.trial), failed.category, *at, *where_))
    head = ("scenario", "trial", "category", *others, "first", "second", "error")
    notes = ("`toolreel eval compare --json` has all of them",) if len(pairs) > _FLIPS else ()
    return TextTable(f"{title} ({len(pairs)})", head, rows, notes)


def comparison_tree(found: Comparison) -> dict[str, Json]:
    valid = len(found.valid_pairs)
    return {
        "first": found.first,
        "second": found.second,
        "axis": ", ".join(found.axes) or None,
        "pairs": {
            "valid": valid,
            "invalid": len(found.pairs) - valid,
            "only_first": found.unpaired[0],
            "only_second": found.unpaired[1],
        },
        "lacking": sum(one.lacking for side in found.sides for one in side),
        "rows": [
            {
                "axis": row.axis or None,
                "value": row.value or None,
                "first_side": TrialTally.of(row.trials[0]).counts(),
                "second_side": TrialTally.of(row.trials[1]).counts(),
                "pairs": dict(row.pair_counts),
                "difference": asdict(row.difference_in_tables) if row.difference_in_tables else None,
                "p_holm": row.p_holm,
                "these_scenarios": asdict(row.these) if row.these else None,
            }
            for row in found.rows
        ],
        **{
            kind: [{"first": trial_row(one), "second": trial_row(other)} for one, other in found.flips(kind)]
            for kind in FLIPS
        },
    }


def outcome_counts_text(trials: Iterable[Trial]) -> str:
    outcomes = TrialTally.of(trials).outcomes
    return ", ".join(f"{outcomes[name]} {words}" for name, words in RESULTS.items() if outcomes[name])


def rejudging_report_lines(runs: Sequence[Rejudged], strategy: str, first: str = "") -> Iterator[str]:
    """How many runs of each strategy became what under another, and why not all are decided.

    :param first: the strategy that was bisected
    """
    for name, group in _group_by_strategy(runs, first).items():
        counts = ", ".join(f"{count} {fate}" for fate, count in _fate_counts(group).items())
        yield f"{name} -> {strategy}: {len(group)} runs, {counts}"
        for why, count in Counter(run.reason for run in group if run.fate == "undecided").most_common():
            yield f"  undecided because {why}: {count}"
    if first and not any(run.needed for run in runs):
        yield f"No run is turned, so no setting of {strategy} is needed by a recorded reply."


def rejudged_tables(runs: Sequence[Rejudged]) -> list[TextTable]:
    tables = (
        _decisive_settings_table(runs),
        _gained_or_lost_runs_table([run for run in runs if run.fate in {"gained", "lost"}]),
    )
    return [table for table in tables if table.rows]


def rejudged_tree(runs: Sequence[Rejudged], strategy: str, first: str = "") -> Tree:
    return {
        "to": strategy,
        "from": {name: _fate_counts(group) for name, group in _group_by_strategy(runs, first).items()},
        "settings": rows_by_column_name(_decisive_settings_table(runs)),
        "runs": rows_by_column_name(_gained_or_lost_runs_table(runs)),
    }


def _group_by_strategy(runs: Sequence[Rejudged], first: str) -> dict[str, list[Rejudged]]:
    return group_by_key(runs, lambda run: first or run.record.cell.strategy)


def _fate_counts(runs: Sequence[Rejudged]) -> dict[str, Json]:
    return {fate: sum(run.fate == fate for run in runs) for fate in FATES}


def _gained_or_lost_runs_table(runs: Sequence[Rejudged]) -> TextTable:
    rows = []
    for run in runs:
        cell, lost = run.record.cell, run.before if run.fate == "gained" else run.after
        of_run = run.record.key[:12], run.fate, " ".join(map(str, run.needed)), lost.category if lost else ""
        trial = cell.scenario, str(run.record.trial), cell.strategy, cell.model
        rows.append((*of_run, *trial, run.reason))
    head = ("run", "fate", "settings", "lost by", "scenario", "trial", "replies of", "model", "undecided")
    return TextTable("runs that are gained or lost", head, rows)


def _decisive_settings_table(runs: Sequence[Rejudged]) -> TextTable:
    alone = Counter(key for run in runs for key in run.alone)
    together = Counter(key for run in runs if not run.alone for key in run.needed)
    turned = sum(bool(run.needed) for run in runs)
    order = sorted({*alone, *together}, key=lambda key: (-alone[key] - together[key], str(key)))
    rows = [
        (str(key), key.change or "-", f"{alone[key]}/{turned}", f"{together[key]}/{turned}") for key in order
    ]
    note = "alone: runs that this setting turns alone; together: runs that need it and others"
    return TextTable("settings that turn runs", ("setting", "change", "alone", "together"), rows, (note,))
