"""Compare two runs: their plans, the first different event, and the turns side by side.

Any two live sessions differ in ids, times and token counts. So replies are compared after normalisation,
and call ids by their position; ``replay`` is what proves that bytes are identical.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any, Final, Literal, TypeAlias, assert_never, cast

from toolreel._driver import Run, describe_outcome, outcome_of
from toolreel._journal import Source, opened
from toolreel._replay.explain.turns import TurnSummary, story
from toolreel._replay.trace import Trace, Traced, retrace
from toolreel.cassette import Change, changes
from toolreel_core._conversation import Transcript, shown_parts, wire_tree, with_digests
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse, read
from toolreel_core._loop import received
from toolreel_core._plan import Plan
from toolreel_core._protocol import AskApproval, Completed, RunTool, SendRequest, Wait, events
from toolreel_core._replies import ArgumentError, ToolCall
from toolreel_core._text_calls import short_dialects

_OPTIONS: Final = ("options", "overrides")
_REMEMBERED: Final = 4096
"""Cache size: every later request repeats the messages."""


def plan_changes(old: Plan, new: Plan) -> tuple[Change, ...]:
    """Every key in which two plans differ; the names of presets do not count, only their effect.

    >>> old, new = (Plan.of(model=name, messages="hi") for name in "ab")
    >>> plan_changes(old, new)
    (Change(place='model', old='"a"', new='"b"'),)
    """
    return () if old == new else tuple(changes(_plan(old), _plan(new)))


def effect_changes(old: Traced, new: Traced) -> tuple[Change, ...]:
    """The differences between the effects that two events answer.

    If the plans differ, only the messages after those of the plans are compared.
    """
    was, now = old.effect, new.effect
    if not (isinstance(was, SendRequest) and isinstance(now, SendRequest)):
        return tuple(changes(_effect(old), _effect(new)))
    if was.request.digest == now.request.digest:
        return ()
    if old.before.plan != new.before.plan:
        return _message_changes(_since(old, was.request.messages), _since(new, now.request.messages))
    rest = changes(parse(was.request.options.text), parse(now.request.options.text))
    return (*_message_changes([*was.request.sent.texts], [*now.request.sent.texts]), *rest)


def event_changes(old: Traced, new: Traced) -> tuple[Change, ...]:
    """The differences between two events."""
    return () if old.record.event == new.record.event else tuple(changes(_event(old), _event(new)))


def _plan(plan: Plan) -> Tree:
    tools: Json = {tool.name: _settings(tool) for tool in plan.tools.definitions}
    return {
        "model": plan.model,
        "messages": [with_digests(wire_tree(message)) for message in plan.messages],
        **{key: parse(getattr(plan, key)) for key in _OPTIONS},
        "config": _settings(plan.config),
        "provider": _settings(plan.provider),
        "tools": tools,
        "masked": [*plan.tools.masked],
        "seed": plan.seed,
        **({} if plan.output is None else {"output": _settings(plan.output)}),
    }


def _settings(value: Any) -> Json:  # noqa: ANN401 - any of the dataclasses of a plan
    given = {setting.name: getattr(value, setting.name) for setting in fields(value) if setting.compare}
    return {key: _plain(setting) for key, setting in given.items()}


def _plain(value: Any) -> Json:  # noqa: ANN401 - a setting
    if isinstance(value, JsonText):
        return parse(value)
    return [*short_dialects(value)] if isinstance(value, tuple) else cast("Json", value)


def _since(traced: Traced, sent: Transcript) -> Sequence[JsonText]:
    """The messages after those of the plan."""
    plan = traced.before.plan
    return [*sent.texts][len(Transcript.of(plan.opening, plan.form).complete().texts) :]


def _message_changes(old: Sequence[JsonText], new: Sequence[JsonText]) -> tuple[Change, ...]:
    """The differences between two histories, with call ids replaced by ``1``, ``2``, … in order."""
    if old == new:
        return ()
    then, later = _renamed(old), _renamed(new)
    return () if then == later else tuple(changes(_messages(then), _messages(later)))


def _messages(texts: Iterable[JsonText]) -> Json:
    return {"messages": [with_digests(parse(text)) for text in texts]}


def _renamed(texts: Iterable[JsonText]) -> list[JsonText]:
    order: dict[str, str] = {}
    renamed: list[JsonText] = []
    for text in texts:
        ids = _ids(text)
        names = tuple(order.setdefault(given, str(len(order) + 1)) for given in ids)
        renamed.append(_with_ids(text, names) if ids else text)
    return renamed


@lru_cache(_REMEMBERED)
def _ids(text: JsonText) -> tuple[str, ...]:
    """The ids of the calls in a message, or the id of the call that it answers."""
    message = cast("Tree", parse(text))
    calls = (call.get("id") for call in _calls(message))
    answered = (message["tool_call_id"],) if "tool_call_id" in message else ()
    return tuple(str(given) for given in (*calls, *answered))


@lru_cache(_REMEMBERED)
def _with_ids(text: JsonText, names: tuple[str, ...]) -> JsonText:
    """The message with other ids."""
    message = dict(cast("Tree", parse(text)))
    if "tool_call_id" in message:
        return canonical({**message, "tool_call_id": names[-1]})
    calls: list[Json] = [{**call, "id": name} for call, name in zip(_calls(message), names, strict=True)]
    return canonical({**message, "tool_calls": calls})


def _calls(message: Tree) -> list[Tree]:
    """The calls of a message; empty if a transform has changed their form."""
    calls = message.get("tool_calls")
    entries = calls if isinstance(calls, list) else []
    return [call for call in entries if isinstance(call, Mapping)]


def _effect(traced: Traced) -> Json:
    effect = traced.effect
    match effect:
        case None:
            return {"wants": "nothing"}
        case SendRequest():
            return {"wants": "a reply"}
        case RunTool():
            return {"wants": "a tool", "name": effect.name, "arguments": parse(effect.arguments)}
        case AskApproval():
            return {"wants": "approval", "name": effect.name, "arguments": parse(effect.arguments)}
        case Wait():
            return {"wants": "to wait", "ms": effect.ms}
        case _:
            assert_never(effect)


def _event(traced: Traced) -> Json:
    event = traced.record.event
    match event:
        case events.ReplyReceived():
            return {"event": "reply", **_reply(traced, event)}
        case events.RequestFailed():
            failure: Tree = {"failure": event.failure, "status": event.status, "message": event.message}
            return {"event": "no reply", **failure, "retry_after_ms": event.retry_after_ms}
        case events.ToolReturned():
            return {"event": "result", "output": read(event.output).value_or(event.output), **_parts(event)}
        case events.ApprovalGiven():
            return {"event": "approval", "approved": event.approved, "reason": event.reason}
        case events.WaitElapsed():
            return {"event": "wait elapsed"}
        case events.CancelRequested():
            return {"event": "cancelled", "reason": event.reason}
        case events.UserSpoke():
            return {"event": "the user spoke", "content": shown_parts(event.parts) or event.content}
        case events.RunStarted():
            return {"event": "started"}
        case _:
            assert_never(event)


def _parts(event: events.ToolReturned) -> Tree:
    return {"parts": [part.label for part in event.parts]} if event.parts else {}


def _reply(traced: Traced, event: events.ReplyReceived) -> Tree:
    reply = received(event.body, traced.before).reply
    return {
        "text": reply.content,
        "reasoning": reply.reasoning,
        "calls": [_call(call) for call in reply.calls],
        "finish": reply.finish,
        "problem": reply.problem.code if reply.problem else None,
    }


def _call(call: ToolCall) -> Json:
    match call.arguments:
        case JsonText():
            return {"name": call.name, "arguments": parse(call.arguments)}
        case ArgumentError():
            return {"name": call.name, "unreadable": call.arguments.code, "arguments": call.original}
        case _:
            assert_never(call.arguments)


Aspect: TypeAlias = Literal["wanted", "told", "end"]
"""``wanted``: the effects differ, such as the request or the call; ``told``: the same effect has a different
answer; ``end``: one of the runs has no more events."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event in which two runs differ."""

    n: int
    """Its number, counted from 1."""
    turn: int
    """Its turn in the first run, or in the second if the first has no such event."""
    aspect: Aspect
    changes: tuple[Change, ...]
    """The differences by place; empty if one of the runs has ended."""
    a: str
    """The event of the first run, in one line."""
    b: str


