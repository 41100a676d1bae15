"""Records: what the journal of an evaluation stores of each run that has ended; and the table of trials.

Fields with their default value are not written, so that a new field changes no old line. The table has a row
for each run, those that are missing too, in the order of the plan; everything downstream reads such rows.
Percentiles are those of the reference harness: not interpolated, each is a measured value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import fsum
from typing import Literal, TypeAlias, cast, get_args

from toolreel_core._errors import CodecError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    parse,
    read_json,
    value_or_failure,
)
from toolreel_core._protocol import codec_error, decode, encode, type_name
from toolreel_core._settings import Price
from toolreel_core.evals._plan.eval_plan import Cell
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._verdicts import Result, Verdict

RECORDS_VERSION = 1
"""Version of the format of headers and records."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request of a run, in the order in which they were sent, retries included."""

    turn: int
    ms: int
    status: int | None
    failure: str = ""
    """The kind of a failure on the wire, such as ``timeout``."""
    finish: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    """The cost reported by the provider; ``None`` if it reports none."""
    model: str = ""
    """The model that answered, as reported."""
    provider: str = ""
    fingerprint: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class ObservedResult:
    name: str
    arguments: JsonText
    output: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a run; all but the last were retried."""

    ms: int
    verdict: Verdict
    asked: tuple[SentRequest, ...]
    base_url: str = ""
    """Where its requests went, without credentials; empty of a script."""
    results: tuple[ObservedResult, ...] = ()
    """Of the scenario's real tools, in order."""


@dataclass(frozen=True, slots=True)
class Record:
    """One finished run."""

    key: str
    cell: Cell
    trial: int
    version: int
    configuration: JsonText
    """The effective configuration, whole, in the form of :attr:`Configuration.text`."""
    digest: str
    tools_sent: bool
    verdict: Verdict
    loop: str
    final: str
    """The final text; empty if there is none."""
    world: JsonText
    """The contents of the world at the end."""
    turns: int
    calls: int
    attempts: tuple[Attempt, ...]
    error_status: int | None = None
    error_body: JsonText | None = None
    """The body of an error response, parsed where it is JSON; at most 20,000 characters of it."""
    error_hint: str = ""
    """``provider: message``, as reported by a router."""
    cassette: str = ""
    """The path of the recording, relative to the evaluation's directory; empty if nothing was recorded."""

    @property
    def ms(self) -> int:
        """Milliseconds of all attempts together."""
        return sum(attempt.ms for attempt in self.attempts)


_PARTS = {"cell": Cell, "verdict": Verdict}
_LISTS = {"attempts": Attempt, "asked": SentRequest, "results": ObservedResult}
_TEXTS = ("configuration", "world", "error_body")
"""Fields that are JSON text in memory, and trees in the file."""


def record_line(record: Record) -> JsonText:
    """The record in one line, without its end."""
    return canonical(record_tree(record))


def record_tree(record: Record) -> Tree:
    tree = as_tree(_flatten(encode(record)))
    texts = {name: parse(JsonText(str(tree[name]))) for name in _TEXTS if name in tree}
    return {"record": RECORDS_VERSION, **tree, **texts}


def _flatten(stored: Json) -> Json:
    """The stored form without names of classes, and with the fields of parts among those of their owner."""
    if isinstance(stored, list):
        return [_flatten(item) for item in stored]
    if not isinstance(stored, Mapping):
        return stored
    flat = dict[str, Json]()
    for name, value in stored.items():
        if name in _PARTS:
            flat.update(as_tree(_flatten(value)))
        elif name != "type":
            flat[name] = _flatten(value)
    return flat


def record_of(line: str, place: str = "record") -> Record:
    """Read a line.

    :param place: what errors call it, such as ``journal.jsonl, line 3``
    :raises CodecError: if it is not a record of this version; names the place
    """
    match value_or_failure(read_json(line).alt(lambda why: CodecError(f"{place}: not a record: {why}"))):
        case CodecError() as error:
            raise error
        case Mapping() as tree:
            if (version := tree.get("record")) != RECORDS_VERSION:
                what = f"of version {canonical(version)[:80]}; this toolreel reads version {RECORDS_VERSION}"
                raise CodecError(f"{place}: {what}")
            texts = {name: canonical(tree[name]) for name in _TEXTS if name in tree}
            own = {name: value for name, value in tree.items() if name != "record"}
            return cast("Record", decode(Record, _unflatten(Record, {**own, **texts}), place))
        case tree:
            raise codec_error(place, "an object", tree)


def _unflatten(kind: type, flat: Json) -> Json:
    """The stored form of what :func:`_flatten` has made of a class."""
    if not isinstance(flat, Mapping):
        return flat
    tree, own = dict(flat), {each.name for each in fields(kind)}
    for name in own & _PARTS.keys():
        names = [each.name for each in fields(_PARTS[name]) if each.name in tree]
        tree[name] = {"type": name, **{each: tree.pop(each) for each in names}}
    for name in own & _LISTS.keys() & tree.keys():
        if isinstance(items := tree[name], list | tuple):
            tree[name] = [_unflatten(_LISTS[name], item) for item in items]
    return {**tree, "type": type_name(kind)}


