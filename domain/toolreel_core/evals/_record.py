"""Records: what the journal of an evaluation stores of each finished run, one JSON line each.

Fields with their default value are not written, so that a new field changes no old line. Lines written by
other programs are validated as strictly as ours; errors name the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, cast

from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Json, JsonText, Tree, as_tree, canonical, either, parse, read
from toolreel_core._protocol import codec_error, decode, encode, type_name
from toolreel_core.evals._plan.eval_plan import Cell
from toolreel_core.evals._verdicts import Verdict

VERSION = 1
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


_PARTS: Final = {"cell": Cell, "verdict": Verdict}
"""What a record or an attempt has among its own fields."""
_LISTS: Final = {"attempts": Attempt, "asked": SentRequest, "results": ToolResult}
_TEXTS: Final = ("configuration", "world", "error_body")
"""What is JSON in a line, and its canonical text in a record."""


def record_line(record: Record) -> JsonText:
    """The record in one line, without its end."""
    return canonical(record_tree(record))


def record_tree(record: Record) -> Tree:
    """A record as a JSON object."""
    tree = as_tree(_flatten(encode(record)))
    texts = {name: parse(JsonText(str(tree[name]))) for name in _TEXTS if name in tree}
    return {"record": VERSION, **tree, **texts}


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
    :raises CodecError: if it is no record of this version; names the place
    """
    match either(read(line).alt(lambda why: CodecError(f"{place}: not a record: {why}"))):
        case CodecError() as error:
            raise error
        case Mapping() as tree:
            if (version := tree.get("record")) != VERSION:
                what = f"of version {canonical(version)[:80]}; this toolreel reads version {VERSION}"
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
