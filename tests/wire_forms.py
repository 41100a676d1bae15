"""Replies of a server that speaks another form than chat completions, from those that a test has written.

What a form can't say, such as arguments that are no object in Messages, is answered as chat completions: some
gateways do that, so it has to be read as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, assert_never

import pytest

from tests import playbook
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import reducer
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, ReplyReceived, Settled, State, Step
from toolreel_core._replies import Stream
from toolreel_core._settings import WireForm

OTHER_FORMS: tuple[WireForm, ...] = ("responses", "messages")

_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def in_form(plan: Plan, form: WireForm) -> Plan:
    """The plan for a server that speaks this form."""
    return replace(plan, provider=replace(plan.provider, wire_form=form))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A run, and all that it has heard."""

    plan: Plan
    events: tuple[Event, ...]
    at: Step


@dataclass(frozen=True, slots=True)
class ReducerIn:
    """The reducer, with a server that speaks this form: takes plans and replies as tests write them."""

    form: WireForm
    reached: dict[int, Conversation] = field(default_factory=dict)
    """Every step of every run, by the identity of its state."""

    def start(self, plan: Plan) -> Step:
        spoken = in_form(plan, self.form)
        return self._reach(Conversation(spoken, (), reducer.start(spoken)))

    def step(self, state: State, event: Event) -> Step:
        heard = self._heard(event)
        before = self.reached.get(id(state))  # none, if the state was stored and loaded
        taken = reducer.step(state, heard)
        return self._reach(Conversation(before.plan, (*before.events, heard), taken)) if before else taken

    def fold(self, plan: Plan, events: Iterable[Event]) -> Step:
        at = self.start(plan)
        for event in events:
            at = self.step(at.state, event)
        return at

    def patch(self, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        """Run the conversations of these modules, and their playbooks, with this reducer."""
        for module in (*modules, playbook):
            for name in ("start", "step", "fold"):
                if name in vars(module):
                    monkeypatch.setattr(module, name, getattr(self, name))

    def settled(self) -> list[Conversation]:
        """The runs that have ended."""
        return [run for run in self.reached.values() if isinstance(run.at.state.phase, Settled)]

    def _reach(self, run: Conversation) -> Step:
        self.reached.setdefault(id(run.at.state), run)  # what comes after the end changes nothing
        return run.at

    def _heard(self, event: Event) -> Event:
        if not isinstance(event, ReplyReceived) or event.status != 200:
            return event
        return replace(event, body=said_in(self.form, event.body))


def said_in(form: WireForm, body: str) -> str:
    """A body of chat completions in another form, or unchanged if the form can't say it."""
    if form == "chat_completions":
        return body
    if body.startswith("data:"):
        stream, _ = Stream().feed(body)
        said = _said_in(form, {**stream.whole()}) if stream.close()[0].done else None
        return body if said is None else "".join(events_of(form, said))
    try:
        tree = json.loads(body)
    except ValueError:
        return body
    said = _said_in(form, tree) if isinstance(tree, dict) else None
    return body if said is None else canonical(said)


def _said_in(form: WireForm, tree: dict[str, Any]) -> dict[str, Any] | None:
    match tree:
        case {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": str() as finish}]}:
            known = message.keys() <= {"content", "tool_calls"} and finish in _STOP_REASONS
            if not known or not isinstance(message.get("content"), str | None):
                return None
            head = {key: tree[key] for key in ("id", "model", "error") if tree.get(key)}
            usage = _usage(tree.get("usage"))
            text: Any = message.get("content") or ""
            calls: Any = message.get("tool_calls") or []
            if not all(map(_is_plain, calls)):
                return None
            match form:
                case "messages":
                    return {**head, **_message(text, calls, finish), **usage}
                case "responses":
                    return {**head, **_response(text, calls, finish), **usage}
                case "chat_completions":
                    return tree
                case _:
                    assert_never(form)
        case _:
            return None


def _is_plain(entry: object) -> bool:
    call: Any = entry
    match call:
        case {
            "id": str(),
            "type": "function",
            "function": {"name": str(), "arguments": str() as text, **more},
        }:
            try:
                return (
                    call.keys() == {"id", "type", "function"}
                    and not more
                    and isinstance(json.loads(text), dict)
                )
            except ValueError:
                return False
        case _:
            return False


def _usage(usage: object) -> dict[str, Any]:
    if not isinstance(usage, Mapping):
        return {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    return {"usage": {names.get(key, key): value for key, value in usage.items()}}


def _message(text: str, calls: list[Any], finish: str) -> dict[str, Any]:
    blocks: list[Any] = [{"type": "text", "text": text}] if text else []
    for call in calls:
        function = call["function"]
        given = json.loads(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": given})
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": _STOP_REASONS[finish]}


def _response(text: str, calls: list[Any], finish: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    items: list[Any] = [{"type": "message", "role": "assistant", "content": [part]}] if text else []
    items += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    why = {"incomplete_details": {"reason": "max_output_tokens"}} if finish == "length" else {}
    status = "incomplete" if finish == "length" else "completed"
    return {"object": "response", "status": status, "output": items, **why}


def events_of(form: WireForm, body: Mapping[str, Any]) -> Iterator[str]:
    """A body as the events of a stream, each text and all arguments in two pieces."""
    for event in _events_of_message(body) if form == "messages" else _events_of_response(body):
        yield f"event: {event['type']}\ndata: {canonical(event)}\n\n"


def _events_of_message(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    for index, block in enumerate(body["content"]):
        at, texts = {"index": index}, [key for key in ("text", "thinking") if key in block]
        kept = {key: value for key, value in block.items() if key not in {"citations", "signature"}}
        empty: dict[str, Any] = {"input": {}} if "input" in block else dict.fromkeys(texts, "")
        yield {"type": "content_block_start", **at, "content_block": {**kept, **empty}}
        deltas = [{"type": f"{key}_delta", key: half} for key in texts for half in _halves(block[key])]
        if "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations", [])]
        pieces = _halves(canonical(block["input"])) if "input" in block else ()
        deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        for delta in deltas:
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    counts = {"usage": body["usage"]} if body.get("usage") else {}
    ends = {key: body[key] for key in ("stop_reason", "stop_sequence") if key in body}
    yield {"type": "message_delta", "delta": ends, **counts}
    yield {"type": "message_stop"}


def _events_of_response(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}
    for place, item in enumerate(body["output"]):
        at = {"output_index": place, **({"item_id": item["id"]} if "id" in item else {})}
        empty = {"content": [], "summary": [], "arguments": ""}
        started = {**item, **{key: value for key, value in empty.items() if key in item}}
        yield {"type": "response.output_item.added", **at, "item": started}
        kind = {"message": "output_text", "reasoning": "reasoning_text"}.get(item["type"])
        for part in item.get("content", []):
            for piece in _halves(part["text"]):
                yield {"type": f"response.{kind}.delta", **at, "content_index": 0, "delta": piece}
        for number, part in enumerate(item.get("summary", [])):
            where = {**at, "summary_index": number}
            yield {"type": "response.reasoning_summary_text.delta", **where, "delta": part["text"]}
        for piece in _halves(item["arguments"]) if "arguments" in item else ():
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{body['status']}", "response": {**body}}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def frame(event: Mapping[str, Json]) -> str:
    """An event of a stream."""
    return f"data: {canonical(event)}\n\n"
