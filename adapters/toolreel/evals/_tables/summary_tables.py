"""The tables of a summary: tasks, totals, why runs did not pass, and what the gates say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolreel._secrets import shown_url
from toolreel.evals._statistics.intervals import methods_of, wilson
from toolreel.evals._summary.summary_statistics import (
    COVERED,
    WORKS,
    Findings,
    Total,
    pass_count,
    recommendation,
    task_rate,
)
from toolreel.evals._tables.table import TextTable, interval_text, out_of, percent, shortened, where
from toolreel_core.evals import (
    EvalPlan,
    GateResult,
    RunEntry,
    Summary,
    TaskSummary,
    alias_of,
    reference_percentile,
)

_TASK_HEAD = (
    *("model", "profile", "strategy", "fallback_profile", "tool_ok", "tool_rate", "tool_95%"),
    *(
        "control_ok",
        "control_rate",
        "control_95%",
        "coverage",
        "recommended",
        "tool_p95_ms",
        "status",
        "category",
        "alias",
    ),
    *("sample", "error"),
)


def head_lines(summary: Summary, plan: EvalPlan, created: str, folder: str) -> tuple[str, ...]:
    """Options and totals of the evaluation; the last line names the directory."""
    tasks, counts = summary.tasks, summary.counts()
    tools, controls = summary.counts(control=False), summary.counts(control=True)
    accepted = summary.acceptance
    how = f"runs={counts.runs}, ok={counts.ok}, fail={counts.failed}"
    beside = f"unsupported={counts.unsupported}, void={counts.void}, missing={summary.missing}"
    return (
        "Evaluation of tool calls",
        f"ts: {created}",
        *_options(plan),
        f"model_profiles: {len(tasks)} ({how}, {beside})",
        f"tool_scenarios_only: {out_of(tools.ok, tools.valid)}",
        f"control_chat_only: {out_of(controls.ok, controls.valid)}",
        *((f"accepted_void: {accepted}",) if accepted else ()),
        f"full report: {folder}",
    )


def summary_tables(summary: Summary, findings: Findings) -> tuple[TextTable, ...]:
    """All tables of a summary; those that would have no rows are left out."""
    tables = (
        _tasks(summary),
        _totals("strategies", findings.strategies, findings),
        _totals("models", findings.models, findings),
        _flaky(summary),
        _taxonomy(findings),
    )
    return tuple(table for table in tables if table.rows)


def gate_table(results: Iterable[GateResult]) -> TextTable:
    """The results of the gates."""
    return TextTable("gates", ("gate", "finding"), tuple((one.standing, one.sentence) for one in results))


def _options(plan: EvalPlan) -> Iterable[str]:
    options, endpoint = plan.options, plan.endpoint
    filters: Sequence[tuple[str, Sequence[str]]] = (
        ("model_filter", options.models or ()),
        ("sampling_profile_filter", options.profiles),
        ("strategies", [strategy.name for strategy in plan.strategies]),
        ("scenarios", [scenario.name for scenario in plan.scenarios]),
        ("fallback_profiles", plan.fallbacks if len(plan.fallbacks) > 1 else ()),
        ("tool_allowlist", options.tool_allowlist),
    )
    if plan.named_endpoints:
        places = (f"{each.name}={shown_url(each.server.base_url)}" for each in plan.named_endpoints)
        yield f"endpoints: {', '.join(places)}"
    else:
        yield f"base_url: {shown_url(endpoint.base_url)}"
    for name, words in filters:
        if words:
            yield f"{name}: {','.join(words)}"
    if plan.shard:
        part = f"{plan.count:,} of {plan.whole_count:,} runs"
        yield f"shard: {plan.shard} ({part}; eval summarize joins the shards)"
    yield f"trials: {plan.trials}, jobs: {plan.jobs}"
    yield f"tool_use_mode: {options.tool_use_mode}, tool_failure_policy: {options.tool_failure_policy}"


def _tasks(summary: Summary) -> TextTable:
    several = any(task.cell.endpoint for task in summary.tasks)
    rows = tuple((*([task.cell.endpoint] if several else []), *_task(task)) for task in summary.tasks)
    head = (*(["endpoint"] if several else []), *_TASK_HEAD)
    of_tools, of_controls = (
        methods_of(found.interval for task in summary.tasks if (found := task_rate(task, control=one)))
        for one in (False, True)
    )
    notes = (
        "a rate is the mean over scenarios, of valid runs; coverage is the share of runs that are valid",
        *((f"tool_95%: {of_tools}",) if of_tools else ()),
        *((f"control_95%: {of_controls}",) if of_controls else ()),
        f"recommended: Wilson's interval of the tool runs lies above {100 * WORKS:g} % (conditional: with "
        f"less than {100 * COVERED:g} % valid runs), or below it (no)",
    )
    return TextTable("model profiles", head, rows, notes)


def _task(task: TaskSummary) -> tuple[str, ...]:
    cell = task.cell
    times = [entry.ms for entry in task.entries(control=False)]
    failed = next((entry for entry in task.entries() if not entry.ok), None)
    return (
        *(cell.model, cell.profile, cell.strategy, cell.fallback),
        *_part(task, control=False),
        *_part(task, control=True),
        percent(task.counts().coverage),
        recommendation(task),
        str(reference_percentile(times, 95)) if times else "-",
        *(_failure(failed) if failed else ("",) * 5),
    )


def _part(task: TaskSummary, *, control: bool) -> tuple[str, str, str]:
    counts, found = task.counts(control=control), task_rate(task, control=control)
    return (
        out_of(counts.ok, counts.valid),
        percent(found.rate if found else None),
        interval_text(found.interval if found else None),
    )


def _failure(entry: RunEntry) -> tuple[str, ...]:
    """Of a run that is no pass: status, category, the reference's name of it, recording and error."""
    status = "" if entry.status is None else str(entry.status)
    alias = alias_of(entry.category, entry.status)
    return status, entry.category, alias, where(entry), shortened(entry.hint or entry.error)


