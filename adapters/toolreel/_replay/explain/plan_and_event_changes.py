"""Compare plans, effects and events of two runs by what the loop acts on.

Differences that any two live sessions have are ignored: call ids, times, token counts, and everything else in
a reply's body that the loop does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final, assert_never, cast

from toolreel._replay.trace import Traced
from toolreel.cassette import Change, changes
from toolreel_core._conversation import Transcript, shown_parts, wire_tree, with_digests
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse, read
from toolreel_core._loop import received
from toolreel_core._plan import Plan
from toolreel_core._protocol import AskApproval, RunTool, SendRequest, Wait, events
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
