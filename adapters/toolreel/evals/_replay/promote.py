"""A run of an evaluation as a test of the user's project: its cassette, its record, and a test file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolreel._errors import ResultsError
from toolreel.evals._replay.promoted import Promoted
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._store.results import Results
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._verdicts.verdict import Verdict

__all__ = ["promote", "run_with"]

_UNFIT: Final = re.compile(r"[^a-z0-9]+")
_TEST: Final = '''\
"""{scenario}: {about}

Model {model}, strategy {strategy}, trial {trial}, replayed from the recording beside this file, without a
network. It holds the run to the verdict that it has now{verdict}

To turn it around, put what you change in the configuration into CHANGES and run the test: the recorded
replies answer for as long as the model is told the same. Then write down the verdict that you want to keep.
"""

from pathlib import Path

from toolreel.evals._replay.promoted import Promoted

RUN = Promoted.open(Path(__file__).with_name("{name}.json"))
CHANGES = {{}}  # such as {{"config": {{"max_turns": 8}}}}
RESULT = {result}
CATEGORY = {category}


def test_{name}() -> None:
    verdict = RUN.verdict(CHANGES)
    assert (verdict.result, verdict.category) == (RESULT, CATEGORY), verdict.reasons
'''


def run_with(results: Results, key: str) -> Record:
    """The run whose key begins so.

    :raises ResultsError: if there is none, or more than one
    """
    found = [record for record in results.records() if record.key.startswith(key)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ResultsError(f"{results.path}: no run has a key that begins with {key!r}")
    keys = ", ".join(record.key[:12] for record in found[:5])
    raise ResultsError(
        f"{results.path}: {len(found)} runs have a key that begins with {key!r}: {keys}, …; say more of it"
    )


def promote(
    results: Results, plan: EvalPlan, record: Record, folder: Path, name: str = ""
) -> tuple[Path, Verdict]:
    """Write the test of a run, and say where it stands and what it holds the run to.

    :param name: of the test; made of scenario, strategy and key where it is empty
    :raises ResultsError: if the run was not recorded, or there are such files already
    :raises toolreel.ReplayMismatch: if it cannot be replayed any longer
    """
    if not record.cassette:
        raise ResultsError(f"{results.path}: the run {record.key[:12]} was not recorded, so it makes no test")
    cell = record.cell
    name = _word(name.removeprefix("test_") or f"{cell.scenario}_{cell.strategy}_{record.key[:8]}")
    job = recorded_job(plan, record)
    recorded = Promoted(record, results.path, plan.endpoint.url, job.tries, job.strict)
    verdict = recorded.verdict()
    test, *others = [folder / file for file in (f"test_{name}.py", f"{name}.json", f"{name}.yaml")]
    for path in (test, *others):
        if path.exists():
            raise ResultsError(f"{path}: exists already; choose another name (--name)")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(results.path / record.cassette, others[1])
    replace(recorded.beside(others[1].name), folder=folder).save(others[0])
    test.write_text(_text(record, job.scenario.about, name, verdict), encoding="utf-8")
    return test, verdict


def _text(record: Record, about: str, name: str, verdict: Verdict) -> str:
    cell = record.cell
    return (
        _TEST.format(
            scenario=cell.scenario,
            about=_plain(about),
            model=_plain(cell.model),
            strategy=_plain(cell.strategy),
            trial=record.trial,
            verdict="".join((":\n\n", *_lines(verdict))),
            name=name,
            result=json.dumps(verdict.result),
            category=json.dumps(verdict.category),
        ).rstrip("\n")
        + "\n"
    )


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"    {verdict.result}  {verdict.category}".rstrip()
    for reason in verdict.reasons:
        yield f"\n    {_plain(reason)}"


def _plain(text: str) -> str:
    """A text that can stand in a docstring."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).translate(
        {ord("\\"): "/", ord('"'): "'"}
    )


def _word(text: str) -> str:
    return _UNFIT.sub("_", text.lower()).strip("_") or "run"
