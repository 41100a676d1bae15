"""Records: what the journal of an evaluation stores of each finished run, one JSON line each.

Fields with their default value are not written, so that a new field changes no old line. Lines written by
other programs are validated as strictly as ours; errors name the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast, get_args

from toolreel_core._errors import CodecError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, either, parse, read
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._verdicts import Result, Verdict

VERSION = 1
"""Version of the format of headers and records."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request of a run, in the order in which they were sent, retries included."""

    turn: int
    ms: int
    """Milliseconds until the reply was complete."""
    status: int | None
    """The HTTP status, where there was one."""
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
class ToolResult:
    """What a real tool returned; a replay takes it from here."""

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
    results: tuple[ToolResult, ...] = ()
    """Of the scenario's real tools, in order."""


@dataclass(frozen=True, slots=True)
class Record:
    """One finished run."""

    key: str
    cell: Cell
    trial: int
    version: int
    """Of the scenario."""
    configuration: JsonText
    """The effective configuration, whole, in the form of :attr:`Configuration.text`."""
    digest: str
    """Of the effective configuration."""
    tools_sent: bool
    verdict: Verdict
    loop: str
    """The name of the loop's outcome."""
    final: str
    """The final text; empty if there is none."""
    world: Json
    """The contents of the world at the end."""
    turns: int
    calls: int
    attempts: tuple[Attempt, ...]
    error_status: int | None = None
    error_body: Json = None
    """The body of an error response, parsed where it is JSON; at most 20,000 characters of it."""
    error_hint: str = ""
    """``provider: message``, as reported by a router."""
    cassette: str = ""
    """The path of the recording, relative to the evaluation's directory; empty if nothing was recorded."""

    @property
    def ms(self) -> int:
        """Milliseconds of all attempts together."""
        return sum(attempt.ms for attempt in self.attempts)


_RESULTS: Final[tuple[str, ...]] = get_args(Result)
_OF_ASKED: Final = tuple(SentRequest.__dataclass_fields__)
_OF_VERDICT: Final = ("result", "category", "reasons")
_OF_CELL: Final = ("model", "profile", "strategy", "fallback", "scenario")
_OF_RUN: Final = (
    *("key", "trial", "version", "configuration", "digest", "tools_sent", "loop", "final", "world"),
    *("turns", "calls", "attempts", "error_status", "error_body", "error_hint", "cassette"),
)

_SEQUENCES: Final = (str, list, tuple)

_Item = TypeVar("_Item")


def record_line(record: Record) -> JsonText:
    """The record in one line, without its end."""
    return canonical(record_tree(record))


def record_tree(record: Record) -> Tree:
    """A record as a JSON object."""
    cell = record.cell
    return {
        "record": VERSION,
        "key": record.key,
        **{axis: getattr(cell, axis) for axis in _OF_CELL},
        **_given({"endpoint": cell.endpoint}),
        "trial": record.trial,
        **_verdict_tree(record.verdict),
        "version": record.version,
        "digest": record.digest,
        "configuration": parse(record.configuration),
        **{key: getattr(record, key) for key in ("tools_sent", "loop", "final", "world", "turns", "calls")},
        "attempts": [_attempt_tree(attempt) for attempt in record.attempts],
        **_given({key: getattr(record, key) for key in _OF_RUN[-4:]}),
    }


def record_of(line: str, place: str = "record") -> Record:
    """Read a line.

    :param place: what errors call it, such as ``journal.jsonl, line 3``
    :raises CodecError: if it is no record of this version; names the place
    """
    match either(read(line).alt(lambda why: CodecError(f"{place}: not a record: {why}"))):
        case CodecError() as error:
            raise error
        case tree:
            return _record_from(_Fields.of(tree, place))


def run_in(tree: Mapping[str, object]) -> tuple[Cell, int] | None:
    """What a record of this version is about, a cell and a trial, without a look at the rest of it.

    :return: ``None`` if the record has another version, or does not say it
    """
    axes = [tree.get(axis) for axis in _OF_CELL]
    names = [name for name in (*axes, tree.get("endpoint", "")) if isinstance(name, str)]
    trial = tree.get("trial")
    if tree.get("record") != VERSION or len(names) <= len(_OF_CELL) or type(trial) is not int:
        return None
    return Cell(*names), trial


def _attempt_tree(attempt: Attempt) -> Tree:
    return {
        "ms": attempt.ms,
        **_verdict_tree(attempt.verdict),
        "asked": [
            {
                **{name: getattr(asked, name) for name in _OF_ASKED[:3]},
                **_given({name: getattr(asked, name) for name in _OF_ASKED[3:]}),
            }
            for asked in attempt.asked
        ],
        **_given({"base_url": attempt.base_url}),
        **_given({"results": [_result_tree(result) for result in attempt.results]}),
    }


def _result_tree(result: ToolResult) -> Tree:
    return {"name": result.name, "arguments": result.arguments, "output": result.output}


def _verdict_tree(verdict: Verdict) -> dict[str, Json]:
    return {
        "result": verdict.result,
        **_given({"category": verdict.category, "reasons": list(verdict.reasons)}),
    }


