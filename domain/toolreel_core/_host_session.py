"""The core for hosts in other languages: JSON lines in, JSON lines out, one for one.

A session has the runs that its host named; a line without a name brings the state along and gets it back.
Everything here computes: ``__main__`` reads the lines and writes them. ``docs/protocol.md`` has the messages.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, cast

from pyrsistent import PVector, pvector

from toolreel_core._conversation import blobs_of, parts_of_message
from toolreel_core._errors import CodecError, ConfigError, ProtocolError
from toolreel_core._jsontext import Json, Tree, canonical, read_json, value_or_failure
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CODEC_VERSION,
    Effect,
    Event,
    Finish,
    HttpChunk,
    HttpResponse,
    Note,
    SendRequest,
    State,
    Unanswered,
    blob_lines,
    decode,
    encode,
    event_line,
    header_line,
    http_request,
    load_state,
    response_event,
    to_json,
)
from toolreel_core._replies import Stream, stream_for_form

_KEYS = ("toolreel", "run", "start", "state", "event", "close", "with")
_ALONE = {"start": ("state", "event", "close"), "close": ("state", "event")}
"""Keys that some others do not go with."""
_EXTRAS = ("state", "journal")
"""What a line may ask for ``with`` the answer."""
_NO_CHUNKS: PVector[str] = pvector()
_Given: TypeAlias = Event | HttpResponse | HttpChunk


class _BadLine(Exception):
    """Says the field of a line, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Run:
    state: State
    waiting: Mapping[int, Unanswered]
    """The effects that have no answer yet, by ``ref``."""
    stream: Stream | None = None
    """The response that is arriving, and its chunks."""
    chunks: PVector[str] = _NO_CHUNKS


class _Answer(NamedTuple):
    run: _Run
    effects: Sequence[Effect]
    notes: Sequence[Note]
    lines: Sequence[str] = ()
    shown: Tree | None = None


