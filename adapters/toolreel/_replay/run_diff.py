"""Compare two runs: their plans, the first different event, and the turns side by side.

Any two live sessions differ in ids, times and token counts. So replies are compared after normalisation,
and call ids by their position; ``replay`` is what proves that bytes are identical.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeAlias, cast

from toolreel._driver import Run, Wanted, outcome_in_words
from toolreel._journal import RunSource, load_recorded_run
from toolreel._replay.run_stories import MARKS, story, turn_lines
from toolreel._replay.trace import Trace, Traced, retrace
from toolreel.cassette import Change, changes
from toolreel_core._conversation import (
    AssistantMessage,
    SystemMessage,
    ToolMessage,
    Transcript,
    UserMessage,
    readable_parts_text,
    wire_tree,
    with_digests_for_base64,
)
from toolreel_core._jsontext import Json, JsonText, Tree, parse, read_json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop import parse_reply_body
from toolreel_core._plan import Plan
from toolreel_core._protocol import AskApproval, RunTool, SendRequest, Wait, events, type_name
from toolreel_core._replies import ArgumentError, ToolCall
from toolreel_core._text_calls import abbreviated_dialect_names


def plan_changes(old: Plan, new: Plan) -> tuple[Change, ...]:
    """The names of presets do not count, only their effect."""
    return () if old == new else tuple(changes(_plan_as_tree(old), _plan_as_tree(new)))


def _plan_as_tree(plan: Plan) -> Tree:
    keys = [each.name for each in fields(plan) if each.compare and each.name not in {"presets", "tools"}]
    return {
        **{key: _as_tree(getattr(plan, key)) for key in keys},
        "tools": {tool.name: _as_tree(tool) for tool in plan.tools.definitions},
        "masked": [*plan.tools.masked],
    }


def _as_tree(value: Any) -> Json:  # noqa: ANN401 - anything in a plan
    match value:
        case JsonText():
            return parse(value)
        case SystemMessage() | UserMessage() | AssistantMessage() | ToolMessage():
            return with_digests_for_base64(wire_tree(value))
        case tuple():
            return [*map(_as_tree, abbreviated_dialect_names(value))]
        case _ if is_dataclass(value):
            return {each.name: _as_tree(getattr(value, each.name)) for each in fields(value) if each.compare}
        case _:
            return cast("Json", value)


def _effect_changes(old: Traced, new: Traced) -> tuple[Change, ...]:
    """Differences between what two events answer; under other plans, only of what came after these."""
    was, now = old.effect, new.effect
    if not (isinstance(was, SendRequest) and isinstance(now, SendRequest)):
        return tuple(changes(_effect_as_tree(was), _effect_as_tree(now)))
    if was.request.digest == now.request.digest:
        return ()
    texts = [[*was.request.sent.texts], [*now.request.sent.texts]]
    rest: Iterable[Change] = ()
    if old.before.plan == new.before.plan:
        rest = changes(parse(was.request.options.text), parse(now.request.options.text))
    else:
        for traced, sent in zip((old, new), texts, strict=True):
            plan = traced.before.plan
            del sent[: len(Transcript.of(plan.opening, plan.form).complete().texts)]
    # Any two live sessions differ in call ids, so that the ids are numbered in their order.
    renamed = [_with_numbered_ids(sent) for sent in texts]
    if renamed[0] == renamed[1]:
        return tuple(rest)
    then, later = (
        {"messages": [with_digests_for_base64(parse(JsonText(text))) for text in sent]} for sent in renamed
    )
    return (*changes(then, later), *rest)


_CALL_ID = lazy_pattern(r'"((?:\w+_)?id)":"([^"]*)"')
"""The id of a call; in JSON within a text, the quotes are escaped."""


def _with_numbered_ids(texts: Iterable[str]) -> list[str]:
    order: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f'"{found[1]}":"{order.setdefault(found[2], len(order))}"'

    return [_CALL_ID.sub(numbered, text) for text in texts]


def _effect_as_tree(effect: Wanted | None) -> Json:
    tree: Tree = {"wants": "nothing" if effect is None else type_name(type(effect))}
    if isinstance(effect, RunTool | AskApproval):
        return {**tree, "name": effect.name, "arguments": parse(effect.arguments)}
    return {**tree, "ms": effect.ms} if isinstance(effect, Wait) else tree


_IGNORED = frozenset({"ref", "at_ms", "spent"})


def _event_as_tree(traced: Traced) -> Json:
    """What the loop acts on in an event: neither its time nor the effect that it answers."""
    event = traced.record.event
    if isinstance(event, events.ReplyReceived):
        reply = parse_reply_body(event.body, traced.before).reply
        content: Tree = {
            "text": reply.content,
            "reasoning": reply.reasoning,
            "calls": [_call_as_tree(call) for call in reply.calls],
            "finish": reply.finish,
            "problem": reply.problem.code if reply.problem else None,
        }
    else:
        content = {
            each.name: getattr(event, each.name) for each in fields(event) if each.name not in _IGNORED
        }
        if isinstance(event, events.ToolReturned | events.UserSpoke):
            content |= {"parts": readable_parts_text(event.parts)}
        if isinstance(event, events.ToolReturned):
            content |= {"output": read_json(event.output).value_or(event.output)}
    return {"event": type(event).__name__, **content}


def _call_as_tree(call: ToolCall) -> Json:
    if isinstance(call.arguments, ArgumentError):
        return {"name": call.name, "unreadable": call.arguments.code, "arguments": call.original}
    return {"name": call.name, "arguments": parse(call.arguments)}


Aspect: TypeAlias = Literal["wanted", "told", "end"]
"""``wanted``: the effects differ, such as the request or the call; ``told``: the same effect has a different
answer; ``end``: one of the runs has no more events."""


@dataclass(frozen=True, slots=True)
class Divergence:
    n: int
    """Its number, counted from 1."""
    turn: int
    """Its turn in the first run, or in the second if the first has no such event."""
    aspect: Aspect
    changes: tuple[Change, ...]
    """The differences by place; empty if one of the runs has ended."""
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class TurnPair:
    number: int
    a: tuple[str, ...]
    """Empty if the run has no such turn."""
    b: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.a == self.b


@dataclass(frozen=True, slots=True)
class Side:
    source: str
    events: int
    outcome: str
    """The name of the outcome; ``unfinished`` if the run has not ended."""


@dataclass(frozen=True, slots=True)
class Difference:
    a: Side
    b: Side
    plan: tuple[Change, ...]
    first: Divergence | None
    """The first difference beyond the plans; ``None`` if there is none."""
    turns: tuple[TurnPair, ...]

    @property
    def same(self) -> bool:
        return not self.plan and self.first is None and self.a.outcome == self.b.outcome

    def tree(self) -> dict[str, Json]:
        turns: list[Json] = [asdict(turn) | {"same": turn.same} for turn in self.turns]
        return cast("dict[str, Json]", {"same": self.same, **asdict(self), "turns": turns})


def diff(a: RunSource, b: RunSource) -> Difference:
    """Compare two recorded runs.

    >>> from toolreel.demo import demo_cassette
    >>> from toolreel._replay.forked_run import Changes, fork
    >>> forked = fork(demo_cassette(), 2, Changes(config={"max_turns": 2}))
    >>> difference = diff(demo_cassette(), forked.recorded)
    >>> [change.place for change in difference.plan], difference.first.n, difference.first.aspect
    (['config.max_turns'], 5, 'end')

    :param a: a record, or the path of its journal or cassette
    :raises AdapterError: if one of them cannot be read
    :raises toolreel.ReplayMismatch: if one of them no longer replays
    """
    one, other = retrace(load_recorded_run(a)), retrace(load_recorded_run(b))
    turns = zip_longest(_actions_by_turn(one.run), _actions_by_turn(other.run), fillvalue=())
    return Difference(
        _diff_side_of_run(one),
        _diff_side_of_run(other),
        plan_changes(one.recorded.plan, other.recorded.plan),
        _first_divergence(one, other),
        tuple(TurnPair(number, *pair) for number, pair in enumerate(turns, 1)),
    )


def _first_divergence(one: Trace, other: Trace) -> Divergence | None:
    for a, b in zip(one.events, other.events, strict=False):
        aspect, changed = "wanted", _effect_changes(a, b)
        if not changed and a.record.event != b.record.event:
            aspect, changed = "told", tuple(changes(_event_as_tree(a), _event_as_tree(b)))
        if changed:
            turn = a.before.tally.turns
            return Divergence(a.record.n, turn, cast("Aspect", aspect), changed, a.summary, b.summary)
    both = min(len(one.events), len(other.events))
    for following in (*one.events[both:], *other.events[both:])[:1]:
        lines = (_event_or_end_in_words(trace, both) for trace in (one, other))
        return Divergence(both + 1, following.before.tally.turns, "end", (), *lines)
    return None


def _event_or_end_in_words(trace: Trace, at: int) -> str:
    if at < len(trace.events):
        return trace.events[at].summary
    outcome = trace.run.state.outcome
    return f"no event: {'the run rests' if outcome is None else f'the run has ended as {outcome.name}'}"


def _diff_side_of_run(trace: Trace) -> Side:
    outcome = trace.run.state.outcome
    return Side(trace.recorded.source, len(trace.events), outcome.name if outcome else "unfinished")


def _actions_by_turn(run: Run) -> list[tuple[str, ...]]:
    turns = [
        tuple([f"{MARKS.get(kind, '')}{text}" for kind, text in turn_lines(turn)]) for turn in story(run)
    ]
    if turns:
        outcome = run.outcome
        turns[-1] += (run.text if run.completed else f"{outcome.name}: {outcome_in_words(outcome).sentence}",)
    return turns
