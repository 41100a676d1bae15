"""Replay recorded runs offline, and judge them with the present checks.

The journal and the cassettes are all that is stored of an evaluation. Since worlds are values, everything
else can be recomputed from them.

A replay requires byte-identical requests. Another configuration encodes the conversation differently, so
there a recorded reply is used if the provider-neutral content of the request is the same
(:mod:`toolreel_core.evals._request_divergence`). A request with other options, such as a constraint, is
another request: what the model would have said to it, only the model can tell. Replies are used in their
order, each at most once.

Bisecting holds the replies of a run fixed and varies only its configuration, so what turns a run is a
setting, and never chance.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import httpx

from toolreel._internal import CassetteError, ResultsError
from toolreel.cassette import Session, replay_response
from toolreel.evals._results import EvaluationJournal, Results, copy_recordings, recording_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._runner.trial import Exchanges, Job, TrialContext, run_job, tools_with_recorded_results
from toolreel.http import HttpEndpoint
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext import Tree
from toolreel_core.evals import (
    TAXONOMY,
    ChangedKey,
    Configuration,
    EvalPlan,
    Record,
    Sample,
    Verdict,
    changed_keys_between,
    first_divergence,
    record_line,
    request_content,
    tree_changes,
    with_changed_keys,
)


class RecordedAnswers(httpx.BaseTransport):
    def __init__(self, recording: Session, *, held: bool = False) -> None:
        self._path = recording.path
        self._held = held
        self._left = [(self._request_content(one.body), one) for one in recording.exchanges]
        self._last: Tree | None = None
        """What the recorded run asked last, of what has been passed."""
        self._asked = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The next recorded answer to the same; what was asked between was of the recorded strategy alone."""
        self._asked += 1
        asked = self._request_content(request.read())
        for place, (content, exchange) in enumerate(self._left, 1):
            if content == asked:
                self._last, self._left = content, self._left[place:]
                return replay_response(exchange.answer, self._path, request)
        # What the recorded run asked at this place; the last that it asked, if it asked nothing more.
        expected = next((content for content, _ in self._left), self._last)
        what, how = first_divergence(expected, asked)
        raise ReplayMismatch(f"it parts from the recording at request {self._asked} by {what}: {how}")

    def _request_content(self, body: bytes) -> Tree:
        return request_content(cast("Tree", json.loads(body)), conversation=self._held)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    job: Job
    record: Record
    folder: Path

    @classmethod
    def of_record(cls, record: Record, plan: EvalPlan, folder: Path) -> RecordedRun:
        sample = Sample(record.cell, record.trial, record.version, record.digest)
        return cls(Job(plan, sample, Configuration.of(record.configuration)), record, folder)

    def replay(self) -> tuple[Record, Exchanges]:
        """Replay the run; times and the server are those of the record, since a replay has none."""
        record, tools = self.record, tools_with_recorded_results(self.record.attempts)
        if script := self.job.script:
            again, ended = run_job(self.job, TrialContext(script.send, tools))
        else:
            if not record.cassette:
                what = f"the run {record.key[:12]} was not recorded, so it cannot be replayed"
                raise CassetteError(f"{self.folder}: {what}")
            session = recording_of(self.folder, record.cassette)
            with self._endpoint(session.transport()) as endpoint:
                again, ended = run_job(self.job, TrialContext(endpoint.send, tools))
                session.finish()
        return _record_with_measured_times(replace(again, cassette=record.cassette), record), ended

    def verdict_under(self, configuration: Configuration, *, held: bool = False) -> Verdict:
        """The verdict about the run under another configuration, by its recorded replies.

        :param held: whether replies are held fixed, whatever else would have made the model reply otherwise
        """
        recording = recording_of(self.folder, self.record.cassette)
        with self._endpoint(RecordedAnswers(recording, held=held)) as endpoint:
            context = TrialContext(endpoint.send, tools_with_recorded_results(self.record.attempts))
            return run_job(replace(self.job, configuration=configuration), context)[0].verdict

    def _endpoint(self, transport: httpx.BaseTransport) -> HttpEndpoint:
        place = self.job.evaluation.endpoint_at(self.record.cell.endpoint)
        return HttpEndpoint(place.chat_url, transport=transport)


def _record_with_measured_times(record: Record, measured: Record) -> Record:
    attempts = (
        replace(
            attempt,
            ms=then.ms,
            base_url=then.base_url,
            asked=tuple(
                replace(request, ms=before.ms)
                for request, before in zip(attempt.asked, then.asked, strict=True)
            ),
        )
        for attempt, then in zip(record.attempts, measured.attempts, strict=True)
    )
    return replace(record, attempts=tuple(attempts))