TrialOutcome: TypeAlias = Result | Literal["missing"]
"""``missing``: the plan asks for the run, and nobody has made it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    cell: Cell
    trial: int
    outcome: TrialOutcome = "missing"
    category: str = ""
    """Why it did not pass, is void or unsupported, such as ``task.outcome:draft``; empty for a pass."""
    control: bool = False
    """Whether it is a plain conversation, which is counted apart."""
    lacking: bool = True
    """Whether it has to be made, or made again: it is missing, void and not accepted, or unsupported where
    the same cell took tools."""
    accepted: bool = False
    """Whether it is void, and the plan goes without it."""
    reason: str = ""
    """The first reason in words; empty for a pass."""
    hint: str = ""
    """A router's hint about the error."""
    status: int | None = None
    turns: int = 0
    calls: int = 0
    requests: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    """As far as it is known, in the provider's currency: as reported, or else by the plan's prices."""
    unpriced: int = 0
    """Requests whose cost is not known."""
    ms: int = 0
    """Of all attempts."""
    last_attempt_ms: int = 0
    after_empty_reply: bool = False
    """Whether an attempt before the last ended in an empty text, so that the model was asked again."""
    text_calls: bool = False
    """Whether calls were to be read from text."""
    scenario_version: int = 0
    configuration_digest: str = ""
    replies_digest: str = ""
    """Of what the model was sent and what it did: the same for a copy."""
    key: str = ""
    recording: str = ""
    """The path of the cassette, relative to the evaluation's directory."""
    server: str = ""
    """Where it was made, as a base URL; empty for a script."""
    served: tuple[str, ...] = ()
    """Who answered, as ``model`` or ``model at provider``."""

    @property
    def ok(self) -> bool:
        """Whether it passed, exercised or not."""
        return self.outcome in {"pass", "pass_unexercised"}

    @property
    def valid(self) -> bool:
        """Whether it says something about the model, and counts in rates."""
        return self.ok or self.outcome == "fail"

    @property
    def error(self) -> str:
        """What is wrong, as one line; empty for a pass."""
        return ": ".join(filter(None, (self.category, self.reason)))


def trials_of(
    records: Iterable[Record], planned: Mapping[Cell, range], controls: Iterable[str], options: Options
) -> tuple[Trial, ...]:
    """The table of an evaluation.

    :param records: one of each run, in any order
    :param planned: the cells of the plan, in its order, each with the trials that it needs
    """
    plain = frozenset(controls)
    rows = {
        (cell, trial): Trial(cell, trial, control=cell.scenario in plain)
        for cell, trials in planned.items()
        for trial in trials
    }
    for record in records:
        at = record.cell, record.trial
        if at in rows:
            rows[at] = _trial_of(record, options, control=rows[at].control)
    took_tools = {one.cell for one in rows.values() if one.valid}
    return tuple(
        replace(one, lacking=True) if one.outcome == "unsupported" and one.cell in took_tools else one
        for one in rows.values()
    )


_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")


def request_cost(asked: SentRequest, price: Price | None) -> float | None:
    """The cost of a request: as reported, or else by the price; ``None`` if it is neither.

    A price of tokens that nobody counted is not a cost. Without a finish it was not a reply but an error with
    status 200, which nobody bills.
    """
    if asked.cost is not None or asked.failure:
        return asked.cost or 0.0
    if not asked.prompt_tokens + asked.completion_tokens and asked.finish not in ("", "unknown", "error"):
        return None
    return price.cost(asked.prompt_tokens, asked.completion_tokens) if price else None


def _trial_of(record: Record, options: Options, *, control: bool) -> Trial:
    verdict, sent = record.verdict, [each for attempt in record.attempts for each in attempt.asked]
    last, price = record.attempts[-1], options.price(record.cell.model, record.cell.endpoint)
    costs = [request_cost(each, price) for each in sent]
    accepted = verdict.result == "void" and verdict.category in options.accept_void
    return Trial(
        record.cell,
        record.trial,
        verdict.result,
        verdict.category,
        control,
        lacking=verdict.result == "void" and not accepted,
        accepted=accepted,
        reason=next(iter(verdict.reasons), ""),
        hint=record.error_hint,
        status=record.error_status,
        turns=record.turns,
        calls=record.calls,
        requests=len(sent),
        **{name: sum(getattr(each, name) for each in sent) for name in _TOKENS},
        cost=fsum(filter(None, costs)),
        unpriced=costs.count(None),
        ms=record.ms,
        last_attempt_ms=last.ms,
        attempts=len(record.attempts),
        # Two kinds of attempts are repeated: void ones, and those with an empty text, which fail.
        after_empty_reply=any(attempt.verdict.result == "fail" for attempt in record.attempts[:-1]),
        # A configuration omits the default dialects, so the list is empty only if none is read.
        text_calls='"text_dialects":[]' not in record.configuration,
        scenario_version=record.version,
        configuration_digest=record.digest,
        key=record.key,
        recording=record.cassette,
        server=last.base_url,
        served=tuple(
            f"{one.model} at {one.provider}" if one.provider else one.model for one in sent if one.model
        ),
        replies_digest=chained_digest(
            "replies",
            record.final,
            record.world,
            canonical([[one.finish, one.prompt_tokens, one.completion_tokens] for one in last.asked]),
        ),
    )


