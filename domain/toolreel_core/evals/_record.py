"""Records: what the journal of an evaluation stores of each finished run, one JSON line each.

Fields with their default value are not written, so that a new field changes no old line. Lines written by
other programs are validated as strictly as ours; errors name the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Final, cast, get_args, get_type_hints

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, either, parse, read
from toolreel_core._protocol import codec_error, decode
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
    world: Json
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


_PARTS: Final = (Cell, Verdict)
"""What a record or an attempt has among its own fields."""


def record_line(record: Record) -> JsonText:
    """The record in one line, without its end."""
    return canonical(record_tree(record))


def record_tree(record: Record) -> Tree:
    """A record as a JSON object."""
    return {"record": VERSION, **_tree_of(record), "configuration": parse(record.configuration)}


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
            fields = {key: value for key, value in tree.items() if key != "record"}
            if isinstance(configuration := fields.get("configuration"), Mapping):
                fields["configuration"] = canonical(configuration)
            return cast("Record", _read(Record, fields, place))
        case tree:
            raise codec_error(place, "an object", tree)


def _tree_of(value: Any) -> dict[str, Json]:  # noqa: ANN401 - a value with fields
    """A value as an object; a cost of 0.0 is kept, since it is known to be zero."""
    tree: dict[str, Json] = {}
    for name, (_, default) in _fields_of(value.__class__).items():
        content = getattr(value, name)
        if isinstance(content, _PARTS):
            tree |= _tree_of(content)
        elif default is MISSING or content != default:
            several = isinstance(content, tuple)
            tree[name] = (
                [each if isinstance(each, str) else _tree_of(each) for each in content]
                if several
                else content
            )
    return tree


@cache
def _fields_of(kind: Any) -> Mapping[str, tuple[Any, Any]]:  # noqa: ANN401 - a class with fields
    """The annotation and the default of each field."""
    hints = get_type_hints(kind, localns={"Json": Any})
    return {each.name: (hints[each.name], each.default) for each in fields(kind)}


def _read(kind: type, tree: Json, place: str) -> object:
    if not isinstance(tree, Mapping):
        raise codec_error(place, "an object", tree)
    left = dict(tree)
    value = _taken(kind, left, place)
    if left:
        raise CodecError(f"{place}: {unknown_name('field', min(left), tree.keys() - left.keys())}")
    return value


def _taken(kind: type, tree: dict[str, Json], place: str) -> object:
    """What the fields of a kind, and of its parts, say; they are taken out of the tree."""
    values = {}
    for name, (hint, default) in _fields_of(kind).items():
        if hint in _PARTS:
            values[name] = _taken(hint, tree, place)
        elif name in tree:
            values[name] = _value(hint, tree.pop(name), f"{place}.{name}")
        elif default is MISSING:
            raise CodecError(f"{place}: {name} is missing")
    return kind(**values)


def _value(hint: Any, tree: Json, place: str) -> object:  # noqa: ANN401 - an annotation
    if hint is Any:
        return tree
    kind = next(iter(get_args(hint)), None)
    if is_dataclass(kind):
        if not isinstance(tree, list | tuple):
            raise codec_error(place, "a list", tree)
        return tuple(_read(cast("type", kind), each, f"{place}[{n}]") for n, each in enumerate(tree))
    value = decode(hint, tree, place)
    if isinstance(value, int | float) and value < 0:
        raise codec_error(place, "a number of at least 0", tree)
    return value
