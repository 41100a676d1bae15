"""Make journals from a cassette alone, by running the reducer on its responses.

The cassette may be from any client. Each request of the reducer is compared with the next recorded one
(as JSON, or as conversations whatever their notation), and the recorded response answers it.
Tool results are taken from the next recorded request, unless the tools are executed. A run ends where the
recorded conversation ends; the next request that does not continue it begins another run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

from toolreel._driver import NOT_MEASURED, Lap, Listener, Run, ToolHost, Wanted, run
from toolreel._internal import JournalError, SecretFound
from toolreel._journal import MemoryJournal, Recorded, parse_journal, seal_text
from toolreel._secrets import known_secrets, leaks
from toolreel.cassette import (
    CANCELLED,
    CLOSED,
    Exchange,
    Session,
    canonical_body,
    compared_endpoint,
    drift_text,
    replace_file,
    replay_response,
)
from toolreel.http import HttpEndpoint
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    ToolMessage,
    parse_chat_message,
    readable_content,
    wire_tree,
)
from toolreel_core._errors import ConfigError, ReplayMismatch, ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at, read_json
from toolreel_core._plan import Plan, Preset
from toolreel_core._protocol import AskApproval, RunTool, SendRequest, Wait, events
from toolreel_core._settings import PATHS, wire_form_of_url
from toolreel_core._tools import ToolDefinition

if TYPE_CHECKING:
    import httpx


# An endpoint that answers from a cassette.
#
# For replaying runs, on async drivers as well, since it never blocks.


_URL = "http://replay.invalid/v1"


class TapedEndpoint(HttpEndpoint):
    replays: Final = True
    """Its answers cost no time and no tokens, which matters when a run is measured."""

    def __init__(self, recording: Session, *, on_delta: Listener | None = None) -> None:
        super().__init__(
            _URL,
            transport=recording.transport(),
            on_delta=on_delta,
            now=float,  # is 0.0: a clock that stands still
        )


_ENDED = "the recorded client asked no further"
_NO_PRESET = Preset()


@dataclass(frozen=True, slots=True)
class RecoveredRun:
    run: Run
    recorded: Recorded
    first: int
    """The number of its first interaction, counted from 1."""
    last: int


def save_journals(journals: Sequence[Recorded], paths: Sequence[Path]) -> None:
    secrets = known_secrets(os.environ)
    for path, one in zip(paths, journals, strict=True):
        if found := leaks(one.text, secrets):
            raise SecretFound(f"{path}: not written, it would hold what looks like a secret: {found[0].kind}")
    for path, one in zip(paths, journals, strict=True):
        replace_file(path, seal_text(one.text))


def recover_runs(
    tape: Session,
    *,
    plans: Sequence[Plan] = (),
    tools: ToolHost | None = None,
    exact: bool | None = None,
    preset: Preset = _NO_PRESET,
    settings: Mapping[str, Any] | None = None,
) -> tuple[RecoveredRun, ...]:
    """The runs in a recording, each with its journal.

    :param preset: defaults for an inferred plan, such as dialects of text calls
    :param settings: loop and provider settings, which override the preset
    :param plans: the plans of the runs, in order; by default, each is inferred from the run's first request
    :param tools: executes tools; without it, their results are taken from the next request
    :param exact: whether requests are compared as canonical JSON, instead of by model, roles, texts, calls
        and results; by default if plans are given
    :raises toolreel.ReplayMismatch: if a recorded request is not what the reducer asks for, or is left over
    :raises JournalError: if no run begins with a request
    """
    tapes = _Tape(tape, bool(plans) if exact is None else exact, tools)
    runs: list[RecoveredRun] = []
    # Another client neither asks again after an empty text nor asks for a call that it could not read, and it
    # goes on after a call that repeats itself.
    unasked = {"fix_empty_final": False, "accept_suspected_calls": True, "repetition_stop": None}
    inferred = {**unasked, "max_turns": len(tapes.exchanges), **(settings or {})}
    while tapes.has_next and (not plans or len(runs) < len(plans)):
        tapes.began = tapes.at
        request = tapes.exchanges[tapes.at]
        plan = plans[len(runs)] if plans else _plan_of_request(request, preset, inferred)
        journal = MemoryJournal(plan)
        done = run(plan, tapes, journal=journal)
        if tapes.at == tapes.began:
            raise JournalError(f"{request.name}: the plan of the run asks for nothing")
        tapes.check_no_results_left()
        recorded = parse_journal(journal.text, f"{tape.path}, run {len(runs) + 1}")
        runs.append(RecoveredRun(done, recorded, request.number, tapes.exchanges[tapes.at - 1].number))
    if tapes.has_next:
        raise ReplayMismatch(
            f"{tape.path}: the last run has ended, but {tapes.exchanges[tapes.at].name} was recorded too"
        )
    return tuple(runs)


class _Tape:
    def __init__(self, recording: Session, exact: bool, tools: ToolHost | None) -> None:
        self.exchanges = tuple(filter(_asks_a_model, recording.exchanges))
        self.at = 0
        """Index of the next exchange."""
        self._path = recording.path
        self._exact = exact
        self._tools = tools
        if not self.exchanges:
            raise JournalError(
                f"{recording.path}: holds no chat completion, Responses or Messages, so there is no run in it"
            )
        from httpx import MockTransport  # with the extra that cassettes need

        self._endpoint = HttpEndpoint(_URL, transport=MockTransport(self._stored_response), now=float)
        self.began = 0
        """Index of the first exchange of this run."""
        self._results = 0
        self._requests: dict[int, tuple[Tree, Sequence[Message]]] = {}

    @property
    def has_next(self) -> bool:
        return self.at < len(self.exchanges)

    def perform(self, effect: Wanted) -> events.Event:
        match effect:
            case SendRequest():
                return self._recorded_reply(effect)
            case RunTool():
                return self._tools.run(effect) if self._tools else self._recorded_result(effect)
            case AskApproval():
                return events.ApprovalGiven(effect.ref, approved=True)
            case Wait():
                return events.WaitElapsed(effect.ref)
            case _:
                assert_never(effect)

    def lap_of(self, _effect: Wanted, /) -> Lap:
        """A cassette does not say how long anything took."""
        return NOT_MEASURED

    def check_no_results_left(self) -> None:
        if self._exact or not self._has_next_exchange_of_run():
            return
        exchange = self.exchanges[self.at]
        if self._new_tool_messages():
            raise ReplayMismatch(
                f"{self._path}: {exchange.name} has results of tools, but the reducer's run has ended before "
                "it; if the calls were written as text, name the preset or the text_dialects that read them"
            )

    def _recorded_reply(
        self, effect: SendRequest
    ) -> events.ReplyReceived | events.RequestFailed | events.CancelRequested:
        if not self._has_next_exchange_of_run():
            return events.CancelRequested(_ENDED)
        exchange = self.exchanges[self.at]
        self._check_request(exchange, effect.request.body.encode())
        self.at += 1
        self._results = 0
        # A replayed response would wait here, as the cancelled client did.
        if exchange.broke and exchange.broke.kind == CANCELLED:
            return events.RequestFailed(effect.ref, "timeout", CANCELLED)
        return self._endpoint.send(effect)

    def _stored_response(self, request: httpx.Request) -> httpx.Response:
        """The answer of the last exchange, whatever is asked; what the client closed ends there."""
        stored = self.exchanges[self.at - 1].answer
        if stored.broke and stored.broke.kind == CLOSED:
            stored = replace(stored, broke=None)
        return replay_response(stored, self._path, request)

    def _has_next_exchange_of_run(self) -> bool:
        if not self.has_next or self.at == self.began or self._exact:
            return self.has_next
        before, now = (self._recorded_request(at)[0]["messages"] for at in (self.at - 1, self.at))
        return isinstance(before, Sequence) and isinstance(now, Sequence) and now[: len(before)] == before

    def _recorded_request(self, at: int) -> tuple[Tree, Sequence[Message]]:
        """The content of a recorded request and its messages; it is compared three times, and read once."""
        if at not in self._requests:
            self._requests[at] = _request_content(self.exchanges[at])
        return self._requests[at]

    def _new_tool_messages(self) -> list[ToolMessage]:
        before, now = (self._recorded_request(at)[1] for at in (self.at - 1, self.at))
        return [message for message in now[len(before) :] if isinstance(message, ToolMessage)]

    def _check_request(self, exchange: Exchange, body: bytes) -> None:
        was, now = canonical_body(exchange.body), body
        if not self._exact:
            sent = _request_content(replace(exchange, pieces=(body,)))[0]
            was, now = (canonical(one).encode() for one in (self._recorded_request(self.at)[0], sent))
        if was != now:
            raise ReplayMismatch(
                f"{self._path}: {exchange.name} is not what the reducer asks for:\n{drift_text(was, now)}"
            )

    def _recorded_result(self, effect: RunTool) -> events.Event:
        if not self._has_next_exchange_of_run():
            return events.CancelRequested(_ENDED)
        exchange = self.exchanges[self.at]
        results = self._new_tool_messages()
        own = [message for message in results if message.call_id == effect.call_id]
        in_order = results[self._results : self._results + 1]
        self._results += 1
        for message in own or in_order:
            return events.ToolReturned(effect.ref, _output_without_envelope(message.content))
        raise JournalError(
            f"{self._path}: {exchange.name} holds no result of {effect.name}({effect.arguments}); "
            "run the tools for real (--tools MODULE:ATTR)"
        )


def _asks_a_model(exchange: Exchange) -> bool:
    """Whether a model was asked: the last segments of the path say in which form."""
    path = compared_endpoint(exchange.url).partition("?")[0]
    return exchange.method == "POST" and path.rstrip("/") in PATHS.values()


# Requests of other clients, as a plan or in a plain form.
#
# Clients write the same conversation in many ways: different key orders, ``null`` or an empty text next to
# calls, texts as lists of parts, tool results with or without an envelope. The plain form is the same for all
# of them, so conversations are compared in it.


_MESSAGE = ("role", "content", "tool_calls", "tool_call_id")
"""What is read of a message: clients send further keys, which have no meaning for a run."""


def _messages_in(exchange: Exchange, tree: Tree) -> list[Message]:
    messages = []
    for n, entry in enumerate(list_at(tree, "messages")):
        kept: dict[str, Json] = {key: value for key, value in as_tree(entry).items() if key in _MESSAGE}
        if kept.get("role") == "function":
            kept |= {"role": "tool", "tool_call_id": ""}
        try:
            messages.append(parse_chat_message(kept, f"messages[{n}]"))
        except ConfigError as error:
            raise JournalError(f"{exchange.name}: {error}") from None
    return messages


def _request_content(exchange: Exchange) -> tuple[Tree, Sequence[Message]]:
    tree = _chat_body(exchange)
    messages = _messages_in(exchange, tree)
    return {"model": tree.get("model"), "messages": [*map(_plain_message, messages)]}, messages


def _plain_message(message: Message) -> Json:
    match message:
        case ToolMessage():
            return {"role": "tool", "content": _parse_value(_output_without_envelope(message.content))}
        case AssistantMessage(calls=[_, *_]):  # text next to calls is noted by a run, and not written back
            calls: list[Json] = [
                {"name": call.name, "arguments": _parse_value(call.arguments)} for call in message.calls
            ]
            return {"role": "assistant", "content": "", "calls": calls}
        case _:
            return {"role": wire_tree(message)["role"], "content": readable_content(message)}


def _output_without_envelope(content: str) -> str:
    tree = _parse_value(content)
    match tree:
        # A result that is not an object is under `value` in an envelope.
        case {"ok": True, "tool_name": _, "data": {"value": value, **further}, "errors": []} if not further:
            return canonical(value)
        case {"ok": True, "tool_name": _, "data": data, "errors": []}:
            return canonical(data)
        case {"ok": False, "tool_name": _, "data": data, "errors": errors}:
            return canonical({"ok": False, "data": data, "errors": errors})
        case _:
            return canonical(tree)


def _parse_value(text: str) -> Json:
    return read_json(text).value_or(text)


_OWNED = ("model", "messages", "tools", "stream", "stream_options")
"""Keys of a request that a plan does not take from its options."""


def _plan_of_request(exchange: Exchange, preset: Preset, settings: Mapping[str, Any]) -> Plan:
    """The plan of a run that begins with this request: its model, messages, tools and options.

    :param settings: loop and provider settings, which a request does not contain
    """
    tree, form = _chat_body(exchange), wire_form_of_url(exchange.url)
    spoken = {} if form == "chat_completions" else {"wire_form": form}
    messages = _messages_in(exchange, tree)
    try:
        return preset.plan(
            model=str(tree.get("model") or "unknown"),
            messages=messages,
            tools=tuple([_tool_definition(entry) for entry in list_at(tree, "tools")]),
            options={key: value for key, value in tree.items() if key not in _OWNED},
            settings={**spoken, **settings},
        )
    except ToolreelError as error:
        raise JournalError(f"{exchange.name}: {error}") from error


def _chat_body(exchange: Exchange) -> Tree:
    """The body of a request in any form, as chat completions."""
    form = wire_form_of_url(exchange.url)
    asked = client_request(exchange.body, form)
    if isinstance(asked, ClientRequest):
        if any(loss.code == "stored_response" for loss in asked.losses):
            raise JournalError(
                f"{exchange.name}: goes on with a response that the server has stored, so the tape lacks the "
                "conversation; record with the whole input instead of previous_response_id"
            )
        if list_at(asked.tree, "messages"):
            return asked.tree
    raise JournalError(f"{exchange.name}: not the body of a {form.replace('_', '-')} request")


def _tool_definition(entry: Json) -> ToolDefinition:
    match entry:
        case {"function": {"name": str() as name, **further}}:
            words, parameters = further.get("description"), further.get("parameters")
            about = words if isinstance(words, str) else ""
            return ToolDefinition.of(name, about, parameters if isinstance(parameters, Mapping) else None)
        case _:
            raise ConfigError(f"not a function that a model may call: {canonical(entry)[:100]}")
