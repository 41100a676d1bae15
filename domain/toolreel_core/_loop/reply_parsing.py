"""Parse a response body into a ``Reply``: join a stream, apply transforms, normalise.

The order is fixed: transforms are written for a whole response body, so a stream is joined first, and
``normalize_reply`` then reads what they leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from toolreel_core._conversation import SUMMARIZE, AssistantMessage, Quotable, ToolMessage
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    either,
    items_of,
    parse,
    read,
    tree_at,
)
from toolreel_core._loop.final_answer import is_asked_for
from toolreel_core._plan import ANSWER
from toolreel_core._protocol import State
from toolreel_core._replies import (
    Problem,
    Reply,
    ToolCall,
    WarningCode,
    failed_generation,
    is_stream,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._tools import ToolDefinition
from toolreel_core._transforms import apply_all

if TYPE_CHECKING:
    from toolreel_core._text_calls import Made

_FAILED: Final = '{"ok":false'
"""The beginning of a result that failed, in each of the formats of results."""


class Received(NamedTuple):
    """A parsed reply, and what was changed before parsing it."""

    reply: Reply
    quirks: tuple[str, ...] = ()
    """Names of the transforms that changed the body."""


def received(body: str, state: State) -> Received:
    """Parse a response body with the settings and the history of a run.

    What can't be read in the form of the provider may be in another one: a run that was forked from one form
    to another keeps its replies, and some gateways answer in the form of their upstream
    (Wei-Shaw/claude-relay-service#1014).
    """
    form = state.present.provider.wire_form
    found = _parse_reply(body, state, form)
    if found.reply.problem is None:
        return found
    from toolreel_core._replies import form_in  # noqa: PLC0415 - as below

    other = form_in(body)
    return found if other is None or other == form else _parse_reply(body, state, other)


def _parse_reply(body: str, state: State, form: WireForm) -> Received:
    plan = state.present
    joined: Json = body
    repairs: tuple[WarningCode, ...] = ()
    carry, paused = NOTHING, False
    if form != "chat_completions" or is_stream(body):
        # Most servers answer with a whole chat completion, which needs none of the modules of this import.
        from toolreel_core._replies import as_chat  # noqa: PLC0415 - see above

        joined, repairs, carry, paused = as_chat(body, form)[:4]
    changed, quirks = transformed(joined, plan.config)
    reply = _whole_json_answer(changed, state) or normalize_reply(
        changed,
        tools=plan.callable_tools,
        config=plan.reading,
        turn=state.tally.turns,
        earlier=_quotable_texts(state),
        made=_calls_made(state),
    )
    if plan.answer_tool is not None:
        reply = _take_answer_tool(reply, plan.answer_tool)
    reply = replace(reply, warnings=(*repairs, *reply.warnings)) if repairs else reply
    reply = reply if carry is NOTHING else replace(reply, carry=carry)
    if paused:  # the server has not finished: the reply may be empty, for its own tools are at work
        nothing = reply.problem is not None and reply.problem.code == "EMPTY_RESPONSE"
        reply = replace(reply, paused=not reply.calls, problem=None if nothing else reply.problem)
    return Received(reply, quirks)


def _take_answer_tool(reply: Reply, tool: ToolDefinition) -> Reply:
    """The reply whose call of the answer tool, if it has one, is its text; other calls come first."""
    answers = [call for call in reply.calls if call.name == tool.name]
    if not answers:
        return reply
    others = tuple(call for call in reply.calls if call.name != tool.name)
    if others:
        return replace(reply, calls=others, warnings=(*reply.warnings, "ANSWER_BESIDE_CALLS"))
    text = _answer_of_call(answers[0])
    problem = reply.problem or (None if text.strip() else Problem("EMPTY_RESPONSE"))
    codes = [code for code in reply.warnings if code != "TEXT_CALL_READ"]
    finish = "stop" if reply.finish == "tool_calls" else reply.finish
    return replace(reply, calls=(), content=text, finish=finish, problem=problem, warnings=tuple(codes))


def _answer_of_call(call: ToolCall) -> str:
    """The text in a call of the answer tool; empty if it has none that can be read."""
    arguments = as_tree(parse(call.arguments)) if isinstance(call.arguments, JsonText) else {}
    text = arguments.get(ANSWER)
    return text if isinstance(text, str) else ""


def _whole_json_answer(body: Json, state: State) -> Reply | None:
    """The reply whose text is, as a whole, the JSON that the plan's output asks for.

    Its strings may hold the markup of calls, which are not searched for then.
    """
    plan = state.present
    if plan.output is None or not plan.config.text_dialects or plan.constrains_calls:
        return None
    config = replace(plan.config, text_dialects=())
    reply = normalize_reply(body, tools=plan.callable_tools, config=config, turn=state.tally.turns)
    answers = not reply.calls and reply.problem is None and is_asked_for(plan, reply.content)
    return reply if answers else None


def salvaged(body: str, state: State) -> Reply | None:
    """The model's turn from an error body, or ``None``.

    Servers reject a tool call that they cannot parse. Groq returns the model's text as
    ``failed_generation``. It may still hold a call that text dialects can parse; if not, the reply has the
    problem ``MALFORMED_FUNCTION_CALL``.
    """
    text = failed_generation(body)
    if text is None:
        return None
    message: Tree = {"role": "assistant", "content": text}
    reply = received(canonical({"choices": [{"message": message, "finish_reason": "stop"}]}), state).reply
    problem = None if reply.calls else Problem("MALFORMED_FUNCTION_CALL", text)
    return replace(reply, problem=problem, warnings=(*reply.warnings, "FAILED_GENERATION_READ"))


def _quotable_texts(state: State) -> Sequence[str]:
    """Texts of users and tools that the model may quote; empty if calls in text are not parsed.

    A page that a tool fetched may contain a call in text. If the model quotes it, it must not run, not even
    from a summary.
    """
    if not state.present.reading.text_dialects:
        return ()
    has_summary = SUMMARIZE in state.present.config.history_policies
    return Quotable(state.messages.messages, state.messages.kept if has_summary else None)


def _calls_made(state: State) -> Made:
    """Whether a call has succeeded in the present exchange; read from the history only if it is asked."""
    inner = state.present.tools.inner
    calls: list[tuple[str, Json]] | None = None

    def made(name: str, given: Json) -> bool:
        nonlocal calls
        calls = _succeeded_calls(state) if calls is None else calls
        return (inner(name), given) in calls

    return made


def _succeeded_calls(state: State) -> list[tuple[str, Json]]:
    """The calls of the present exchange that have succeeded, by the inner names of their tools."""
    turns = state.tally.turns - state.exchange_began.turns
    succeeded: set[str] = set()
    found: list[tuple[str, Json]] = []
    for message in reversed(state.messages.messages):
        if isinstance(message, ToolMessage) and not message.content.startswith(_FAILED):
            succeeded.add(message.call_id)
        elif isinstance(message, AssistantMessage):
            if turns <= 0:
                break
            turns -= 1
            for call in message.calls:
                given = read(call.arguments).value_or(None)
                if call.id in succeeded:
                    found.append((state.present.tools.inner(call.name), given))
            succeeded.clear()
    return found


def transformed(body: Json, config: LoopConfig) -> tuple[Json, tuple[str, ...]]:
    """The body after the plan's transforms; ``normalize_reply`` handles one that is not a JSON object."""
    if not config.response_transforms and not config.tool_call_transforms:
        return body, ()
    tree = either(read(body).alt(lambda _: None)) if isinstance(body, str) else body
    if not isinstance(tree, Mapping):
        return body, ()
    response = apply_all("response", config.response_transforms, tree)
    changed, quirks = _transform_calls(response.tree, config)
    return changed, (*response.changed, *quirks)


def _transform_calls(body: Tree, config: LoopConfig) -> tuple[Tree, tuple[str, ...]]:
    """The body with each entry of ``choices[0].message.tool_calls`` transformed."""
    choices = items_of(body, "choices")
    first = as_tree(choices[0]) if choices else {}
    message = tree_at(first, "message")
    applied = [_transform_call(call, config) for call in items_of(message, "tool_calls")]
    quirks = dict.fromkeys(name for _, names in applied for name in names)
    if not quirks:
        return body, ()
    changed_message: Tree = {**message, "tool_calls": [call for call, _ in applied]}
    return {**body, "choices": [{**first, "message": changed_message}, *choices[1:]]}, tuple(quirks)


def _transform_call(call: Json, config: LoopConfig) -> tuple[Json, tuple[str, ...]]:
    if not isinstance(call, Mapping):
        return call, ()
    applied = apply_all("tool_call", config.tool_call_transforms, call)
    return applied.tree, applied.changed