def _given(values: Mapping[str, Json]) -> dict[str, Json]:
    """The values that differ from their defaults; a cost of 0.0 is kept, since it is known to be zero."""
    return {key: value for key, value in values.items() if not _is_default(value)}


def _is_default(value: Json) -> bool:
    """Whether it is ``null``, ``""``, ``[]`` or ``0``; a thousand times a run, so it encodes nothing."""
    if type(value) is int:
        return value == 0
    return value is None or (isinstance(value, _SEQUENCES) and not value)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of an object that is being read; each getter refuses what is not as it should be."""

    place: str
    tree: Tree

    @classmethod
    def of(cls, tree: Json, place: str) -> _Fields:
        if not isinstance(tree, Mapping):
            raise CodecError(f"{place}: expected an object, got {_cut(tree)}")
        return cls(place, tree)

    def only(self, *known: str) -> None:
        for key in self.tree:
            if key not in known:
                raise CodecError(f"{self.place}: {unknown_name('field', key, known)}")

    def wrong(self, key: str, expected: str) -> CodecError:
        if key not in self.tree:
            return CodecError(f"{self.place}: {key} is missing")
        return CodecError(f"{self.place}.{key}: expected {expected}, got {_cut(self.tree[key])}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.tree.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def count(self, key: str, default: int | None = None) -> int:
        value = self.tree.get(key, default)
        if type(value) is not int or value < 0:
            raise self.wrong(key, "a whole number of at least 0")
        return value

    def status(self, key: str) -> int | None:
        return None if self.tree.get(key) is None else self.count(key)

    def cost(self, key: str) -> float | None:
        value = self.tree.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.wrong(key, "a number of at least 0")
        return float(value)

    def switch(self, key: str) -> bool:
        value = self.tree.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def json(self, key: str) -> Json:
        if key not in self.tree:
            raise self.wrong(key, "anything")
        return self.tree[key]

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.tree.get(key)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(key, f"one of {', '.join(allowed)}")
        return value

    def items(self, key: str, item: Callable[[Json, str], _Item]) -> tuple[_Item, ...]:
        value = self.tree.get(key, [])
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.wrong(key, "a list")
        return tuple(item(each, f"{self.place}.{key}[{index}]") for index, each in enumerate(value))


def _record_from(fields: _Fields) -> Record:
    version = fields.tree.get("record")
    if version != VERSION:
        raise CodecError(f"{fields.place}: of version {_cut(version)}; this toolreel reads version {VERSION}")
    fields.only("record", *_OF_CELL, "endpoint", *_OF_VERDICT, *_OF_RUN)
    return Record(
        key=fields.text("key"),
        cell=Cell(**{axis: fields.text(axis) for axis in _OF_CELL}, endpoint=fields.text("endpoint", "")),
        trial=fields.count("trial"),
        version=fields.count("version"),
        configuration=canonical(_Fields.of(fields.json("configuration"), "configuration").tree),
        digest=fields.text("digest"),
        tools_sent=fields.switch("tools_sent"),
        verdict=_verdict(fields),
        loop=fields.text("loop"),
        final=fields.text("final"),
        world=fields.json("world"),
        turns=fields.count("turns"),
        calls=fields.count("calls"),
        attempts=fields.items("attempts", _attempt),
        error_status=fields.status("error_status"),
        error_body=fields.tree.get("error_body"),
        error_hint=fields.text("error_hint", ""),
        cassette=fields.text("cassette", ""),
    )


def _attempt(tree: Json, place: str) -> Attempt:
    fields = _Fields.of(tree, place)
    fields.only("ms", "asked", "base_url", "results", *_OF_VERDICT)
    asked, results = fields.items("asked", _asked), fields.items("results", _result)
    return Attempt(fields.count("ms"), _verdict(fields), asked, fields.text("base_url", ""), results)


def _result(tree: Json, place: str) -> ToolResult:
    fields = _Fields.of(tree, place)
    fields.only("name", "arguments", "output")
    return ToolResult(fields.text("name"), JsonText(fields.text("arguments")), fields.text("output"))


def _verdict(fields: _Fields) -> Verdict:
    result = cast("Result", fields.choice("result", _RESULTS))
    return Verdict(result, fields.text("category", ""), fields.items("reasons", _reason))


def _asked(tree: Json, place: str) -> SentRequest:
    fields = _Fields.of(tree, place)
    fields.only(*_OF_ASKED)
    return SentRequest(
        turn=fields.count("turn"),
        ms=fields.count("ms"),
        status=fields.status("status"),
        failure=fields.text("failure", ""),
        finish=fields.text("finish", ""),
        prompt_tokens=fields.count("prompt_tokens", 0),
        completion_tokens=fields.count("completion_tokens", 0),
        reasoning_tokens=fields.count("reasoning_tokens", 0),
        cost=fields.cost("cost"),
        model=fields.text("model", ""),
        provider=fields.text("provider", ""),
        fingerprint=fields.text("fingerprint", ""),
        request_id=fields.text("request_id", ""),
    )


def _reason(tree: Json, place: str) -> str:
    if not isinstance(tree, str):
        raise CodecError(f"{place}: expected a text, got {_cut(tree)}")
    return tree


def _cut(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= 80 else text[:80] + "…"
