"""A request came back: tool calls, a final answer, or a failure.

``ReplyReceived`` and ``RequestFailed`` end here. This module parses the reply and decides where the run goes:
calls run in ``tool_calls``, and a reply without calls goes to ``final_answer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from toolreel_core._conversation import (
    SUMMARIZE,
    AssistantMessage,
    Quotable,
    SentCall,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    digest,
    either,
    items_of,
    parse,
    read,
    tree_at,
)
from toolreel_core._loop.final_answer import answer_by_call, final_call_too_early, final_reply, is_asked_for
from toolreel_core._loop.finish import counted_reply, settle
from toolreel_core._loop.next_endpoint import goes_on
from toolreel_core._loop.next_request import send_next_request, wait, wants_call
from toolreel_core._loop.tool_calls import is_final, run_calls
from toolreel_core._plan import ANSWER, instruction
from toolreel_core._protocol import (
    AwaitingReply,
    CallsIgnored,
    CapabilityRefused,
    ContentStripped,
    IgnoreReason,
    Note,
    OutputCalled,
    QuirkApplied,
    RepairApplied,
    ReplyRead,
    ReplyReceived,
    RequestFailed,
    RequestLost,
    State,
    Step,
    ToolsDropped,
    TransportFailed,
    UpstreamPinned,
)
from toolreel_core._replies import (
    ArgumentError,
    Problem,
    Reply,
    ToolCall,
    WarningCode,
    failed_generation,
    is_out_of_quota,
    is_stream,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._tools import ToolDefinition, shown
from toolreel_core._transforms import apply_all

if TYPE_CHECKING:
    from toolreel_core._text_calls import Made


# Parse a response body into a ``Reply``: join a stream, apply transforms, normalise.
#
# The order is fixed: transforms are written for a whole response body, so a stream is joined first, and
# ``normalize_reply`` then reads what they leave.


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


_RETRYABLE_STATUSES: Final = frozenset({408, 429, *range(500, 600)})
_REFUSALS_AS_FAILURE: Final = (
    "tools param requires --jinja flag",  # llama.cpp: containers/ramalama#988, defilantech/LLMKube#126
    "unsupported param: tools",  # llama.cpp before it: ggml-org/llama.cpp#10920
    "unsupported tool_call_parser",  # RooCodeInc/Roo-Code#10259
)
"""Messages with which servers reject tools with status 500. A retry cannot help: the server lacks a flag."""

_REFUSALS: Final = (
    "no endpoints found that support tool use",  # OpenRouter: zed-industries/zed#36094
    "does not support tool",  # Ollama: ollama/ollama#6027, ollama/ollama#14795
    "doesn't support tool",  # Bedrock: langchain-ai/langchain-aws#447
    "does not support function call",  # DeepSeek: dnakov/anon-kode#10
    "function calling not support",  # Novita: hotovo/aider-desk#86
    "requires --enable-auto-tool-choice",  # vLLM: langchain4j/langchain4j#3475
    "requires --tool-call-parser",  # vLLM, where a call is demanded: vllm-project/vllm#55754
    "tools are not supported",
    "tools is not supported",  # OpenAI: sbintuitions/flexeval#242
    "tool use is not supported",
    "tool call is not supported",  # Alibaba: spring-ai-alibaba/website#39
    "function call is not supported",  # labring/FastGPT#4031
    "unsupported parameter: 'tools'",
    *_REFUSALS_AS_FAILURE,
)
"""Messages with which servers reject tools, in lower case, each with the thread that shows it."""

_REFUSED_OPTION: Final = "tool_choice"
"""Searched in the message only: the body of a validation error repeats the whole request, with this key."""


def retryable(failure: RequestFailed) -> bool:
    """Whether the same request may succeed later: the server's word first, then the status."""
    match failure.failure:
        case "connect" | "timeout" | "broken":
            return True
        case "too_large":
            return False
        case "status":
            if failure.should_retry is False or is_out_of_quota(failure.body):
                return False
            return failure.should_retry or failure.status in _RETRYABLE_STATUSES
        case _:
            assert_never(failure.failure)


