"""Promote recorded runs to regression tests of your own project."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolreel._internal import ResultsError
from toolreel.evals._replay import RecordedRun
from toolreel.evals._results import Journal, Results, copy_recordings
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Tree, as_tree, canonical, merged, parse
from toolreel_core.evals import Configuration, EvalPlan, Record, Verdict

_NO_CHANGES: Tree = {}


def promoted_verdict(folder: str | os.PathLike[str], changes: Tree = _NO_CHANGES) -> Verdict:
    """The verdict of the present checks about a promoted run, replayed offline.

    :param folder: the evaluation of this one run
    :param changes: to its configuration, such as ``{"config": {"max_turns": 4}}``; the recorded replies
        answer then for as long as the model is told the same
    :raises ResultsError: if the folder cannot be read
    :raises toolreel.ReplayMismatch: if the run would ask for something that was not recorded
    """
    results = Results.open(folder)
    run = RecordedRun.of(_find_run(results, ""), plan_of_header(results.header), results.path)
    if not changes:
        return run.replayed().verdict
    try:
        text = canonical(merged(as_tree(parse(run.record.configuration)), changes))
        return run.under(Configuration.of(text))
    except ReplayMismatch as error:
        raise ReplayMismatch(
            f"{results.path}: with these changes {error}; only a model can say what comes next, so record it "
            "again"
        ) from None


_UNFIT: Final = re.compile(r"[^a-z0-9]+")
"""Characters that a Python name cannot have."""
_TEST: Final = '''\
"""{scenario}: {about}

Model {model}, strategy {strategy}, trial {trial}, replayed from the recording beside this file, without a
network. It holds the run to the verdict that it has now{verdict}

To turn it around, put what you change in the configuration into CHANGES and run the test: the recorded
replies answer for as long as the model is told the same. Then write down the verdict that you want to keep.
"""

from pathlib import Path

from toolreel.evals import promoted_verdict

RUN = Path(__file__).with_name("{name}")
CHANGES = {{}}  # such as {{"config": {{"max_turns": 8}}}}
RESULT = {result}
CATEGORY = {category}


def test_{name}() -> None:
    verdict = promoted_verdict(RUN, CHANGES)
    assert (verdict.result, verdict.category) == (RESULT, CATEGORY), verdict.reasons
'''


def promote(
    results: Results, plan: EvalPlan, key: str, folder: Path | str, name: str = ""
) -> tuple[Path, Verdict]:
    """Write the test of a run, with an evaluation of it alone.

    :param key: the beginning of the run's key
    :param name: of the test; made of scenario, strategy and key where it is empty
    :return: the path of the test, and the verdict that it asserts
    :raises ResultsError: if no run or several have this key, the run was not recorded, or there are such
        files already
    :raises toolreel.ReplayMismatch: if it cannot be replayed any longer
    """
    record = _find_run(results, key)
    if not record.cassette:
        raise ResultsError(
            f"{results.path}: the run {record.key[:12]} was not recorded, so it makes no test; runs of "
            "scripted models never are, and others not with --no-cassettes"
        )
    cell = record.cell
    words = name.removeprefix("test_") or f"{cell.scenario}_{cell.strategy}_{record.key[:8]}"
    name = _UNFIT.sub("_", words.lower()).strip("_") or "run"
    run = RecordedRun.of(record, plan, results.path)
    verdict, scenario = run.replayed().verdict, run.job.scenario
    test, evaluation = Path(folder) / f"test_{name}.py", Path(folder) / name
    for path in (test, evaluation):
        if path.exists():
            raise ResultsError(f"{path}: exists already; choose another name (--name)")
    # Of other scenarios, which may be in files that are not at hand there, it needs nothing.
    with Journal(
        evaluation, replace(results.header, plan=replace(plan, scenarios=(scenario,)).tree())
    ) as one:
        one.append(record)
    copy_recordings(results.path, (record.cassette,), evaluation)
    told = (f"{verdict.result}  {verdict.category}".rstrip(), *map(_docstring_text, verdict.reasons))
    text = _TEST.format(
        scenario=cell.scenario,
        about=_docstring_text(scenario.about),
        model=_docstring_text(cell.model),
        strategy=_docstring_text(cell.strategy),
        trial=record.trial,
        verdict=":\n\n" + "\n".join(f"    {line}" for line in told),
        name=name,
        result=json.dumps(verdict.result),
        category=json.dumps(verdict.category),
    )
    test.write_text(text, encoding="utf-8")
    return test, verdict


def _find_run(results: Results, key: str) -> Record:
    """The one run whose key begins so."""
    found = [record for record in results.records() if record.key.startswith(key)]
    if len(found) != 1:
        keys = f": {', '.join(record.key[:12] for record in found[:5])}, …; say more of it" if found else ""
        what = f"{len(found)} runs have a key that begins with {key!r}{keys}"
        raise ResultsError(f"{results.path}: {what}")
    return found[0]


def _docstring_text(text: str) -> str:
    """A text that can be in a docstring."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).translate(
        {ord("\\"): "/", ord('"'): "'"}
    )
