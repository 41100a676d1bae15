"""Runs of evaluations as regression tests of one's own project; ``toolreel eval promote`` writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolreel._errors import ResultsError
from toolreel.cassette._tape import Recording
from toolreel.evals._replay.replay import remade
from toolreel.evals._replay.whatif import carried
from toolreel.evals._runner.trial import Job
from toolreel_core._errors import CodecError, ReplayMismatch
from toolreel_core._jsontext.canonical import Tree, canonical, parse
from toolreel_core._settings.overrides import merged
from toolreel_core.evals._plan.cells import Sample
from toolreel_core.evals._plan.configuration import Configuration
from toolreel_core.evals._records.json_lines import record_of, record_tree
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._records.retries import Tries
from toolreel_core.evals._scenarios.catalogue import scenario
from toolreel_core.evals._verdicts.verdict import Verdict

__all__ = ["Promoted"]

_VERSION = 1
_NO_CHANGES: Tree = {}


@dataclass(frozen=True, slots=True)
class Promoted:
    """One recorded run, with all that it takes to replay and to judge it."""

    record: Record
    """As it was when it was promoted; its cassette stands beside the file."""
    folder: Path
    url: str
    """Where it was recorded."""
    tries: Tries
    strict: bool
    """Whether an answer in another language is a failure."""

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
            tries = Tries(tree["tries"]["empties"], tree["tries"]["voids"])
            record = record_of(canonical(tree["run"]), str(place))
            return cls(record, place.parent, tree["url"], tries, tree["strict"])
        except (OSError, CodecError, KeyError, TypeError, ValueError) as error:
            raise ResultsError(f"{place}: cannot be read: {error}; promote the run again") from None

    def save(self, path: Path) -> None:
        """Write the file."""
        tree = {
            "toolreel_promoted": _VERSION,
            "url": self.url,
            "tries": {"empties": self.tries.empties, "voids": self.tries.voids},
            "strict": self.strict,
            "run": record_tree(self.record),
        }
        path.write_text(f"{json.dumps(tree, indent=1, ensure_ascii=False)}\n", encoding="utf-8")

    def verdict(self, changes: Tree = _NO_CHANGES) -> Verdict:
        """What today's oracle says about the run, replayed without a network.

        :param changes: to its configuration, such as ``{"config": {"max_turns": 4}}``; the recorded replies
            answer then for as long as the model is told the same
        :raises toolreel.ReplayMismatch: if the run would ask for something that was not recorded
        """
        job = self._job(changes)
        if not changes:
            return remade(job, self.record, self.folder, self.url).verdict
        came = carried(job, Recording.load(self.folder / self.record.cassette), self.url)
        if came.record is None:
            what = came.diverged.what if came.diverged else ""
            raise ReplayMismatch(
                f"{self.record.cassette}: with these changes the run parts from its recording at turn "
                f"{came.turn}: it {what}; only a model can say what comes next, so record it again"
            )
        return came.record.verdict

    def _job(self, changes: Tree) -> Job:
        record = self.record
        told = parse(record.configuration)
        text = canonical(merged(told, changes)) if isinstance(told, Mapping) else record.configuration
        sample = Sample(record.cell, record.trial, record.version, record.digest)
        return Job(sample, scenario(record.cell.scenario), Configuration.of(text), self.tries, self.strict)

    def beside(self, cassette: str) -> Promoted:
        """The same run with its cassette under another name."""
        return replace(self, record=replace(self.record, cassette=cassette))
