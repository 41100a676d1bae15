"""A request came back (``ReplyReceived``, ``RequestFailed``): tool calls, a final answer, or a failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from toolreel_core._conversation import (
    SUMMARIZE,
    AssistantMessage,
    Quotable,
    SentCall,
    ToolMessage,
    UserMessage,
    summary_message,
)
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    digest,
    list_at,
    parse,
    read_json,
    tree_at,
    value_or_failure,
)
from toolreel_core._loop.final_answer import (
    finish_or_ask_again,
    finish_with_final_calls,
    has_unread_call,
    is_empty_reply,
    is_requested_output,
)
from toolreel_core._loop.finish import settle, tally_with_reply, with_notes
from toolreel_core._loop.next_endpoint import has_next_endpoint, is_format_refusal
from toolreel_core._loop.next_request import (
    is_call_required,
    may_call_tools,
    request_effect,
    send_next_request,
    summary_draft,
    turn_number,
    wait_before_retry,
)
from toolreel_core._loop.tool_calls import is_final_tool_call, run_calls
from toolreel_core._plan import ANSWER, output_instruction
from toolreel_core._protocol import (
    AwaitingReply,
    CallsIgnored,
    CapabilityRefused,
    ContentStripped,
    HistorySummarized,
    IgnoreReason,
    QuirkApplied,
    RepairApplied,
    ReplyRead,
    ReplyReceived,
    RequestFailed,
    RequestLost,
    State,
    Step,
    SummaryRejected,
    ToolsDropped,
    TransportFailed,
    UpstreamPinned,
)
from toolreel_core._replies import (
    ArgumentError,
    Problem,
    Reply,
    ToolCall,
    Usage,
    WarningCode,
    failed_generation_text,
    is_out_of_quota,
    is_stream,
    normalize_reply,
    without_thoughts,
)
from toolreel_core._settings import LoopConfig, WireForm, apply_transforms, neutralize_control_tokens
from toolreel_core._tools import shortened_name

if TYPE_CHECKING:
    from toolreel_core._text_calls import Made


# Parse a response body into a ``Reply``: join a stream, apply transforms, normalise.
#
# The order is fixed: transforms are written for a whole response body, so a stream is joined first, and
# ``normalize_reply`` then reads what they leave.


_FAILED = '{"ok":false'
"""The beginning of a result that failed, in each of the formats of results."""


class Received(NamedTuple):
    reply: Reply
    quirks: tuple[str, ...]


def parse_reply_body(body: str, state: State) -> Received:
    """Parse a response body with the settings and the history of a run.

    What can't be read in the form of the provider may be in another one: a run that was forked from one form
    to another keeps its replies, and some gateways answer in the form of their upstream
    (Wei-Shaw/claude-relay-service#1014).
    """
    form = state.present.provider.wire_form
    found = _parse_reply(body, state, form)
    if found.reply.problem is None:
        return found
    from toolreel_core._replies import wire_form_of_body  # noqa: PLC0415 - as below

    other = wire_form_of_body(body)
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
    changed, quirks = transform_reply_body(joined, plan.config)
    reply = _whole_json_reply(changed, state)
    if reply is None:
        # A page that a tool fetched may contain a call in text. If the model quotes it, it must not run, not
        # even from a summary.
        summarized = state.messages.kept if SUMMARIZE in plan.config.history_policies else None
        reply = normalize_reply(
            changed,
            tools=plan.callable_tools,
            config=plan.reading,
            turn=state.tally.turns,
            earlier=Quotable(state.messages.messages, summarized) if plan.reading.text_dialects else (),
            made=_succeeded_call_check(state) if plan.reading.text_dialects else None,
        )
    if plan.answer_tool is not None:
        reply = _reply_with_answer_call_as_text(reply, plan.answer_tool.name)
    if repairs:
        reply = replace(reply, warnings=(*repairs, *reply.warnings))
    if carry is not NOTHING:
        reply = replace(reply, carry=carry)
    if paused:  # the server has not finished: the reply may be empty, for its own tools are at work
        reply = replace(
            reply, paused=not reply.calls, problem=None if is_empty_reply(reply) else reply.problem
        )
    return Received(reply, quirks)


def _reply_with_answer_call_as_text(reply: Reply, name: str) -> Reply:
    """The reply whose call of the answer tool, if it has one, is its text; other calls come first."""
    answers = [call for call in reply.calls if call.name == name]
    if not answers:
        return reply
    if others := tuple(call for call in reply.calls if call.name != name):
        return replace(reply, calls=others, warnings=(*reply.warnings, "ANSWER_BESIDE_CALLS"))
    arguments = answers[0].arguments
    text = as_tree(parse(arguments)).get(ANSWER) if isinstance(arguments, JsonText) else ""
    content = text if isinstance(text, str) else ""
    problem = reply.problem or (None if content.strip() else Problem("EMPTY_RESPONSE"))
    codes = [code for code in reply.warnings if code != "TEXT_CALL_READ"]
    finish = "stop" if reply.finish == "tool_calls" else reply.finish
    return replace(reply, calls=(), content=content, finish=finish, problem=problem, warnings=tuple(codes))


def _whole_json_reply(body: Json, state: State) -> Reply | None:
    """The reply whose whole text is the JSON that was asked for: its strings may hold the markup of calls."""
    plan = state.present
    # A constrained reply is JSON, too, but of a call, which a dialect has to read.
    if plan.output is None or not plan.config.text_dialects or plan.constrains_calls:
        return None
    config = replace(plan.config, text_dialects=())
    reply = normalize_reply(body, tools=plan.callable_tools, config=config, turn=state.tally.turns)
    answers = not reply.calls and reply.problem is None and is_requested_output(plan, reply.content)
    return reply if answers else None


def reply_in_error_body(body: str, state: State) -> Reply | None:
    """The model's turn from an error body, or ``None``.

    Servers reject a tool call that they cannot parse. Groq returns the model's text as
    ``failed_generation``. It may still hold a call that text dialects can parse; if not, the reply has the
    problem ``MALFORMED_FUNCTION_CALL``.
    """
    text = failed_generation_text(body)
    if text is None:
        return None
    message: Tree = {"role": "assistant", "content": text}
    reply, _ = parse_reply_body(
        canonical({"choices": [{"message": message, "finish_reason": "stop"}]}), state
    )
    problem = None if reply.calls else Problem("MALFORMED_FUNCTION_CALL", text)
    return replace(reply, problem=problem, warnings=(*reply.warnings, "FAILED_GENERATION_READ"))


def _succeeded_call_check(state: State) -> Made:
    """Whether a call has succeeded in the present exchange; read from the history only if it is asked."""
    inner, calls = state.present.tools.inner_name, list[tuple[str, Json]]()

    def made(name: str, given: Json) -> bool:
        calls.extend(() if calls else _succeeded_calls(state))
        return (inner(name), given) in calls

    return made


def _succeeded_calls(state: State) -> Iterator[tuple[str, Json]]:
    """The calls of the present exchange that have succeeded, by the inner names of their tools."""
    # Backwards, since results stand behind their calls. Ids are forgotten at each turn: models repeat them.
    turns, succeeded = state.tally.turns - state.exchange_began.turns, set[str]()
    for message in reversed(state.messages.messages):
        if isinstance(message, ToolMessage) and not message.content.startswith(_FAILED):
            succeeded.add(message.call_id)
        elif isinstance(message, AssistantMessage):
            if turns <= 0:
                return
            turns -= 1
            for call in message.calls:
                if call.id in succeeded:
                    yield (
                        state.present.tools.inner_name(call.name),
                        value_or_failure(read_json(call.arguments)),
                    )
            succeeded.clear()


def transform_reply_body(body: Json, config: LoopConfig) -> tuple[Json, tuple[str, ...]]:
    """The body after the plan's transforms; ``normalize_reply`` handles one that is not a JSON object."""
    if not config.response_transforms and not config.tool_call_transforms:
        return body, ()
    tree = value_or_failure(read_json(body).alt(lambda _: None)) if isinstance(body, str) else body
    if not isinstance(tree, Mapping):
        return body, ()
    response, quirks = apply_transforms("response", config.response_transforms, tree)
    choices = list_at(response, "choices")
    first = as_tree(choices[0]) if choices else {}
    message, calls, changed = tree_at(first, "message"), list[Json](), dict[str, None]()
    for call in list_at(message, "tool_calls"):
        transforms = config.tool_call_transforms if isinstance(call, Mapping) else ()
        applied = apply_transforms("tool_call", transforms, as_tree(call))
        calls.append(applied.tree if transforms else call)
        changed |= dict.fromkeys(applied.changed)
    if not changed:
        return response, quirks
    whole = [{**first, "message": {**message, "tool_calls": calls}}, *choices[1:]]
    return {**response, "choices": whole}, tuple(dict.fromkeys((*quirks, *changed)))


# A timeout, a rate limit and failures of the server itself may pass.
_RETRYABLE_STATUSES = frozenset({408, 429, *range(500, 600)})
_REFUSALS_AS_FAILURE = (
    "tools param requires --jinja flag",  # llama.cpp: containers/ramalama#988, defilantech/LLMKube#126
    "unsupported param: tools",  # llama.cpp before it: ggml-org/llama.cpp#10920
    "unsupported tool_call_parser",  # RooCodeInc/Roo-Code#10259
)
"""Messages with which servers reject tools with status 500. A retry cannot help: the server lacks a flag."""

_REFUSALS = (
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

_REFUSED_OPTION = "tool_choice"
"""Searched in the message only: the body of a validation error repeats the whole request, with this key."""


def _is_retryable(failure: RequestFailed) -> bool:
    """Whether the same request may succeed later: the server's word first, then the status."""
    if failure.failure != "status":
        # The same request would most likely get a response of the same size.
        return failure.failure != "too_large"
    may_retry = failure.should_retry is not False and not is_out_of_quota(failure.body)
    return may_retry and (failure.should_retry or failure.status in _RETRYABLE_STATUSES)


def refuses_tools(failure: RequestFailed) -> bool:
    if failure.failure != "status":
        return False
    message = failure.message.lower()
    text = f"{message}\n{failure.body.lower()}"
    if failure.status in {400, 404, 422}:
        return _REFUSED_OPTION in message or any(refusal in text for refusal in _REFUSALS)
    return failure.status == 500 and any(refusal in text for refusal in _REFUSALS_AS_FAILURE)


def backoff_ms(config: LoopConfig, seed: int, ref: int, attempt: int) -> int:
    """Milliseconds before the next attempt: exponential backoff, half of it jitter.

    The jitter is a hash of seed, ref and attempt instead of a random number, so that a replay waits equally
    long.

    :param attempt: the attempt that failed, counted from 1
    """
    backoff = min(config.retry_cap_ms, config.retry_base_ms << (attempt - 1))
    fraction = int(digest(f"{seed}:{ref}:{attempt}")[:8], 16) / 0xFFFFFFFF
    return backoff // 2 + round(backoff / 2 * fraction)


_SAMPLE = 200
"""Characters of dropped text that its note shows."""
_TRUNCATED = ArgumentError("ARGUMENTS_TRUNCATED")


def handle_reply_received(state: State, phase: AwaitingReply, event: ReplyReceived) -> Step:
    """Handle a response with status 2xx.

    Leads to ``AwaitingTools``, ``AwaitingApproval`` or ``AwaitingReply`` if the reply has tool calls; to
    ``Settled`` or ``AwaitingReply`` (a nudge, a turn that the server has paused, or the turn that a summary
    was made for) if it has none; to ``Waiting`` if it is a retryable error.
    """
    reply, quirks = parse_reply_body(event.body, state)
    counted = _with_reply_counted(state, phase, reply, quirks)
    # Gateways report overload and rate limits with status 200 and an error object in the body. Retry-After
    # belongs to RequestFailed, so there is none here.
    if reply.problem is not None and reply.problem.passing:
        ms = _retry_delay(counted, phase, None)
        if ms is not None:
            return wait_before_retry(counted, phase, ms)
    if phase.purpose == "summary":
        return _apply_summary(counted, phase, reply)
    upstream = reply.served.provider
    pins = state.present.provider.pin_upstream and not state.memory.upstream and not reply.problem
    if pins and upstream:
        # Thought signatures are valid at one upstream only: "Corrupted thought signature"
        # (mastra-ai/mastra#23433).
        pinned = replace(counted, memory=replace(state.memory, upstream=upstream))
        counted = with_notes(pinned, UpstreamPinned(state.tally.turns, upstream))
    return _handle_reply(counted, reply)


def handle_request_failed(state: State, phase: AwaitingReply, event: RequestFailed) -> Step:
    """Handle a request without a usable response.

    Leads to ``Waiting`` if the failure is retryable, to ``AwaitingReply`` without tools if the server rejects
    tools and ``fallback_without_tools`` is on, else to ``Settled`` with ``transport`` or ``capability``.
    An error body that holds the model's turn is handled like a reply; without a summary, the turn follows.
    """
    # The order matters. A rejected turn is answered by the model, so it must not be retried blindly; and
    # some servers reject tools with status 500, which would be retryable.
    is_turn, turn = phase.purpose == "turn", turn_number(state.tally, phase)
    state = with_notes(state, RequestLost(turn, event.failure, event.status, event.retry_after_ms))
    if is_turn and (reply := reply_in_error_body(event.body, state)):
        return _handle_reply(_with_reply_counted(state, phase, reply), reply)
    constrained = is_turn and phase.tools_sent and state.present.constrains_calls and is_call_required(state)
    if constrained and is_format_refusal(event.failure, event.status, event.message):
        hint = "the server does not take constrained_calls='response_format'; write constrained_calls='off'"
        return settle(state, CapabilityRefused(f"{event.message} ({hint})"))
    if is_turn and phase.tools_sent and refuses_tools(event):
        return _retry_without_tools(state, event)
    ms = _retry_delay(state, phase, event.retry_after_ms) if _is_retryable(event) else None
    if ms is not None:
        return wait_before_retry(state, phase, ms)
    if not is_turn:
        return _go_on_without_summary(state, phase, "request_failed", Usage())
    return settle(state, TransportFailed(event.failure, event.status, event.message))


# The reply to a request for a summary: taken into what is sent, or not, and then the next turn.
#
# At most one summary is asked for before a turn, however often its request is retried. If none comes of it,
# the next history policies shorten the history; without one that does, the run ends as it would without.


def _apply_summary(state: State, phase: AwaitingReply, reply: Reply) -> Step:
    draft, before, usage = summary_draft(state, tools=phase.tools_sent), state.messages, reply.usage
    text = without_thoughts(reply.content).strip()
    if state.present.provider.special_token_guard:
        text = neutralize_control_tokens(text)
    cap, why = request_effect(state, phase).request.options.output_cap, ""
    if reply.calls or has_unread_call(reply, state.present):
        why = "tool_calls"
    elif reply.problem is not None or not text:
        why = "EMPTY_RESPONSE" if reply.problem is None else reply.problem.code
    elif _is_truncated(reply, cap):
        why = "TRUNCATED"
    elif draft.cost(summary_message(text)) * 4 > draft.tokens * 3:
        # One that takes more than three quarters of what it stands for saves too little.
        why = "too_long"
    if why:
        return _go_on_without_summary(state, phase, why, usage)
    sent = (*draft.before, summary_message(text), *draft.after)
    after = before.shortened(sent)
    note = HistorySummarized(
        turn_number(state.tally, phase),
        len(before.outgoing),
        len(sent),
        before.tokens,
        after.tokens,
        usage.prompt_tokens,
        usage.completion_tokens,
        text[:_SAMPLE],
    )
    summarized = replace(with_notes(state, note), messages=after)
    return send_next_request(summarized, tools=phase.tools_sent, summarize=False)


def _go_on_without_summary(state: State, phase: AwaitingReply, why: str, usage: Usage) -> Step:
    note = SummaryRejected(turn_number(state.tally, phase), why, usage.prompt_tokens, usage.completion_tokens)
    return send_next_request(with_notes(state, note), tools=phase.tools_sent, summarize=False)


def _handle_reply(state: State, reply: Reply) -> Step:
    if reply.calls and not may_call_tools(state):
        return _drop_calls(state, reply)
    if reply.calls:
        return _store_and_run_calls(state, reply)
    if reply.paused and reply.problem is None:
        # https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools: sent back as it came.
        paused = state.said(AssistantMessage(reply.content, extras=reply.carry))
        return send_next_request(paused, tools=may_call_tools(state))
    return finish_or_ask_again(state, reply)


def _retry_without_tools(state: State, event: RequestFailed) -> Step:
    """The server rejects tools: leads to ``AwaitingReply`` without tools, or to ``Settled``."""
    config = state.present.config
    dropping = config.fallback_without_tools and config.tool_use_mode == "relaxed"
    # An endpoint that takes tools serves better than a run without them.
    if not dropping or has_next_endpoint(state, "capability"):
        return settle(state, CapabilityRefused(event.message))
    turn = state.tally.turns
    memory = replace(state.memory, tools_dropped=True)
    # The model never saw the request, so the request without tools belongs to the same turn.
    dropped = replace(state, memory=memory, tally=replace(state.tally, turns=turn - 1))
    if state.present.output is not None and state.present.asked_by == "tool":
        dropped = dropped.said(UserMessage(output_instruction(state.present.output)))
    return send_next_request(with_notes(dropped, ToolsDropped(turn, event.message)))


def _retry_delay(state: State, phase: AwaitingReply, retry_after_ms: int | None) -> int | None:
    config = state.present.config
    if phase.attempt >= config.max_tries or (retry_after_ms or 0) > config.retry_cap_ms:
        return None
    return max(retry_after_ms or 0, backoff_ms(config, state.present.seed, phase.ref, phase.attempt))


def _drop_calls(state: State, reply: Reply) -> Step:
    """Drop the calls of a reply to a request without tools, except those of the final tool."""
    finals = tuple(call for call in reply.calls if is_final_tool_call(call, state.present))
    others = tuple(call for call in reply.calls if call not in finals)
    if others:
        state = _with_calls_ignored(state, others, "tools_off")
    if finals:
        return _store_and_run_calls(state, replace(reply, calls=finals))
    problem = reply.problem or (None if reply.content else Problem("EMPTY_RESPONSE"))
    return finish_or_ask_again(state, replace(reply, calls=(), problem=problem))


def _store_and_run_calls(state: State, reply: Reply) -> Step:
    """Store the assistant message with its calls, and run them; one of the final tool alone is the answer."""
    calls = reply.calls
    if _is_truncated(reply, state.present.bodies.output_cap):
        # Even arguments that parse may be incomplete: never executed.
        calls = tuple(replace(call, arguments=_TRUNCATED) for call in calls)
    limit = state.present.calls_per_turn
    if reply.content:
        sample = reply.content[:_SAMPLE]
        state = with_notes(state, ContentStripped(state.tally.turns, len(reply.content), sample))
    if limit is not None and len(calls) > limit:
        is_set = state.present.config.max_tool_calls_per_turn is not None
        state = _with_calls_ignored(state, calls[limit:], "calls_per_turn" if is_set else "one_call")
        calls = calls[:limit]
    # The stored history keeps the model's ids; the projection sends a unique id for a repeated one.
    used_ids = state.messages.projection.used_ids
    if [call for call in calls if call.id in used_ids]:
        state = with_notes(state, RepairApplied(state.tally.turns, "CALL_ID_REPEATED"))
    # Calls go without the text beside them, which would leak into later turns.
    sent = tuple([SentCall(call.id, call.name, _arguments_to_send(call), call.carry) for call in calls])
    state, spec = state.said(AssistantMessage("", sent, reply.carry)), state.present.output
    if spec is None or not all(is_final_tool_call(call, state.present) for call in calls):
        return run_calls(state, calls)
    return finish_with_final_calls(state, spec, calls)


def _with_calls_ignored(state: State, calls: tuple[ToolCall, ...], why: IgnoreReason) -> State:
    tally = replace(state.tally, ignored_calls=state.tally.ignored_calls + len(calls))
    names = tuple(shortened_name(call.name) for call in calls)
    return replace(with_notes(state, CallsIgnored(tally.turns, names, why)), tally=tally)


def _with_reply_counted(
    state: State, phase: AwaitingReply, reply: Reply, quirks: tuple[str, ...] = ()
) -> State:
    turn, usage = turn_number(state.tally, phase), reply.usage
    problem, calls = "" if reply.problem is None else reply.problem.code, len(reply.calls)
    tokens = usage.prompt_tokens, usage.completion_tokens
    read = [ReplyRead(turn, reply.finish, calls, *tokens, problem)] if phase.purpose == "turn" else []
    applied = [QuirkApplied(turn, name) for name in quirks]
    repaired = [RepairApplied(turn, code) for code in reply.warnings]
    noted = (*state.noted, *applied, *read, *repaired)
    return replace(state, tally=tally_with_reply(state, reply), noted=noted)


def _is_truncated(reply: Reply, cap: int | None) -> bool:
    """Whether a reply ends before the model was done.

    Some servers report ``stop`` for a truncated reply, so one that used exactly the allowed output tokens
    counts as truncated (localharness#77, qwen-code#2021).
    """
    return reply.finish == "length" or (cap is not None and reply.usage.completion_tokens >= cap)


def _arguments_to_send(call: ToolCall) -> str:
    """The arguments as the history sends them: verbatim if they are a JSON object, else repaired.

    Some providers reject arguments that were re-encoded. Arguments that could not be parsed become ``{}``,
    since llama.cpp answers them with status 500 (ggml-org/llama.cpp#25510); the tool message says what was
    wrong.
    """
    arguments = call.arguments
    if isinstance(arguments, ArgumentError):
        return "{}"
    if call.original == arguments or call.from_text:
        return arguments
    return call.original if isinstance(value_or_failure(read_json(call.original)), Mapping) else arguments