@dataclass(frozen=True, slots=True)
class ReplayedTrial:
    """A run that was replayed."""

    record: Record
    """As it is in the journal."""
    now: Record | None = None
    """Its record as replayed now; ``None`` if it could not be replayed."""
    drift: str = ""
    """Why it could not, or what differs now; empty if nothing does."""


def replay_runs(results: Results, plan: EvalPlan, keys: Collection[str] = ()) -> Iterator[ReplayedTrial]:
    """Replay the runs of an evaluation that were recorded, one after the other, in the journal's order.

    They are replayed under the configuration that they had, whatever plan and presets say today.

    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if the journal cannot be read
    """
    for record in results.records():
        if not record.key.startswith(tuple(keys) or ""):
            continue
        try:
            now, _ = RecordedRun.of_record(record, plan, results.path).replay()
        except (ConfigError, ReplayMismatch, CassetteError) as error:
            yield ReplayedTrial(record, drift=str(error))
            continue
        before, after = record_line(record), record_line(now)
        drift = "another record: " + "; ".join(tree_changes(before, after))
        yield ReplayedTrial(record, now, "" if before == after else drift)


def write_rejudged_evaluation(results: Results, runs: Sequence[ReplayedTrial], folder: Path) -> None:
    """Write an evaluation with the present verdicts into a new directory, with the cassettes.

    :param runs: all of them, each with a record as replayed now
    """
    if not all(again.now for again in runs):
        raise ReplayMismatch(f"{folder}: nothing written: a run cannot be replayed, so it cannot be judged")
    if (folder / "header.json").exists():
        raise ResultsError(f"{folder}: holds an evaluation already; name another directory")
    with EvaluationJournal(folder, replace(results.header, taxonomy=TAXONOMY)) as journal:
        for again in runs:
            journal.append(again.now or again.record)
        copy_recordings(results.path, [again.record.cassette for again in runs], folder)


Fate: TypeAlias = Literal["gained", "lost", "unchanged", "undecided"]
"""``gained``: the second strategy wins what the first loses, by the same replies; ``lost``: the other way
round; ``undecided``: a verdict is missing, or says nothing about the model."""
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One recorded run under two strategies, and the settings that decide between them."""

    record: Record
    before: Verdict | None = None
    after: Verdict | None = None
    why: str = ""
    alone: tuple[ChangedKey, ...] = ()
    needed: tuple[ChangedKey, ...] = ()
    """A set that turns the run, of which none can be left out: a single key if there is one."""

    @property
    def fate(self) -> Fate:
        if self.before is None or self.after is None or self.reason:
            return "undecided"
        failed = self.before.result == "fail", self.after.result == "fail"
        return "unchanged" if failed[0] == failed[1] else "gained" if failed[0] else "lost"

    @property
    def reason(self) -> str:
        unfit = (each for each in (self.before, self.after) if each and not each.valid)
        return self.why or next((f"it is {each.result}: {each.category}" for each in unfit), "")


def rejudge_runs(
    results: Results, plan: EvalPlan, strategy: str, first: str = "", keys: Collection[str] = ()
) -> Iterator[Rejudged]:
    """Put recorded replies through a strategy.

    Those of all other strategies, each compared with the strategy that it was recorded under; a reply counts
    only as the answer to a request of the same content. With ``first``, the replies of both strategies go
    through both, whatever else would have made the model reply otherwise, and a run that the first loses and
    the second wins is bisected.

    :param strategy: a name, or a tag that means one strategy
    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    """
    second, first = _resolve_strategy_name(plan, strategy), first and _resolve_strategy_name(plan, first)
    if first == second:
        raise ConfigError(f"both strategies are {first!r}; name two")
    names = tuple(filter(None, (first, second)))
    plan = replace(plan, options=replace(plan.options, strategies=names))
    records = results.records()
    known = sorted({record.cell.strategy for record in records})
    meant = names if first else tuple(name for name in known if name != second)
    chosen = [one for one in records if one.cell.strategy in meant and one.key.startswith(tuple(keys) or "")]
    if not chosen:
        of = " or ".join(names) if first else f"another strategy than {second}"
        there = f"; there are runs of {', '.join(known)}" if known else ""
        raise ResultsError(f"{results.path}: no run of {of} is meant{there}")
    for record in chosen:
        strategies = first or record.cell.strategy, second
        yield _rejudge_run(record, plan, results.path, strategies, held=bool(first))


def _resolve_strategy_name(plan: EvalPlan, word: str) -> str:
    named = replace(plan, options=replace(plan.options, strategies=(word,)))
    names = [each.name for each in named.strategies]
    if len(names) > 1:
        raise ConfigError(f"{word!r} means several strategies: {', '.join(names)}; name one")
    return names[0]


def _rejudge_run(
    record: Record, plan: EvalPlan, folder: Path, names: tuple[str, str], *, held: bool
) -> Rejudged:
    if not record.cassette:
        return Rejudged(record, why="the run was not recorded")
    try:
        run = RecordedRun.of_record(record, plan, folder)
        before = run.replay()[0].verdict
    except (ConfigError, ReplayMismatch, CassetteError) as error:
        return Rejudged(record, why=f"the run cannot be replayed: {str(error).splitlines()[0]}")
    # The configuration that was recorded is one of the two; the plan says what the other is.
    one, other = (
        run.job.configuration
        if name == record.cell.strategy
        else plan.configuration(replace(record.cell, strategy=name))
        for name in names
    )
    try:
        if held:
            before = run.verdict_under(one, held=True)
        judged = Rejudged(record, before, run.verdict_under(other, held=held))
    except ReplayMismatch as error:
        # Without the details after the colon, so that reports can count equal reasons together.
        return Rejudged(record, why=str(error).partition(": ")[0])
    if not held or judged.fate != "gained":
        return judged

    def turns(some: tuple[ChangedKey, ...]) -> bool:
        try:
            found = run.verdict_under(with_changed_keys(one, some, other.price), held=True)
        except (ConfigError, ReplayMismatch):  # these settings contradict each other, or ask something else
            return False
        return found.valid and found.result != "fail"

    keys = changed_keys_between(one, other)
    alone = tuple(key for key in keys if turns((key,)))
    needed = alone[:1] or keys
    if not alone:
        # A key stays out if the rest still turns the run. What remains need not be the smallest such set.
        for key in keys:
            fewer = tuple(each for each in needed if each != key)
            needed = fewer if turns(fewer) else needed
    return replace(judged, alone=alone, needed=needed)


def promoted_verdict(folder: str | os.PathLike[str]) -> Verdict:
    """The verdict of the present checks about a promoted run, replayed offline.

    :param folder: the evaluation of this one run
    :raises ResultsError: if the folder cannot be read
    :raises toolreel.ReplayMismatch: if the run would ask for something that was not recorded
    """
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    return RecordedRun.of_record(_find_run(results, ""), plan, results.path).replay()[0].verdict


_TEST = '''\
"""A run of the scenario {scenario}, replayed from the recording beside this file, without a network.

