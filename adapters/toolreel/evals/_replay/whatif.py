"""What-if: recorded replies of one strategy, run through the configurations of others, offline.

A replay requires byte-identical requests. Another strategy encodes the conversation differently, so here a
recorded reply is used if the provider-neutral content of the request is the same
(:mod:`toolreel_core.evals._request_divergence`). A request with other options, such as a constraint,
is another request: what the model would have said to it, only the model can tell. Replies are used in their
order, each at most once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast, get_args

import httpx

from toolreel._internal import ResultsError
from toolreel.cassette import Exchange, Recording, replayed
from toolreel.evals._replay.replay import replay_record
from toolreel.evals._runner.connection import offline_context
from toolreel.evals._runner.evaluation import jobs_of, recorded_job
from toolreel.evals._runner.trial import Job, run_job
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results
from toolreel.http import HttpEndpoint
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext import Tree
from toolreel_core._protocol import Note, RequestSent, SummaryRequested
from toolreel_core.evals import (
    Attempt,
    EvalPlan,
    Record,
    RequestContent,
    Sample,
    Verdict,
    first_divergence,
    request_content,
)


class Diverged(Exception):
    """A run sent a request that its recording does not answer: by which kind of divergence, and how."""


class RecordedAnswers(httpx.BaseTransport):
    """Answers from a recording; a request that it does not answer raises :class:`Diverged`.

    :param held: whether replies are held fixed, whatever else would have made the model reply otherwise
    """

    def __init__(self, recording: Recording, *, held: bool = False) -> None:
        self._path = recording.path
        self._held = held
        self._exchanges = [(self._content(one.body), one) for one in recording.exchanges]
        self._next = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer.

        :raises Diverged: if there is none
        """
        asked = self._content(request.read())
        found = self._found(asked)
        if found is None:
            raise Diverged(*first_divergence(self._expected, asked))
        return replayed(found.answer, self._path, request)

    def _content(self, body: bytes) -> RequestContent:
        content = request_content(cast("Tree", json.loads(body)))
        return content.conversation if self._held else content

    def _found(self, asked: RequestContent) -> Exchange | None:
        """The next answer to the same; what was asked between was of the recorded strategy alone."""
        for place, (content, exchange) in enumerate(self._exchanges[self._next :], self._next + 1):
            if content == asked:
                self._next = place
                return exchange
        return None

    @property
    def _expected(self) -> RequestContent | None:
        """What the recorded run asked at this place; the last that it asked, if it asked nothing more."""
        content = [content for content, _ in self._exchanges]
        return next(iter(content[self._next :] or content[-1:]), None)


Fate: TypeAlias = Literal["gained", "lost", "won", "failed", "diverged", "undecided"]
"""``gained``: lost as the first has it, won as the second has it, by the same replies; ``lost``: the other
way round; ``won``, ``failed``: the same under both; ``diverged``: it sent a request that was not recorded;
``undecided``: one of the two verdicts is missing, or says nothing about the model."""
FATES: Final[tuple[Fate, ...]] = get_args(Fate)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One recorded run under two configurations: as it was recorded and another, or two others."""

    record: Record
    before: Verdict | None = None
    after: Verdict | None = None
    why: str = ""
    """Why a verdict is missing."""
    diverged: str = ""
    """Where it parts from the recording, such as ``turn 2 by calls``."""

    @property
    def fate(self) -> Fate:
        """What becomes of the run."""
        if self.after is None and self.diverged:
            return "diverged"
        if self.before is None or self.after is None or not (self.before.valid and self.after.valid):
            return "undecided"
        passed = self.before.result != "fail", self.after.result != "fail"
        fates: dict[tuple[bool, bool], Fate] = {
            (False, True): "gained",
            (True, False): "lost",
            (True, True): "won",
            (False, False): "failed",
        }
        return fates[passed]

    @property
    def reason(self) -> str:
        """Why it is undecided, in words."""
        unfit = (each for each in (self.before, self.after) if each and not each.valid)
        return self.why or next((f"it is {each.result}: {each.category}" for each in unfit), "")


def strategy_meant(plan: EvalPlan, word: str) -> str:
    """The name of the one strategy that a name or a tag means.

    :raises ConfigError: if there is none, or the word means several
    """
    names = [each.name for each in plan_under(plan, (word,)).strategies]
    if len(names) > 1:
        raise ConfigError(f"{word!r} means several strategies: {', '.join(names)}; name one")
    return names[0]


def plan_under(plan: EvalPlan, strategies: Sequence[str]) -> EvalPlan:
    """The same plan with other strategies.

    :raises ConfigError: if there is no such strategy
    """
    return replace(plan, options=replace(plan.options, strategies=tuple(strategies)))


def rejudged_under(
    results: Results, plan: EvalPlan, strategy: str, keys: Collection[str] = ()
) -> tuple[str, dict[str, list[Rejudged]]]:
    """The recorded runs of all other strategies under one: its name, and what becomes of them by strategy.

    :param strategy: a name or a tag
    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if there are no such runs
    :raises ConfigError: if there is no such strategy, or the word means several
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    name = strategy_meant(plan, strategy)
    other = plan_under(plan, (name,))
    found: dict[str, list[Rejudged]] = {}
    for record in results.records():
        if record.cell.strategy != name and (not keys or record.key.startswith(tuple(keys))):
            found.setdefault(record.cell.strategy, []).append(_rejudged(results, plan, other, record, name))
    if not found:
        raise ResultsError(f"{results.path}: no run of another strategy than {name} is meant")
    return name, found


def _rejudged(results: Results, plan: EvalPlan, other: EvalPlan, record: Record, strategy: str) -> Rejudged:
    if not record.cassette:
        return Rejudged(record, why="the run was not recorded")
    try:
        url = plan.endpoint_at(record.cell.endpoint).chat_url
        before = replay_record(recorded_job(plan, record), record, results.path, url).verdict
    except (ConfigError, ReplayMismatch) as error:
        return Rejudged(record, why=f"the run cannot be replayed: {str(error).splitlines()[0]}")
    cell = replace(record.cell, strategy=strategy)
    sample = Sample(cell, record.trial, record.version, other.configuration(cell).digest)
    recording = recording_of(results.path, record.cassette)
    url = other.endpoint_at(cell.endpoint).chat_url
    after, diverged, _ = rerun_by_recording(jobs_of(other)(sample), recording, url, record.attempts)
    return Rejudged(record, before, after.verdict if after else None, diverged=diverged)


def rerun_by_recording(
    job: Job, recording: Recording, base_url: str, attempts: Sequence[Attempt], *, held: bool = False
) -> tuple[Record | None, str, str]:
    """How far the answers of a recording carry a run; whatever they do not answer ends it.

    :param held: whether replies are held fixed, whatever else would have made the model reply otherwise
    :return: its record; if it diverged, none, but where it did (``turn 2 by calls``), and how, in words
    """
    turn, answers = 1, RecordedAnswers(recording, held=held)

    def observe(note: Note, /) -> None:
        nonlocal turn
        if isinstance(note, RequestSent | SummaryRequested):
            turn = note.turn

    with HttpEndpoint(base_url, transport=answers) as endpoint:
        try:
            return run_job(job, offline_context(endpoint, attempts[-1:], observe)), "", ""
        except Diverged as diverged:
            kind, how = diverged.args
            return None, f"turn {turn} by {kind}", how
        except ReplayMismatch as unrecorded:
            # A real tool was called as it was not in the recording.
            return None, f"turn {turn} by calls", str(unrecorded)
