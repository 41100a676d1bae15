"""What-if: recorded replies of one strategy, run through the configurations of others, offline.

A replay requires byte-identical requests. Another strategy encodes the conversation differently, so here a
recorded reply is used if the provider-neutral content of the request is the same
(:mod:`toolreel_core.evals._records.request_divergence`). A request with other options, such as a constraint,
is another request: what the model would have said to it, only the model can tell. Replies are used in their
order, each at most once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import httpx

from toolreel._internal import ResultsError
from toolreel.cassette import Exchange, Recording, replayed
from toolreel.evals._replay.replay import replay_record
from toolreel.evals._runner.connection import offline_context
from toolreel.evals._runner.evaluation import jobs_of, recorded_job
from toolreel.evals._runner.trial import Job, run_job
from toolreel.evals._statistics.significance_tests import mcnemar_p
from toolreel.evals._store.recordings import recording_of
from toolreel.evals._store.results import Results
from toolreel.http import HttpEndpoint
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext import Tree
from toolreel_core._protocol import Note, RequestSent, SummaryRequested
from toolreel_core.evals import (
    Attempt,
    Divergence,
    EvalPlan,
    Fate,
    Record,
    RequestContent,
    Sample,
    Verdict,
    WhatIf,
    WhatIfTally,
    first_divergence,
    request_content,
)


class Diverged(Exception):
    """A run sent a request that its recording does not answer."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.what)
        self.divergence = divergence


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
            raise Diverged(first_divergence(self._expected, asked))
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


@dataclass(frozen=True, slots=True)
class WhatIfRun:
    """How far recorded answers carry a run."""

    record: Record | None
    """The record of the run; ``None`` if it diverged."""
    diverged: Divergence | None = None
    turn: int = 0
    """The turn in which it did."""


def plan_under(plan: EvalPlan, strategies: Sequence[str]) -> EvalPlan:
    """The same plan with other strategies.

    :raises ConfigError: if there is no such strategy
    """
    return replace(plan, options=replace(plan.options, strategies=tuple(strategies)))


def strategy_meant(plan: EvalPlan, word: str) -> str:
    """The name of the one strategy that a name or a tag means.

    :raises ConfigError: if there is none, or the word means several
    """
    names = [each.name for each in plan_under(plan, (word,)).strategies]
    if len(names) > 1:
        raise ConfigError(f"{word!r} means several strategies: {', '.join(names)}; name one")
    return names[0]


def tallies_under(
    results: Results, plan: EvalPlan, strategy: str, keys: Collection[str] = ()
) -> tuple[str, dict[str, WhatIfTally]]:
    """The recorded runs of all other strategies under one: its name, and what becomes of them by strategy.

    :param strategy: a name or a tag
    :param keys: beginnings of the keys of the runs that are wanted; all runs, if there are none
    :raises ResultsError: if there are no such runs
    :raises ConfigError: if there is no such strategy, or the word means several
    :raises CassetteError: if a cassette cannot be read or trusted
    """
    name = strategy_meant(plan, strategy)
    other = plan_under(plan, (name,))
    found: dict[str, list[WhatIf]] = {}
    for record in results.records():
        was_asked = not keys or record.key.startswith(tuple(keys))
        if was_asked and record.cell.strategy != name:
            found.setdefault(record.cell.strategy, []).append(_what_if(results, plan, other, record, name))
    if not found:
        raise ResultsError(f"{results.path}: no run of another strategy than {name} is meant")
    return name, {recorded: WhatIfTally(tuple(runs)) for recorded, runs in found.items()}


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


def _judged(results: Results, plan: EvalPlan, record: Record) -> tuple[Verdict | None, str]:
    """The verdict of today's oracles about a recorded run, or why there is none."""
    if not record.cassette:
        return None, "the run was not recorded"
    try:
        job, url = recorded_job(plan, record), plan.endpoint_at(record.cell.endpoint).chat_url
        return replay_record(job, record, results.path, url).verdict, ""
    except (ConfigError, ReplayMismatch) as error:
        return None, f"the run cannot be replayed: {str(error).splitlines()[0]}"


def _what_if(results: Results, plan: EvalPlan, other: EvalPlan, record: Record, strategy: str) -> WhatIf:
    was, why = _judged(results, plan, record)
    content = WhatIf(record.key, record.cell, record.trial, strategy, was, why=why)
    if was is None:
        return content
    cell = replace(record.cell, strategy=strategy)
    sample = Sample(cell, record.trial, record.version, other.configuration(cell).digest)
    came = run_with_recorded_answers(
        jobs_of(other)(sample),
        recording_of(results.path, record.cassette),
        other.endpoint_at(cell.endpoint).chat_url,
        record.attempts,
    )
    now = came.record.verdict if came.record else None
    return replace(content, now=now, diverged=came.diverged, turn=came.turn)


_COUNTED: Final[tuple[Fate, ...]] = ("recovery", "loss", "unchanged", "diverged", "undecided")


def whatif_lines(strategy: str, tallies: Mapping[str, WhatIfTally]) -> Iterator[str]:
    """Lines for a terminal: counts, and each run that is lost or recovered."""
    for recorded, tally in tallies.items():
        recoveries, losses, same, diverged, undecided = (len(tally.of(fate)) for fate in _COUNTED)
        yield (
            f"{recorded} -> {strategy}: {len(tally.runs)} runs, {recoveries} recoveries, {losses} losses, "
            f"{same} unchanged, {diverged} diverged, {undecided} undecided; "
            f"exact McNemar p = {mcnemar_p(tally.pairs.lost, tally.pairs.gained):.4g}"
        )
        for (turn, kind), runs in tally.divergences.items():
            yield f"  diverged at turn {turn}: {runs} by {kind}"
        for why, runs in Counter(run.reason for run in tally.of("undecided")).most_common():
            yield f"  undecided: {runs} because {why}"
        for run in (*tally.of("recovery"), *tally.of("loss")):
            was, now = ((one.category or one.result) if one else "" for one in (run.was, run.now))
            name = f"{run.key[:12]}  {run.cell.model} {run.cell.scenario} trial {run.trial}"
            yield f"  {name}  {run.fate}: {was} -> {now}"


def whatif_tree(strategy: str, tallies: Mapping[str, WhatIfTally]) -> Tree:
    """The same for machines, with all runs."""
    return {"strategy": strategy, "from": {name: _tally_tree(tally) for name, tally in tallies.items()}}


def _tally_tree(tally: WhatIfTally) -> Tree:
    return {
        **{fate: len(tally.of(fate)) for fate in _COUNTED},
        "exact_p": mcnemar_p(tally.pairs.lost, tally.pairs.gained),
        "divergences": [
            {"turn": turn, "kind": kind, "runs": runs} for (turn, kind), runs in tally.divergences.items()
        ],
        "runs": [_run_tree(run) for run in tally.runs],
    }


def _run_tree(run: WhatIf) -> Tree:
    where = run.diverged
    return {
        "key": run.key,
        "model": run.cell.model,
        "scenario": run.cell.scenario,
        "trial": run.trial,
        "fate": run.fate,
        "was": run.was.result if run.was else None,
        "now": run.now.result if run.now else None,
        **({"diverged": {"turn": run.turn, "kind": where.kind, "what": where.what}} if where else {}),
        **({"reason": run.reason} if run.reason else {}),
    }
