"""The conversations of the kit: plans, and what the world answers.

``python -m tests.kit.write`` plays them with the core, and writes each with its answers to a file of its own
in ``tests/kit/conversations``. docs/protocol.md says how a host plays them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tests.wire_forms import events_of, frame, said_in
from toolreel.testing import calling, saying
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._plan import FallbackPlan, Plan
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._tools import ToolDefinition, ToolSurface

Event: TypeAlias = Mapping[str, Json]
"""What the world answers; without a ``ref``, it goes to the first pending effect that it can answer."""
Written: TypeAlias = Event | str
"""An event of the run, or a whole line as it is."""

_PART: Tree = {"type": "object", "properties": {"part": {"type": "string"}}, "required": ["part"]}
_ORDER: Tree = {
    "type": "object",
    "properties": {"part": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["part", "count"],
}
STOCK = ToolDefinition.of("stock", "How many of a part are in stock.", _PART, read_only=True)
ORDER = ToolDefinition.of("order", "Order parts.", _ORDER, needs_approval=True)
TOOLS = ToolSurface((STOCK, ORDER))

OTHER = "another run"

PIN = ("stock", {"part": "pin"})
SHIM = ("stock", {"part": "shim"})
BUY: tuple[str, Tree] = ("order", {"part": "pin", "count": 4})


@dataclass(frozen=True, slots=True)
class Script:
    """One conversation."""

    about: str
    plan: Plan
    world: tuple[Written, ...]
    other: Plan | None = None
    """The plan of a second run, which starts after the first one; that has the name of the conversation."""
    stateless: bool = False
    """Whether each line brings the state along."""


def plan(prompt: str = "How many pins are there?", form: WireForm = "chat_completions", **rest: Any) -> Plan:  # noqa: ANN401 - settings of the loop
    config = LoopConfig(**rest)
    return Plan.of(model="m", messages=prompt, tools=TOOLS, config=config, provider=Provider(wire_form=form))


def response(body: Mapping[str, Json] | str, status: int = 200, **headers: str) -> Event:
    text = body if isinstance(body, str) else canonical(body)
    named: Json = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"type": "http_response", "status": status, "headers": named, "body": text}


def says(text: str, finish: str = "stop") -> Event:
    return response(saying(text, finish))


def calls(*wanted: tuple[str, Mapping[str, Json]]) -> Event:
    return response(calling(*wanted))


def calls_with(arguments: str, name: str = "stock") -> Event:
    """A call with arguments as the model wrote them."""
    call: Json = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    return response({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})


def returns(value: Json, **more: Json) -> Event:
    return {"type": "tool_returned", "output": canonical(value), **more}


def approval(approved: bool, reason: str = "") -> Event:
    return {"type": "approval_given", "approved": approved, "reason": reason}


def line(**message: Json) -> str:
    return canonical({"toolreel": 1, **message})


ELAPSED: Event = {"type": "wait_elapsed"}
REFUSED: Event = {"type": "request_failed", "failure": "connect", "message": "connection refused"}
FOUR = returns(4)


def _chunks(text: str, size: int) -> Iterator[Event]:
    for at in range(0, len(text), size):
        yield {"type": "http_chunk", "text": text[at : at + size]}


def in_form(form: WireForm, body: Mapping[str, Json]) -> str:
    return said_in(form, canonical(body))


def streamed(form: WireForm, body: Mapping[str, Json]) -> str:
    return "".join(events_of(form, json.loads(in_form(form, body))))


def spoken(form: WireForm) -> Script:
    called, said = response(in_form(form, calling(PIN))), response(in_form(form, saying("Four.")))
    return Script(f"A call and an answer in the wire form {form}.", plan(form=form), (called, FOUR, said))


def streaming(form: WireForm) -> Script:
    called, said = streamed(form, calling(PIN)), streamed(form, saying("There are four."))
    world = (*_chunks(called, 400), response(""), FOUR, *_chunks(said, 400), response(""))
    return Script(
        f"Streams in the wire form {form}, in chunks; the bodies are left out.",
        plan(form=form, stream="always"),
        world,
    )


_DELTAS = ({"role": "assistant", "content": "There are "}, {"content": "four."})
_FRAMES = [frame({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in _DELTAS]
_ENDED = frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + "data: [DONE]\n\n"
_FAILED: Json = {"ok": False, "errors": [{"code": "NOT_FOUND", "message": "no such part"}]}
_PICTURE: Json = {
    "type": "image",
    "source": {"type": "blob", "media_type": "image/png", "base64": "AAAA"},
}
_CALL_USED = {**calling(PIN), "usage": {"prompt_tokens": 90, "completion_tokens": 20}}
_LATER: Event = {"type": "user_spoke", "content": "And shims?"}
_CANCELLED: Event = {"type": "cancel_requested", "reason": "the user left"}
_SPARE = FallbackPlan("spare", "n", provider=Provider(wire_form="messages"))
_TEXT_CALL = '<tool_call>{"name": "stock", "arguments": {"part": "pin"}}</tool_call>'
_COUNT: Tree = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
_SLOW = response("slow down", 429, retry_after="2")
_BROKEN = response('{"error":{"message":"overloaded"}}', 503)

SCRIPTS: Mapping[str, Script] = {
    "plain": Script("A question and an answer.", plan("Hi"), (says("Hello."),)),
    "tool": Script(
        "A tool call, its result, an answer.", plan(), (calls(PIN), FOUR, says("There are four."))
    ),
    "tools_in_parallel": Script(
        "Two tools that only read run at once; their results come in the order of the calls.",
        plan(parallel_tools=True),
        (calls(PIN, SHIM), returns(4, ref=2), returns(0, ref=3), says("4 pins, no shims.")),
    ),
    "tools_in_order": Script(
        "Two calls in one reply run one after the other.",
        plan(),
        (calls(PIN, SHIM), FOUR, returns(0), says("4 pins, no shims.")),
    ),
    "text_call": Script(
        "The model writes its call as text.", plan(), (says(_TEXT_CALL), FOUR, says("Four."))
    ),
    "repaired_arguments": Script(
        "Arguments with a comma too many are repaired.",
        plan(),
        (calls_with('{"part": "pin",}'), FOUR, says("Four.")),
    ),
    "cut_arguments": Script(
        "Arguments that are cut never run: the model is told, and calls again.",
        plan(),
        (calls_with('{"part": "p'), calls(PIN), FOUR, says("Four.")),
    ),
    "wrong_arguments": Script(
        "Arguments that the schema refuses never run.",
        plan(),
        (calls_with('{"part": 7}'), calls(PIN), FOUR, says("Four.")),
    ),
    "unknown_tool": Script(
        "A call of a tool that is not there.", plan(), (calls_with("{}", "buy"), says("Sorry."))
    ),
    "failed_tool": Script(
        "A tool fails, with an envelope that says so.",
        plan(),
        (calls(PIN), returns(_FAILED), says("There are none.")),
    ),
    "output_is_no_json": Script(
        "A tool returns something else than JSON.",
        plan(),
        (calls(PIN), {"type": "tool_returned", "output": "four"}, says("Four.")),
    ),
    "tool_returns_a_picture": Script(
        "A tool returns a picture, which the journal has once.",
        plan(),
        (calls(PIN), returns(4, parts=[_PICTURE]), calls(PIN), returns(4, parts=[_PICTURE]), says("Four.")),
    ),
    "empty_final": Script(
        "An empty answer is asked for again.", plan(), (calls(PIN), FOUR, says(""), says("Four."))
    ),
    "empty_final_twice": Script("It is asked for once only.", plan(), (calls(PIN), FOUR, says(""), says(""))),
    "retry_after": Script("A server says when to come again.", plan("Hi"), (_SLOW, ELAPSED, says("Hello."))),
    "retries_used_up": Script(
        "A server fails three times; the pauses have jitter from the seed.",
        plan("Hi"),
        (_BROKEN, ELAPSED, _BROKEN, ELAPSED, _BROKEN),
    ),
    "no_connection": Script("No connection at first.", plan("Hi"), (REFUSED, ELAPSED, says("Hello."))),
    "not_sent_again": Script("A refused key is not tried again.", plan("Hi"), (response("wrong key", 401),)),
    "a_page_of_html": Script(
        "A proxy answers with a page, then with text that is not JSON.",
        plan("Hi"),
        (
            response("<html><title>Bad gateway</title></html>", 502),
            ELAPSED,
            response("oops"),
            ELAPSED,
            says("Hello."),
        ),
    ),
    "truncated": Script(
        "The answer is cut at the limit of tokens.", plan("Hi"), (says("Once upon a", "length"),)
    ),
    "content_filter": Script(
        "The provider's filter holds the answer back.", plan("Hi"), (says("", "content_filter"),)
    ),
    "approved": Script(
        "A call waits for a person, who agrees.",
        plan("Buy 4 pins."),
        (calls(BUY), approval(True), returns("ordered"), says("Done.")),
    ),
    "denied": Script(
        "The person refuses.",
        plan("Buy 4 pins."),
        (calls(BUY), approval(False, "too many"), says("All right.")),
    ),
    "max_turns": Script("The last turn still calls tools.", plan(max_turns=1), (calls(PIN), FOUR)),
    "token_limit": Script(
        "The tokens are used up.", plan(max_total_tokens=100), (response(_CALL_USED), FOUR)
    ),
    "call_limit": Script("The calls are used up.", plan(max_tool_calls=1), (calls(PIN), FOUR, calls(SHIM))),
    "time_limit": Script(
        "The time is used up; it comes with the events.",
        plan(max_wall_ms=5_000),
        ({**calls(PIN), "at_ms": 900}, {**FOUR, "at_ms": 5_100}),
    ),
    "repeated_call": Script(
        "The same call with the same result, until the run stops.",
        plan(repetition_warn=2, repetition_stop=3),
        (calls(PIN), FOUR) * 3,
    ),
    "typed_answer": Script(
        "An answer that does not fit its schema is asked for again.",
        Plan.of(model="m", messages="How many?", output=_COUNT),
        (says("four"), says('{"count": 4}')),
    ),
    "next_endpoint": Script(
        "The first server is down, the second one speaks another form.",
        replace(plan(max_tries=1), fallbacks=(_SPARE,)),
        (
            REFUSED,
            response(in_form("messages", calling(PIN))),
            FOUR,
            response(in_form("messages", saying("Four."))),
        ),
    ),
    "responses": spoken("responses"),
    "messages": spoken("messages"),
    "stream": Script(
        "A stream in chunks of 50 characters, then again as a whole.",
        plan("Hi", stream="always"),
        (*_chunks("".join((*_FRAMES, _ENDED)), 50), response("".join((*_FRAMES, _ENDED)))),
    ),
    "stream_responses": streaming("responses"),
    "stream_messages": streaming("messages"),
    "stream_cut": Script(
        "A stream that ends too early is no answer.",
        plan("Hi", stream="always"),
        (response("".join(_FRAMES)), ELAPSED, response("".join((*_FRAMES, _ENDED)))),
    ),
    "cancel": Script(
        "The run is cancelled while a tool runs, whose result comes too late.",
        plan(),
        (calls(PIN), _CANCELLED, {**FOUR, "ref": 2}),
    ),
    "second_question": Script(
        "The user asks again after the end.", plan(), (calls(PIN), FOUR, says("Four."), _LATER, says("None."))
    ),
    "spoken_meanwhile": Script(
        "The user says more while a tool runs.", plan(), (calls(PIN), _LATER, FOUR, says("4 pins, no shims."))
    ),
    "two_runs": Script(
        "Two runs at once in one process.",
        plan(),
        (calls(PIN), {**says("Hello."), "run": OTHER}, FOUR, line(run=OTHER, close=True), says("Four.")),
        other=plan("Hi"),
    ),
    "stateless": Script(
        "The state goes out and comes back with each line.",
        plan(),
        (calls(PIN), FOUR, says("Four.")),
        stateless=True,
    ),
    "bad_lines": Script(
        "Lines that are wrong are answered by errors, and the run goes on.",
        plan(),
        (
            "",
            "nonsense",
            "[1]",
            '{"run":"bad_lines"}',
            '{"toolreel":2,"run":"bad_lines"}',
            line(run="bad_lines", effect={}),
            line(run="c", event=ELAPSED),
            line(event=ELAPSED),
            line(run=7, event=ELAPSED),
            line(run="bad_lines", start={}),
            line(run="c", start={"type": "plan", "model": "m"}),
            line(
                run="c",
                start={"type": "plan", "model": "", "messages": [{"type": "user_message", "content": "Hi"}]},
            ),
            line(run="c", state={"toolreel": 1, "value": {"type": "state"}}),
            line(run="c", state=7),
            line(run="bad_lines", event={"type": "http_response", "ref": "1", "status": 200}),
            line(run="bad_lines", event={"type": "http_response", "ref": 1}),
            line(run="bad_lines", event={"type": "http_response", "ref": 7, "status": 200}),
            line(run="bad_lines", event={"type": "tool_returned", "ref": 1, "output": "4"}),
            line(run="bad_lines", event={"type": "http_chunk", "ref": 7, "text": "data: "}),
            line(run="bad_lines", event={"type": "asked", "ref": 1}),
            line(run="bad_lines", event={**ELAPSED, "ref": 1}, close=True),
            line(run="bad_lines", close=False),
            line(run="bad_lines", **{"with": ["notes"]}),
            line(run="bad_lines"),
            calls(PIN),
            FOUR,
            says("Four."),
        ),
    ),
}