It holds the run to the verdict that it has now. To turn it around, mend the check or the setting (`toolreel
eval replay --strategy` tries one on the recorded replies), record the run again, and write down the verdict
that you want to keep.
"""

from pathlib import Path

from toolreel.evals import promoted_verdict

RUN = Path(__file__).with_name("{name}")
RESULT = {result}
CATEGORY = {category}


def test_{name}() -> None:
    verdict = promoted_verdict(RUN)
    assert (verdict.result, verdict.category) == (RESULT, CATEGORY), verdict.reasons
'''


def promote(results: Results, plan: EvalPlan, key: str, folder: Path | str) -> tuple[Path, Verdict]:
    """Write the test of a run, with an evaluation of it alone.

    :param key: the beginning of the run's key
    :return: the path of the test, and the verdict that it asserts
    :raises ResultsError: if no run or several have this key, the run was not recorded, or there are such
        files already
    :raises toolreel.ReplayMismatch: if it cannot be replayed any longer
    """
    record = _find_run(results, key)
    if not record.cassette:
        raise ResultsError(
            f"{results.path}: the run {record.key[:12]} was not recorded, so it makes no test; runs of "
            "scripted models never are"
        )
    cell = record.cell
    name = re.sub(r"[^a-z0-9]+", "_", f"{cell.scenario}_{cell.strategy}_{record.key[:8]}".lower())
    verdict = RecordedRun.of_record(record, plan, results.path).replay()[0].verdict
    test, evaluation = Path(folder) / f"test_{name}.py", Path(folder) / name
    for path in (test, evaluation):
        if path.exists():
            raise ResultsError(f"{path}: exists already; it may be the test of this run")
    # Of other scenarios, which may be in files that are not at hand there, it needs nothing.
    alone = replace(plan, scenarios=(plan.scenario(cell.scenario),))
    with EvaluationJournal(evaluation, replace(results.header, plan=alone.tree())) as journal:
        journal.append(record)
    copy_recordings(results.path, (record.cassette,), evaluation)
    values = {"result": json.dumps(verdict.result), "category": json.dumps(verdict.category)}
    test.write_text(_TEST.format(scenario=cell.scenario, name=name, **values), encoding="utf-8")
    return test, verdict


def _find_run(results: Results, key: str) -> Record:
    found = [record for record in results.records() if record.key.startswith(key)]
    if len(found) != 1:
        keys = f": {', '.join(record.key[:12] for record in found[:5])}, …; say more of it" if found else ""
        what = f"{len(found)} runs have a key that begins with {key!r}{keys}"
        raise ResultsError(f"{results.path}: {what}")
    return found[0]