@dataclass(frozen=True, slots=True)
class TrialTally:
    """What a group of trials comes to.

    A run is *ok* if it passed, exercised or not, as the reference harness counts; it is *valid* if it is
    neither void nor unsupported. Rates are of valid runs; the coverage is the share of runs that are valid.
    """

    trials: tuple[Trial, ...]
    outcomes: Mapping[TrialOutcome, int]

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> TrialTally:
        """The tally of some trials; the missing ones are not runs."""
        rows = tuple(trials)
        return cls(rows, Counter(one.outcome for one in rows))

    def total(self, name: str) -> int:
        """The sum of one column, such as ``prompt_tokens``."""
        return sum(getattr(one, name) for one in self.trials)

    @property
    def tokens(self) -> int:
        """What was sent and what came back."""
        return self.total("prompt_tokens") + self.total("completion_tokens")

    @property
    def after_silence(self) -> int:
        """Passes that took another attempt, after one that ended in an empty text."""
        return sum(one.ok and one.after_empty_reply for one in self.trials)

    @property
    def ok(self) -> int:
        """Those that passed, exercised or not."""
        return self.outcomes["pass"] + self.outcomes["pass_unexercised"]

    @property
    def valid(self) -> int:
        """Those that say something about the model."""
        return self.ok + self.outcomes["fail"]

    @property
    def runs(self) -> int:
        """Those that were made."""
        return self.valid + self.outcomes["unsupported"] + self.outcomes["void"]

    @property
    def coverage(self) -> float | None:
        """The share of runs that are valid, from 0 to 1; ``None`` if there is none."""
        return self.valid / self.runs if self.runs else None

    @property
    def cost(self) -> float | None:
        """In the provider's currency; ``None`` if the cost of a request is not known."""
        return None if self.total("unpriced") else self._known_cost

    @property
    def _known_cost(self) -> float:
        return fsum(one.cost for one in self.trials)

    def counts(self) -> dict[str, Json]:
        """The counts, for a summary."""
        return {
            "runs": self.runs,
            "ok": self.ok,
            **{name: self.outcomes[name] for name in get_args(Result)},
            "valid": self.valid,
            "rate": self.ok / self.valid if self.valid else None,
            "coverage": self.coverage,
        }

    def usage(self) -> dict[str, Json]:
        """What the runs have used, for a summary."""
        return {
            "requests": self.total("requests"),
            "turns": self.total("turns"),
            "tool_calls": self.total("calls"),
            **{name: self.total(name) for name in _TOKENS},
            "cost": self.cost,
            "known_cost": self._known_cost,
        }


def count_repeated_replies(trials: Iterable[Trial]) -> tuple[int, int]:
    """How many valid trials repeat an earlier one of their cell word for word, and how many could."""
    # A server that ignores seeds, or samples at temperature 0, gives the same replies to the same requests.
    # Such trials are one trial: whatever takes them for several is too sure.
    seen: dict[Cell, list[str]] = {}
    for one in trials:
        if one.valid and one.requests:
            seen.setdefault(one.cell, []).append(one.replies_digest)
    return sum(len(each) - len({*each}) for each in seen.values()), sum(
        len(each) - 1 for each in seen.values()
    )


def incompleteness_sentence(trials: Iterable[Trial], min_coverage: float) -> str:
    rows = [*trials]
    lacking = Counter(one.outcome for one in rows if one.lacking)
    if lacking:
        refused = lacking["unsupported"]
        more = f", refused tools that other trials were given: {refused}" if refused else ""
        return (
            f"Incomplete (runs not made: {lacking['missing']}, void: {lacking['void']}{more}); "
            "`toolreel eval run` with the same plan and directory continues."
        )
    accepted = sum(one.accepted for one in rows)
    # Less a rounding error: 0.55 * 100 is a little more than 55.
    if accepted and len(rows) - accepted < min_coverage * len(rows) - 1e-9:
        return "Incomplete: too many runs are void and accepted; lower min_coverage, or repeat them."
    return ""


def accepted_void_runs_sentence(trials: Iterable[Trial], options: Options) -> str:
    rows, categories = [*trials], ", ".join(options.accept_void)
    accepted = sum(one.accepted for one in rows)
    return f"{accepted} of {len(rows)} runs void and accepted ({categories})" if categories else ""


def percentile_as_in_harness(values: Iterable[int], percent: int) -> int:
    """The percentile as the reference harness computes it; 0 if there are no values.

    It is the element at ``floor(n * percent / 100)``, counted from 0, of the sorted values, or the last.

    >>> percentile_as_in_harness(range(1, 21), 50), percentile_as_in_harness(range(1, 21), 95)
    (11, 20)
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] if ordered else 0
