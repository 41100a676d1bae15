"""The pages of single runs of an evaluation: each is replayed from its cassette."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Final

from toolreel._internal.errors import ResultsError
from toolreel._journal.format import parse_journal
from toolreel._replay.retrace import retrace
from toolreel._replay.run_page.page import PageRun, run_page
from toolreel._replay.run_page.run_tree import traced_tree
from toolreel.evals._replay.replay import rerun
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record

_DIGITS: Final = 12


def run_name(key: str) -> str:
    """The name of a run in links and commands: the beginning of its key."""
    return key[:_DIGITS]


def page_of_run(results: Results, key: str) -> tuple[str, str]:
    """The name of a run of an evaluation, and its page.

    :param key: the beginning of its key
    :raises ResultsError: if there is no such run, or there are several
    :raises ToolreelError: if it cannot be replayed
    """
    found = [record for record in results.records() if record.key.startswith(key)]
    if len(found) != 1:
        many = f"{len(found)} runs begin" if found else "no run begins"
        raise ResultsError(f"{results.path}: {many} with {key!r}; `toolreel eval report` names them")
    return run_name(found[0].key), _page(found[0], plan_of_header(results.header), results.path)


def pages_of_runs(results: Results, plan: EvalPlan, keys: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The names and pages of runs; one that cannot be replayed has none."""
    for record in results.records():
        if record.key in keys:
            try:
                yield run_name(record.key), _page(record, plan, results.path)
            except ToolreelError:
                continue


def _page(record: Record, plan: EvalPlan, folder: Path) -> str:
    recorded, name = (
        parse_journal(rerun(record, plan, folder).journal, run_name(record.key)),
        run_name(record.key),
    )
    cell, verdict = record.cell, record.verdict
    tree = traced_tree(retrace(recorded), f"run {name}")
    judged: dict[str, Json] = {
        "title": ", ".join((cell.scenario, cell.model, cell.strategy, f"trial {record.trial}")),
        "verdict": [verdict.result, ": ".join(filter(None, (verdict.category, *verdict.reasons)))],
        "command": f"toolreel eval view {quote(folder.resolve().name)} {name}",
    }
    return run_page([PageRun(replace(tree, head={**tree.head, **judged}))])
