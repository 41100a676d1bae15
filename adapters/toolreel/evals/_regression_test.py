"""Promote recorded runs to regression tests of your own project."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolreel._internal import ResultsError
from toolreel.evals._catalogue import built_in
from toolreel.evals._replay import RecordedRun
from toolreel.evals._results import Results, recording_bytes
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._runner.scenario_files import scenario_of_tree
from toolreel.evals._runner.trial import Job
from toolreel_core._errors import CodecError, ReplayMismatch
from toolreel_core._jsontext import NOTHING, JsonText, Tree, as_tree, canonical, merged, parse
from toolreel_core.evals import (
    Configuration,
    EvalPlan,
    Record,
    Retries,
    Sample,
    Verdict,
    record_of,
    record_tree,
)

_VERSION = 1
_NO_CHANGES: Tree = {}


@dataclass(frozen=True, slots=True)
class Promoted:
    """A recorded run that can be replayed and judged offline."""

    record: Record
    """As it was when it was promoted; its cassette is next to the file."""
    folder: Path
    url: str
    """Where it was recorded."""
    retries: Retries
    own: JsonText = NOTHING
    """The scenario, if it was read from a file."""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Promoted:
        """The run in a file.

        :raises ResultsError: if it cannot be read
        """
        place = Path(path)
        try:
            tree = json.loads(place.read_text(encoding="utf-8"))
            if tree["toolreel_promoted"] != _VERSION:
                raise ValueError(f"of version {tree['toolreel_promoted']!r}; expected {_VERSION}")
            retries = Retries(tree["tries"]["empties"], tree["tries"]["voids"])
            record = record_of(canonical(tree["run"]), str(place))
            own = canonical(tree.get("scenario", {}))
            return cls(record, place.parent, tree["url"], retries, own)
        except (OSError, CodecError, KeyError, TypeError, ValueError) as error:
            raise ResultsError(f"{place}: cannot be read: {error}; promote the run again") from None

    def save(self, path: Path | str) -> None:
        """Write the file."""
        tree = {
            "toolreel_promoted": _VERSION,
            "url": self.url,
            "tries": {"empties": self.retries.empties, "voids": self.retries.voids},
            "run": record_tree(self.record),
            **({} if self.own == NOTHING else {"scenario": parse(self.own)}),
        }
        Path(path).write_text(f"{json.dumps(tree, indent=1, ensure_ascii=False)}\n", encoding="utf-8")

    def verdict(self, changes: Tree = _NO_CHANGES) -> Verdict:
        """The verdict of the present checks about the run, replayed offline.

        :param changes: to its configuration, such as ``{"config": {"max_turns": 4}}``; the recorded replies
            answer then for as long as the model is told the same
        :raises toolreel.ReplayMismatch: if the run would ask for something that was not recorded
        """
        record, stored = self.record, as_tree(parse(self.record.configuration))
        name = record.cell.scenario
        posed = built_in(name) if self.own == NOTHING else scenario_of_tree(name, parse(self.own))
        sample = Sample(record.cell, record.trial, record.version, record.digest)
        text = canonical(merged(stored, changes)) if changes else record.configuration
        job = Job(sample, posed, Configuration.of(text), self.retries)
        run = RecordedRun(job, record, self.folder, self.url)
        if not changes:
            return run.replayed().verdict
        try:
            return run.under(job.configuration)
        except ReplayMismatch as error:
            raise ReplayMismatch(
                f"{record.cassette}: with these changes {error}; only a model can say what comes next, so "
                "record it again"
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

from toolreel.evals import Promoted

RUN = Promoted.open(Path(__file__).with_name("{name}.json"))
CHANGES = {{}}  # such as {{"config": {{"max_turns": 8}}}}
RESULT = {result}
CATEGORY = {category}


def test_{name}() -> None:
    verdict = RUN.verdict(CHANGES)
    assert (verdict.result, verdict.category) == (RESULT, CATEGORY), verdict.reasons
'''


def find_run(results: Results, key: str) -> Record:
    """The run whose key begins with ``key``.

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
    results: Results,
    plan: EvalPlan,
    record: Record,
    folder: Path | str,
    name: str = "",
) -> tuple[Path, Verdict]:
    """Write the test of a run; returns its path and the verdict that it asserts.

    :param name: of the test; made of scenario, strategy and key where it is empty
    :raises ResultsError: if the run was not recorded, or there are such files already
    :raises toolreel.ReplayMismatch: if it cannot be replayed any longer
    """
    folder = Path(folder)
    if not record.cassette:
        raise ResultsError(
            f"{results.path}: the run {record.key[:12]} was not recorded, so it makes no test; runs of "
            "scripted models never are, and others not with --no-cassettes"
        )
    cell = record.cell
    words = name.removeprefix("test_") or f"{cell.scenario}_{cell.strategy}_{record.key[:8]}"
    name = _UNFIT.sub("_", words.lower()).strip("_") or "run"
    job = recorded_job(plan, record)
    own = job.scenario.tree if job.scenario.from_file else NOTHING
    url = plan.endpoint_at(cell.endpoint).chat_url
    recorded = Promoted(record, results.path, url, job.retries, own)
    verdict = recorded.verdict()
    test, *others = [folder / file for file in (f"test_{name}.py", f"{name}.json", f"{name}.yaml")]
    for path in (test, *others):
        if path.exists():
            raise ResultsError(f"{path}: exists already; choose another name (--name)")
    folder.mkdir(parents=True, exist_ok=True)
    others[1].write_bytes(recording_bytes(results.path, record.cassette))
    beside = replace(record, cassette=others[1].name)
    Promoted(beside, folder, url, job.retries, own).save(others[0])
    told = (
        f"    {verdict.result}  {verdict.category}".rstrip(),
        *(f"    {_plain(why)}" for why in verdict.reasons),
    )
    text = _TEST.format(
        scenario=cell.scenario,
        about=_plain(job.scenario.about),
        model=_plain(cell.model),
        strategy=_plain(cell.strategy),
        trial=record.trial,
        verdict=":\n\n" + "\n".join(f"    {line}" for line in told),
        name=name,
        result=json.dumps(verdict.result),
        category=json.dumps(verdict.category),
    )
    test.write_text(text, encoding="utf-8")
    return test, verdict


def _plain(text: str) -> str:
    """A text that can be in a docstring."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).translate(
        {ord("\\"): "/", ord('"'): "'"}
    )