class HostSession:
    """The runs of one host."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    def answer(self, line: str) -> str:
        """The line that answers a line, without line ends; a bad line changes nothing."""
        named: Tree = {}
        try:
            message = _parse_line(line)
            named = {"run": message["run"]} if isinstance(message.get("run"), str) else {}
            _check_fields(message)
            answer = self._answer_message(message)
        except _BadLine as bad:
            field, why = bad.args
            answer = {"error": {"field": field, "message": f"{field}: {why}" if field else why}}
        return canonical({"toolreel": CODEC_VERSION, **named, **answer})

    def _answer_message(self, message: Tree) -> Tree:
        name = message.get("run")
        if "run" in message and not (isinstance(name, str) and name):
            raise _BadLine("run", "expected a text that is not empty")
        asked = message.get("with", ())
        if isinstance(asked, str) or not isinstance(asked, Sequence) or not {*map(str, asked)} <= {*_EXTRAS}:
            raise _BadLine("with", f"expected a list of any of {', '.join(_EXTRAS)}")
        if "start" in message or "state" in message:
            if name in self._runs:
                raise _BadLine("run", f"{name!r} is a run already; close it, or take another name")
        elif name is None:
            raise _BadLine("run", "is missing; name a run, or give its state")
        elif name not in self._runs:
            raise _BadLine("run", f"there is no run {name!r}; start it first")
        for key, others in _ALONE.items():
            if key in message and (found := [other for other in others if other in message]):
                raise _BadLine(found[0], f"does not go with {key}; send it in a line of its own")
        if "close" in message:
            if message["close"] is not True:
                raise _BadLine("close", "expected true")
            del self._runs[str(name)]
            return {"closed": True}
        answer = self._answer_host_message(message, with_journal="journal" in asked)
        if isinstance(name, str):
            self._runs[name] = answer.run
        state = answer.run.state
        return {
            "step": state.step_number,
            "effects": [_encode_effect(effect) for effect in answer.effects],
            "notes": [encode(note) for note in answer.notes],
            "outcome": encode(state.outcome),
            **({"state": to_json(state)} if name is None or "state" in asked else {}),
            **({"journal": [*answer.lines]} if "journal" in asked else {}),
            **(answer.shown or {}),
        }

    def _answer_host_message(self, message: Tree, *, with_journal: bool) -> _Answer:
        if "start" in message:
            with _name_field_in_errors("start"):
                begun = start(cast("Plan", decode(Plan, message["start"], "start")))
            plan = begun.state.plan
            lines = [header_line(plan), *blob_lines(plan).values()] if with_journal else []
            run = _Run(begun.state, _unanswered_by_ref(begun.effects))
            return _Answer(run, begun.effects, begun.notes, lines)
        if "state" in message:
            with _name_field_in_errors("state"):
                state = load_state(cast("Tree", message["state"]))
            run = _Run(state, _unanswered_by_ref(pending(state)))
        else:
            run = self._runs[str(message["run"])]
        if "event" not in message:
            return _Answer(run, tuple(run.waiting.values()), ())
        with _name_field_in_errors("event"):
            event = cast("_Given", decode(_Given, message["event"], "event"))
        if isinstance(event, HttpChunk):
            if "run" not in message:
                raise _BadLine("event", "chunks are gathered in a run that has a name")
            return _take_chunk(run, event)
        return _apply_event(run, event, with_journal=with_journal)


def _apply_event(run: _Run, given: Event | HttpResponse, *, with_journal: bool) -> _Answer:
    event: Event
    if isinstance(given, HttpResponse):
        body = given.body or "".join(run.chunks)
        event = response_event(given.ref, given.status, given.headers, body, given.at_ms)
    else:
        event = given
    ref, before = getattr(event, "ref", None), run.state
    with _name_field_in_errors("event"):
        after = step(before, event)
    lines: list[str] = []
    # An event that came too late changed nothing, and no journal has it.
    if with_journal and after.state.step_number > before.step_number:
        kept = {blob.digest for said in before.messages.messages for blob in blobs_of(parts_of_message(said))}
        blobs = blob_lines(event, kept).values()
        # Refs begin at 1, so 0 finds nothing.
        lines = [*blobs, event_line(before.step_number, run.waiting.get(ref or 0), event)]
    left = {number: effect for number, effect in run.waiting.items() if number != ref}
    waiting = {**({} if after.state.outcome else left), **_unanswered_by_ref(after.effects)}
    # What answers no effect comes while others go on, such as a response that is arriving.
    arriving = run if ref is None else _Run(before, {})
    moved = replace(arriving, state=after.state, waiting=waiting)
    return _Answer(moved, after.effects, after.notes, lines)


def _parse_line(line: str) -> Tree:
    tree = value_or_failure(read_json(line, unique_keys=True).alt(CodecError))
    if isinstance(tree, CodecError):
        raise _BadLine("", f"not a line of JSON: {tree}")
    if not isinstance(tree, Mapping):
        raise _BadLine("", "not a message: expected a JSON object")
    return tree


def _check_fields(message: Tree) -> None:
    for key in message:
        if key not in _KEYS:
            raise _BadLine(key, f"is unknown; a line has {', '.join(_KEYS)}")
    if type(message.get("toolreel")) is not int or message["toolreel"] != CODEC_VERSION:
        raise _BadLine("toolreel", f"expected {CODEC_VERSION}, the version of these messages")


@contextmanager
def _name_field_in_errors(field: str) -> Generator[None]:
    """What is wrong with the value of a field is said with its place in it."""
    try:
        yield
    except (CodecError, ConfigError, ProtocolError) as error:
        where, _, why = str(error).partition(": ")
        if where.startswith(("value", "blobs")):  # of a stored value
            where = f"{field}.{where}"
        bad = _BadLine(where, why) if where.startswith(field) else _BadLine(field, str(error))
        raise bad from None


def _unanswered_by_ref(effects: Sequence[Effect]) -> dict[int, Unanswered]:
    return {effect.ref: effect for effect in effects if not isinstance(effect, Finish)}


def _encode_effect(effect: Effect) -> Json:
    """The stored form of an effect; of a request, what goes over HTTP instead of the conversation."""
    if not isinstance(effect, SendRequest):
        return encode(effect)
    request = encode(http_request(effect))
    return {
        "type": "send_request",
        "ref": effect.ref,
        "request": request,
        "purpose": effect.purpose,
        "endpoint": effect.endpoint,
    }


def _take_chunk(run: _Run, chunk: HttpChunk) -> _Answer:
    """The run with a chunk of the response that is arriving, and what of it can be shown already."""
    if not isinstance(run.waiting.get(chunk.ref), SendRequest):
        raise _BadLine("event.ref", f"no request with the ref {chunk.ref} is pending")
    stream, deltas = (run.stream or stream_for_form(run.state.present.provider.wire_form)).feed(chunk.text)
    arriving = replace(run, stream=stream, chunks=run.chunks.append(chunk.text))
    shown: Tree = {"deltas": [encode(delta) for delta in deltas], "done": stream.done}
    return _Answer(arriving, (), (), shown=shown)