def _totals(what: str, totals: Sequence[Total], findings: Findings) -> TextTable:
    k = findings.trials
    head = (
        *(what, "ok", "after_empty_reply", "rate", "95%", "scenarios", "coverage", "exercised", "pass@1"),
        *(f"pass^{k}", "cells", "p95_ms"),
    )
    rows = tuple(
        (
            total.name,
            out_of(total.counts.ok, total.counts.valid),
            str(total.ok_after_silence),
            percent(total.rate),
            interval_text(total.clustered.interval if total.clustered else None),
            str(total.clustered.clusters if total.clustered else 0),
            percent(total.counts.coverage),
            percent(total.exercised_rate),
            percent(total.pass_at_1.rate),
            percent(total.pass_hat_k.rate),
            out_of(total.pass_hat_k.cells, total.pass_hat_k.cells + total.pass_hat_k.left_out),
            "-" if total.p95_ms is None else str(total.p95_ms),
        )
        for total in totals
    )
    methods = methods_of(total.clustered.interval for total in totals if total.clustered)
    notes = [f"95 % intervals: {methods}"] if methods else []
    notes.append(f"pass^{k} is over the cells with {k} valid runs")
    if any(total.ok_after_silence for total in totals):
        notes.append("after_empty_reply: of the runs that passed, those whose model was asked again")
    notes += [note for note in findings.notes if note.startswith(what)]
    return TextTable(f"{what}, without controls", head, rows, tuple(notes))


def _taxonomy(findings: Findings) -> TextTable:
    strategies = [*findings.taxonomy]
    names = sorted({name for found in findings.taxonomy.values() for name in found})
    rows = tuple(
        (name, alias_of(name), *(str(findings.taxonomy[each].get(name, 0)) for each in strategies))
        for name in names
    )
    return TextTable("why runs did not pass", ("category", "alias", *strategies), rows)


def _flaky(summary: Summary) -> TextTable:
    """The cells of which some trials pass and others fail."""
    rows = tuple(
        (
            *(cell.cell.model, cell.cell.profile, cell.cell.strategy, cell.cell.scenario),
            out_of(cell.counts.ok, cell.counts.valid),
            interval_text(wilson(pass_count(cell))),
        )
        for cell in summary.cells
        if 0 < cell.counts.ok < cell.counts.valid
    )
    head = ("model", "profile", "strategy", "scenario", "passed", "95%")
    return TextTable("flaky cells: trials pass and fail", head, rows)