def refuses_tools(failure: RequestFailed) -> bool:
    """Whether the server rejected the request because of its tools."""
    if failure.failure != "status":
        return False
    message = failure.message.lower()
    text = f"{message}\n{failure.body.lower()}"
    if failure.status in {400, 404, 422}:
        return _REFUSED_OPTION in message or any(refusal in text for refusal in _REFUSALS)
    return failure.status == 500 and any(refusal in text for refusal in _REFUSALS_AS_FAILURE)


_CONSTRAINTS: Final = ("response_format", "json_schema", "structured_output", "guided_json", "grammar")
"""Words in the messages with which servers reject a constraint of decoding, in lower case."""


def refuses_constraint(failure: RequestFailed) -> bool:
    """Whether the server rejected the request because of what constrains its decoding.

    Searched in the message only: the body of a validation error repeats the whole request.
    """
    rejected = failure.failure == "status" and failure.status in {400, 422, 501}
    return rejected and any(word in failure.message.lower() for word in _CONSTRAINTS)


def delay_ms(
    config: LoopConfig, *, seed: int, ref: int, attempt: int, retry_after_ms: int | None
) -> int | None:
    """Milliseconds before the next attempt; ``None`` if Retry-After exceeds ``retry_cap_ms``.

    Exponential backoff, half of it jitter. The jitter is a hash of seed, ref and attempt instead of a random
    number, so that a replay waits equally long.

    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, retry_after_ms=None)
    803
    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, retry_after_ms=5_000)
    5000

    :param attempt: the attempt that failed, counted from 1
    """
    if retry_after_ms is not None and retry_after_ms > config.retry_cap_ms:
        return None
    backoff = min(config.retry_cap_ms, config.retry_base_ms << (attempt - 1))
    fraction = int(digest(f"{seed}:{ref}:{attempt}")[:8], 16) / 0xFFFFFFFF
    return max(retry_after_ms or 0, backoff // 2 + round(backoff / 2 * fraction))


_SAMPLE: Final = 200
"""Characters of dropped text that its note shows."""
_TRUNCATED: Final = ArgumentError("ARGUMENTS_TRUNCATED")


def reply_received(state: State, phase: AwaitingReply, event: ReplyReceived) -> Step:
    """Handle a response with status 2xx.

    Leads to ``AwaitingTools``, ``AwaitingApproval`` or ``AwaitingReply`` if the reply has tool calls; to
    ``Settled`` or ``AwaitingReply`` (a nudge, or a turn that the server has paused) if it has none; to
    ``Waiting`` if it is a retryable error.
    """
    parsed = received(event.body, state)
    reply = parsed.reply
    counted = counted_reply(state, reply)
    notes = _notes_of_reply(state.tally.turns, parsed)
    # Gateways report overload and rate limits with status 200 and an error object in the body. Retry-After
    # belongs to RequestFailed, so there is none here.
    if reply.problem is not None and reply.problem.passing:
        ms = retry_delay(counted, phase, None)
        if ms is not None:
            return wait(counted, phase, ms, notes)
    pinned, found = _pin_upstream(counted, reply)
    return _continue_with(pinned, phase, reply, (*notes, *found))


def request_failed(state: State, phase: AwaitingReply, event: RequestFailed) -> Step:
    """Handle a request without a usable response.

    Leads to ``Waiting`` if the failure is retryable, to ``AwaitingReply`` without tools if the server rejects
    tools and ``fallback_without_tools`` is on, else to ``Settled`` with ``transport`` or ``capability``.
    An error body that holds the model's turn is handled like a reply.
    """
    # The order matters. A rejected turn is answered by the model, so it must not be retried blindly; and
    # some servers reject tools with status 500, which would be retryable.
    turn = state.tally.turns
    lost = RequestLost(turn, event.failure, event.status, event.retry_after_ms)
    if reply := salvaged(event.body, state):
        counted = counted_reply(state, reply)
        return _continue_with(counted, phase, reply, (lost, *_notes_of_reply(turn, Received(reply))))
    constrained = phase.tools_sent and state.present.constrains_calls and wants_call(state)
    if constrained and refuses_constraint(event):
        refused = (
            f"{event.message} (the server does not take constrained_calls="
            f"{state.present.config.constrained_calls!r}; write another form, or constrained_calls='off')"
        )
        return settle(state, CapabilityRefused(refused), (lost,))
    if phase.tools_sent and refuses_tools(event):
        return _retry_without_tools(state, event, (lost,))
    ms = retry_delay(state, phase, event.retry_after_ms) if retryable(event) else None
    if ms is not None:
        return wait(state, phase, ms, (lost,))
    return settle(state, TransportFailed(event.failure, event.status, event.message), (lost,))


def _continue_with(state: State, phase: AwaitingReply, reply: Reply, notes: tuple[Note, ...]) -> Step:
    """Go where the reply leads: run its calls, or treat it as a final answer."""
    if reply.calls and not phase.tools_sent:
        return _drop_calls(state, reply, notes)
    if reply.calls:
        return _with_tool_calls(state, reply, notes, tools_sent=True)
    if reply.paused and reply.problem is None:
        # https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools: sent back as it came.
        paused = state.said(AssistantMessage(reply.content, extras=reply.carry))
        return send_next_request(paused, notes, tools=phase.tools_sent)
    return final_reply(state, reply, notes, tools_sent=phase.tools_sent)


def _pin_upstream(state: State, reply: Reply) -> tuple[State, tuple[UpstreamPinned, ...]]:
    """The state pinned to the upstream provider of the first reply, if ``pin_upstream`` is on.

    Thought signatures are valid at one upstream only: "Corrupted thought signature" (mastra-ai/mastra#23433).
    """
    upstream = reply.served.provider
    if not state.present.provider.pin_upstream or state.memory.upstream or not upstream or reply.problem:
        return state, ()
    memory = replace(state.memory, upstream=upstream)
    return replace(state, memory=memory), (UpstreamPinned(state.tally.turns, upstream),)


def _retry_without_tools(state: State, event: RequestFailed, notes: tuple[Note, ...]) -> Step:
    """The server rejects tools: leads to ``AwaitingReply`` without tools, or to ``Settled``."""
    config = state.present.config
    dropping = config.fallback_without_tools and config.tool_use_mode == "relaxed"
    # An endpoint that takes tools serves better than a run without them.
    if not dropping or goes_on(state, "capability"):
        return settle(state, CapabilityRefused(event.message), notes)
    turn = state.tally.turns
    memory = replace(state.memory, tools_dropped=True)
    # The model never saw the request, so the request without tools belongs to the same turn.
    dropped = replace(state, memory=memory, tally=replace(state.tally, turns=turn - 1))
    if state.present.output is not None and state.present.asked_by == "tool":
        dropped = dropped.said(UserMessage(instruction(state.present.output)))
    return send_next_request(dropped, (*notes, ToolsDropped(turn, event.message)))


def retry_delay(state: State, phase: AwaitingReply, retry_after_ms: int | None) -> int | None:
    """Milliseconds before the next attempt, or ``None`` if there is none."""
    config = state.present.config
    if phase.attempt >= config.max_tries:
        return None
    return delay_ms(
        config, seed=state.present.seed, ref=phase.ref, attempt=phase.attempt, retry_after_ms=retry_after_ms
    )


def _drop_calls(state: State, reply: Reply, notes: tuple[Note, ...]) -> Step:
    """Drop the calls of a reply to a request without tools, except those of the final tool."""
    finals = tuple(call for call in reply.calls if is_final(call, state.present))
    others = tuple(call for call in reply.calls if call not in finals)
    if finals:
        state, ignored = _calls_ignored(state, others, "tools_off")
        notes = (*notes, ignored) if others else notes
        return _with_tool_calls(state, replace(reply, calls=finals), notes, tools_sent=False)
    state, ignored = _calls_ignored(state, reply.calls, "tools_off")
    problem = reply.problem or (None if reply.content else Problem("EMPTY_RESPONSE"))
    return final_reply(state, replace(reply, calls=(), problem=problem), (*notes, ignored), tools_sent=False)


def _with_tool_calls(state: State, reply: Reply, notes: tuple[Note, ...], *, tools_sent: bool) -> Step:
    """Store the assistant message with its calls, and run them; one of the final tool alone is the answer."""
    calls = _usable_calls(state, reply)
    limit = state.present.calls_per_turn if len(calls) > 1 else None
    if reply.content:
        notes = (*notes, ContentStripped(state.tally.turns, len(reply.content), reply.content[:_SAMPLE]))
    if limit is not None and len(calls) > limit:
        is_set = state.present.config.max_tool_calls_per_turn is not None
        state, ignored = _calls_ignored(state, calls[limit:], "calls_per_turn" if is_set else "one_call")
        calls, notes = calls[:limit], (*notes, ignored)
    # The stored history keeps the model's ids; the projection sends a unique id for a repeated one.
    used_ids = state.messages.projection.used_ids
    repeated = [call for call in calls if call.id in used_ids]
    notes = (*notes, RepairApplied(state.tally.turns, "CALL_ID_REPEATED")) if repeated else notes
    # Calls go without the text beside them, which would leak into later turns.
    sent = tuple([SentCall(call.id, call.name, _arguments_to_send(call), call.carry) for call in calls])
    state, spec = state.said(AssistantMessage("", sent, reply.carry)), state.present.output
    if spec is None or not all(is_final(call, state.present) for call in calls):
        return run_calls(state, calls, notes)
    notes = (*notes, OutputCalled(state.tally.turns, len(calls)))
    nudge = final_call_too_early(state, spec, calls, notes) if tools_sent else None
    return nudge or answer_by_call(state, spec, calls, notes, tools_sent=tools_sent)


def _calls_ignored(
    state: State, calls: tuple[ToolCall, ...], why: IgnoreReason
) -> tuple[State, CallsIgnored]:
    tally = replace(state.tally, ignored_calls=state.tally.ignored_calls + len(calls))
    note = CallsIgnored(tally.turns, tuple(shown(call.name) for call in calls), why)
    return replace(state, tally=tally), note


def _notes_of_reply(turn: int, parsed: Received) -> tuple[Note, ...]:
    reply = parsed.reply
    usage, problem = reply.usage, "" if reply.problem is None else reply.problem.code
    reply_read = ReplyRead(
        turn, reply.finish, len(reply.calls), usage.prompt_tokens, usage.completion_tokens, problem
    )
    if not parsed.quirks and not reply.warnings:
        return (reply_read,)
    quirks = [QuirkApplied(turn, name) for name in parsed.quirks]
    return (*quirks, reply_read, *[RepairApplied(turn, code) for code in reply.warnings])


def _usable_calls(state: State, reply: Reply) -> tuple[ToolCall, ...]:
    """The calls of a reply; those of a truncated one are marked so, and are never executed.

    Even arguments that parse may be incomplete. Some servers report ``stop`` for a truncated reply, so one
    that used exactly the allowed output tokens counts as truncated (localharness#77, qwen-code#2021).
    """
    cap = state.present.bodies.output_cap
    if reply.finish != "length" and (cap is None or reply.usage.completion_tokens < cap):
        return reply.calls
    return tuple(replace(call, arguments=_TRUNCATED) for call in reply.calls)


def _arguments_to_send(call: ToolCall) -> str:
    """The arguments as the history sends them: verbatim if they are a JSON object, else repaired.

    Some providers reject arguments that were re-encoded. Arguments that could not be parsed become ``{}``,
    since llama.cpp answers them with status 500 (ggml-org/llama.cpp#25510); the tool message says what was
    wrong.
    """
    match call.arguments:
        case ArgumentError():
            return "{}"
        case JsonText() as arguments:
            if call.original == arguments or call.from_text:
                return arguments
            is_object = read(call.original).map(lambda tree: isinstance(tree, dict)).value_or(False)
            return call.original if is_object else arguments
        case _:
            assert_never(call.arguments)
