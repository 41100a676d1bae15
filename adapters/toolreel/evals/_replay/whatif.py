"""What-if: recorded replies of one strategy, run through the configurations of others, offline.

A replay requires byte-identical requests. Another strategy encodes the conversation differently, so here a
recorded reply is used if the provider-neutral content of the request is the same
(:mod:`toolreel_core.evals._records.request_divergence`). A request with other options, such as a constraint,
is another request: what the model would have said to it, only the model can tell. Replies are used in their
order, each at most once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import httpx

from toolreel._internal.errors import ResultsError
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._response_body_streams import replayed
from toolreel.cassette._stored_exchange import Exchange
from toolreel.evals._replay.replay import replay_record
from toolreel.evals._runner.connection import offline_context
from toolreel.evals._runner.evaluation import job_of, recorded_job
from toolreel.evals._runner.trial import Job, run_job
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results
from toolreel.http._httpx_endpoint import HttpEndpoint
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import NOTHING, Tree
from toolreel_core._protocol.notes import Note, RequestSent, SummaryRequested
from toolreel_core.evals._plan.cells import Sample
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Attempt, Record
from toolreel_core.evals._records.request_divergence import (
    Divergence,
    RequestContent,
    first_divergence,
    request_content,
)
from toolreel_core.evals._records.what_if import WhatIf
from toolreel_core.evals._verdicts import Verdict


class Diverged(Exception):
    """A run sent a request that its recording does not answer."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.what)
        self.divergence = divergence


class RecordedAnswers(httpx.BaseTransport):
    """Answers from a recording.

    :param beyond: answers from the first request on that the recording has no answer for; without it,
        that request raises :class:`Diverged`
    :param held: whether replies are held fixed, whatever else would have made the model reply otherwise
    """

    def __init__(
        self, recording: Recording, beyond: httpx.BaseTransport | None = None, *, held: bool = False
    ) -> None:
        self._path = recording.path
        self._held = held
        self._exchanges = [(self._content(one.body), one) for one in recording.exchanges]
        self._next = 0
        self._beyond = beyond
        self.diverged: Divergence | None = None
        """Where the recording ended to be of use, once it has."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer, or that of the transport behind the recording.

        :raises Diverged: if nobody does
        """
        asked = self._content(request.read())
        found = None if self.diverged else self._found(asked)
        if found is not None:
            return replayed(found.answer, self._path)
        self.diverged = self.diverged or first_divergence(self._expected, asked)
        if self._beyond is None:
            raise Diverged(self.diverged)
        return self._beyond.handle_request(request)

    def _content(self, body: bytes) -> RequestContent:
        content = request_content(_tree(body))
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


def _tree(body: bytes) -> Tree:
    return cast("Tree", json.loads(body))


_NOT_RECORDED = "the run was not recorded"


@dataclass(frozen=True, slots=True)
class WhatIfRun:
    """How far recorded answers carry a run."""

    record: Record | None
    """The record of the run; ``None`` if it diverged."""
    diverged: Divergence | None = None
    turn: int = 0
    """The turn in which it did."""


def plan_under(plan: EvalPlan, strategies: Sequence[str]) -> EvalPlan:
    """The same plan with other strategies, all of its trials and no rule that stops cells.

    :raises ConfigError: if there is no such strategy
    """
    options = replace(plan.options, strategies=tuple(strategies), adaptive=NOTHING)
    return replace(plan, options=options)


def what_ifs(results: Results, plan: EvalPlan, recorded: str, strategies: Sequence[str]) -> Iterator[WhatIf]:
    """Each recorded run of one strategy under each of the others, in the order of the journal.

    :raises ResultsError: if there are no runs of the strategy
    :raises ConfigError: if there is no such other strategy
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    others = plan_under(plan, strategies)
    known: dict[str, None] = {}
    for record in results.records():
        known[record.cell.strategy] = None
        if record.cell.strategy == recorded:
            was, why = _judged(results, plan, record)
            for strategy in others.strategies:
                yield _what_if(results, others, record, strategy.name, was, why)
    if recorded not in known:
        raise ResultsError(f"{results.path}: {unknown_name('strategy', recorded, known)}")


def run_with_recorded_answers(
    job: Job, recording: Recording, base_url: str, attempts: Sequence[Attempt], *, held: bool = False
) -> WhatIfRun:
    """How far the answers of a recording carry a run; whatever they do not answer ends it.

    :param held: whether replies are held fixed, whatever else would have made the model reply otherwise
    """
    turn, answers = 1, RecordedAnswers(recording, held=held)

    def observe(note: Note, /) -> None:
        nonlocal turn
        if isinstance(note, RequestSent | SummaryRequested):
            turn = note.turn

    with HttpEndpoint(base_url, transport=answers) as endpoint:
        try:
            return WhatIfRun(run_job(job, offline_context(endpoint, attempts[-1:], observe)))
        except Diverged as diverged:
            return WhatIfRun(None, diverged.divergence, turn)
        except ReplayMismatch as unrecorded:
            # A real tool was called as it was not in the recording.
            return WhatIfRun(None, Divergence("calls", str(unrecorded)), turn)


def recorded_answers_first(
    results: Results, recorded: str
) -> Callable[[Job, httpx.BaseTransport], httpx.BaseTransport]:
    """What asks the network only for what the recorded runs of a strategy do not answer."""
    cassettes = {
        (record.cell, record.trial): record.cassette
        for record in results.records()
        if record.cell.strategy == recorded and record.cassette
    }

    def transport(job: Job, network: httpx.BaseTransport) -> httpx.BaseTransport:
        cell = replace(job.sample.cell, strategy=recorded)
        cassette = cassettes.get((cell, job.sample.trial))
        return RecordedAnswers(recording_of(results.path, cassette), network) if cassette else network

    return transport


def with_live_verdicts(ifs: Collection[WhatIf], records: Iterator[Record]) -> tuple[WhatIf, ...]:
    """The same runs with what came of those that diverged, once the network was asked."""
    now = {(record.cell, record.trial): record.verdict for record in records}
    return tuple(
        replace(one, now=now.get((replace(one.cell, strategy=one.strategy), one.trial)))
        if one.fate == "diverged"
        else one
        for one in ifs
    )


def _judged(results: Results, plan: EvalPlan, record: Record) -> tuple[Verdict | None, str]:
    """The verdict of today's oracles about a recorded run, or why there is none."""
    if not record.cassette:
        return None, _NOT_RECORDED
    try:
        job, url = recorded_job(plan, record), plan.endpoint_at(record.cell.endpoint).chat_url
        return replay_record(job, record, results.path, url).verdict, ""
    except (ConfigError, ReplayMismatch) as error:
        return None, f"the run cannot be replayed: {str(error).splitlines()[0]}"


def _what_if(
    results: Results, others: EvalPlan, record: Record, strategy: str, was: Verdict | None, why: str
) -> WhatIf:
    content = WhatIf(record.key, record.cell, record.trial, strategy, was, why=why)
    if was is None:
        return content
    cell = replace(record.cell, strategy=strategy)
    sample = Sample(cell, record.trial, record.version, others.configuration(cell).digest)
    came = run_with_recorded_answers(
        job_of(others, sample),
        recording_of(results.path, record.cassette),
        others.endpoint_at(cell.endpoint).chat_url,
        record.attempts,
    )
    now = came.record.verdict if came.record else None
    return replace(content, now=now, diverged=came.diverged, turn=came.turn)