@dataclass(frozen=True, slots=True)
class TurnPair:
    """A turn of both runs: calls, their results, and other decisions."""

    number: int
    a: tuple[str, ...]
    """Empty if the run has no such turn."""
    b: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both turns are equal."""
        return self.a == self.b


_BEHIND_COST: Final = ("priced", "unpriced", "by_tools")
"""Counts that only say whether the cost is known, which its absence says already, and parts of others."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs as a whole."""

    source: str
    events: int
    outcome: str
    """The name of the outcome; ``unfinished`` if the run has not ended."""
    tally: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two runs."""

    a: Side
    b: Side
    plan: tuple[Change, ...]
    """The keys in which the plans differ."""
    first: Divergence | None
    """The first difference beyond the plans; ``None`` if there is none."""
    turns: tuple[TurnPair, ...]
    other_bytes: tuple[int, ...]
    """Earlier events that differ only in ids, times, token counts and the like."""

    @property
    def same(self) -> bool:
        """Whether nothing differs that the loop acts on."""
        return not self.plan and self.first is None and self.a.outcome == self.b.outcome

    def tree(self) -> dict[str, Json]:
        """The same as one JSON object."""
        turns: list[Json] = [asdict(turn) | {"same": turn.same} for turn in self.turns]
        return cast("dict[str, Json]", {"same": self.same, **asdict(self), "turns": turns})


def diff(a: Source, b: Source) -> Difference:
    """Compare two recorded runs.

    >>> from toolreel.demo._recorded_session import demo_cassette
    >>> from toolreel._replay.fork_changes import Changes
    >>> from toolreel._replay.forked_run import fork
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> difference = diff(demo_cassette(), forked.recorded)
    >>> [change.place for change in difference.plan], difference.first.n, difference.first.aspect
    (['config.max_turns'], 5, 'end')

    :param a: a record, or the path of its journal or cassette
    :raises AdapterError: if one of them cannot be read
    :raises toolreel.ReplayMismatch: if one of them no longer replays
    """
    one, other = retrace(opened(a)), retrace(opened(b))
    first = _first(one, other)
    alike = (first.n if first else min(len(one.events), len(other.events)) + 1) - 1
    pairs = zip(one.events[:alike], other.events[:alike], strict=True)
    return Difference(
        _side(one),
        _side(other),
        plan_changes(one.recorded.plan, other.recorded.plan),
        first,
        _turns(one.run, other.run),
        tuple(x.record.n for x, y in pairs if x.record.event != y.record.event),
    )


def _first(one: Trace, other: Trace) -> Divergence | None:
    for a, b in zip_longest(one.events, other.events):
        if a is None or b is None:
            return _end(one, other, a, b)
        turn = a.before.tally.turns
        if changed := effect_changes(a, b):
            return Divergence(a.record.n, turn, "wanted", changed, a.summary, b.summary)
        if changed := event_changes(a, b):
            return Divergence(a.record.n, turn, "told", changed, a.summary, b.summary)
    return None


def _end(one: Trace, other: Trace, a: Traced | None, b: Traced | None) -> Divergence:
    """The divergence where one run has no more events."""
    lines = [
        traced.summary if traced else f"no event: {_ended(trace.run)}"
        for trace, traced in ((one, a), (other, b))
    ]
    turn = max(traced.before.tally.turns for traced in (a, b) if traced)
    return Divergence(1 + min(len(one.events), len(other.events)), turn, "end", (), *lines)


def _ended(run: Run) -> str:
    outcome = outcome_of(run)
    return "the run rests" if outcome is None else f"the run has ended as {outcome.name}"


def _side(trace: Trace) -> Side:
    outcome, tally = outcome_of(trace.run), trace.run.state.tally
    name = outcome.name if outcome else "unfinished"
    counts = {key: count for key, count in asdict(tally).items() if key not in _BEHIND_COST}
    return Side(trace.recorded.source, len(trace.events), name, {**counts, "cost": tally.known_cost})


def _turns(one: Run, other: Run) -> tuple[TurnPair, ...]:
    pairs = zip_longest(_actions(one), _actions(other), fillvalue=())
    return tuple(TurnPair(number, a, b) for number, (a, b) in enumerate(pairs, 1))


def _actions(run: Run) -> list[tuple[str, ...]]:
    """The calls and remarks of each turn; the last one has the outcome too."""
    turns = [_actions_in(turn) for turn in story(run)]
    if turns:
        turns[-1] += (_ending(run),)
    return turns


def _actions_in(turn: TurnSummary) -> tuple[str, ...]:
    calls = (
        (f"→ {call.name}({call.arguments})", f"{'←' if call.ok else '✗'} {call.result}")
        for call in turn.calls
    )
    approvals = (f"{name} needs approval" for name in turn.approvals)
    said = (f"user: {text}" for text in turn.said)
    answer = (turn.answer,) if turn.answer else ()
    return (*said, *approvals, *chain.from_iterable(calls), *turn.remarks, *answer)


def _ending(run: Run) -> str:
    outcome = outcome_of(run)
    if outcome is None:
        return "rests"
    words, _ = describe_outcome(outcome)
    return outcome.content if isinstance(outcome, Completed) else f"{outcome.name}: {words}"
