"""The next request: what it holds, a summary before it, and what the user says in the meantime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import NamedTuple, cast

from toolreel_core._conversation import (
    SUMMARIZE,
    Cost,
    Message,
    Transcript,
    UserMessage,
    apply_history_policies,
    conversation_passages,
    estimate_tokens_with_parts,
    is_summary,
    is_user_authored,
    parts_of_message,
    readable_content,
    split_for_summary,
    summary_message,
    summary_request_text,
    task_passages,
    write_message,
)
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    json_with_sorted_keys,
    parse,
)
from toolreel_core._loop.finish import exhausted_budget_outcome, exhausted_limit, settle, with_notes
from toolreel_core._plan import (
    OUTPUT_CAPS,
    Plan,
    Request,
    RequestOptions,
    answer_request_sentence,
    pin_to_upstream,
)
from toolreel_core._protocol import (
    AwaitingReply,
    Completed,
    ContextOverflow,
    DoneCall,
    ExchangeBegan,
    HistoryShortened,
    Memory,
    Note,
    OptionIgnored,
    Outcome,
    PresetsApplied,
    QuirkApplied,
    RequestSent,
    RetryPlanned,
    SchemaReduced,
    SendRequest,
    State,
    Step,
    SummaryRequested,
    Tally,
    TextCallsOff,
    ToolsWithheld,
    UserMessagesAdded,
    UserSpoke,
    Wait,
    Waiting,
)
from toolreel_core._replies import ToolCall
from toolreel_core._settings import LoopConfig, estimator

# What a weak model is told again: the task, the calls that have succeeded, and what to do next.
#
# It is put into a message of the user, never in a result, so that no tool can pretend to say it; and it has
# nothing in it but what the user asked for and what the model has called.


# Characters. Each request after a result carries the reminder, so it stays short whatever was said or called.
_LONGEST_TASK = 1_000
_LONGEST_CALL = 200
_MOST_CALLS = 12
"""How many calls the model is reminded of: the latest."""


def reminder_text(state: State) -> str:
    """What the next request reminds the model of, behind results; empty if they are not the latest."""
    plan = state.present
    if not plan.config.restate_task or not state.messages.complete().projection.after_result:
        return ""
    if plan.output is not None:
        request = answer_request_sentence(plan.output, plan.asked_by or "text")
        answer = f"{request[0].lower()}{request[1:]}"
    elif plan.answer_tool is not None:
        answer = f"call {plan.answer_tool.name} with your answer to the user."
    else:
        answer = "answer the user."
    # Measured on a model of 1.5B: without the question, it repeats a call that reads, or stops after one.
    missing = "Is a part of the task still to be done? If so, make the call for that part now."
    return f"{task_restatement(state)}\n{missing} If no part is left, {answer}"


def task_restatement(state: State) -> str:
    task = _current_task(state)
    known = [f"The task is: {task}"] if task else []
    done = [f"- {call.shown}" for call in state.memory.done[-_MOST_CALLS:]]
    heading = (
        "These calls have succeeded, so do not make them again:" if done else "No call has succeeded so far."
    )
    return "\n".join([*known, heading, *done])


def _current_task(state: State) -> str:
    if state.memory.task:
        return state.memory.task
    asked = [message for message in state.present.messages if isinstance(message, UserMessage)]
    return _shorten_text(asked[-1].content, _LONGEST_TASK) if asked else ""


def memory_with_task(state: State, said: tuple[UserMessage, ...]) -> Memory:
    """The memory after the user has spoken: at the head of an exchange the task, later a part of it."""
    if not remembers_calls(state.present.config):
        return state.memory
    # The plan has the task of the first exchange, so whatever the user says in it is a further part.
    begins_exchange = state.tally.turns == state.exchange_began.turns > 0
    earlier = () if begins_exchange else (_current_task(state),)
    words = "\n".join([text for text in (*earlier, *(message.content for message in said)) if text])
    return replace(state.memory, task=_shorten_text(words, _LONGEST_TASK))


def remembers_calls(config: LoopConfig) -> bool:
    return config.restate_task or config.repeated_effects == "refuse"


def memory_with_done_call(state: State, memory: Memory, call: ToolCall) -> Memory:
    tool = state.present.tools.by_name[call.name]
    key = _call_digest(tool.name, cast("JsonText", call.arguments))  # it succeeded, so they could be read
    if any(done.key == key for done in memory.done):
        return memory
    shown = _shorten_text(f"{tool.outward} {call.arguments}", _LONGEST_CALL)
    return replace(memory, done=(*memory.done, DoneCall(key, tool.name, shown)))


def is_repeated_side_effect(state: State, call: ToolCall, arguments: JsonText) -> bool:
    """Whether a call repeats an effect of the present exchange, which ``repeated_effects`` may refuse."""
    tool = state.present.tools.by_name[call.name]
    key = _call_digest(tool.name, arguments)
    return not (tool.read_only or tool.polling) and any(done.key == key for done in state.memory.done)


def _call_digest(name: str, arguments: JsonText) -> str:
    """The digest of a call, whatever the order of the keys in its arguments."""
    return chained_digest("", name, json_with_sorted_keys(parse(arguments)))


def _shorten_text(text: str, most: int) -> str:
    text = text.strip()
    if len(text) <= most:
        return text
    end = (most - 3) // 4
    return f"{text[: most - 3 - end]} … {text[-end:]}"


def memory_with_withheld_tool(state: State, memory: Memory, call: ToolCall, again: int) -> Memory:
    """The memory with the tool of a call among those withheld, or with none withheld.

    :param again: how many times in a row the call was repeated for nothing
    """
    # Only the constraint is narrower: ``tools`` stays as it is, so that prompt caches keep their prefix. The
    # tool is withheld, not the arguments, because the grammars of servers know no ``not``.
    tool, most = state.present.tools.by_name.get(call.name), state.present.config.withhold_repeated
    if tool is None or tool.polling or again < most:
        return replace(memory, withheld=()) if memory.withheld else memory
    return replace(memory, withheld=tuple(dict.fromkeys((*memory.withheld, tool.name))))


def withheld_tools(state: State) -> tuple[str, ...]:
    withheld = state.memory.withheld
    return withheld if withheld and state.present.constrains_calls else ()


# The context window: whether a request fits into it, and shortening the history until it does.
#
# Only what is sent is shortened, the stored history stays complete.


_MAX_NAMED = 3
"""How many of the largest parts a ``ContextOverflow`` names."""


def _estimated_tokens(state: State, options: RequestOptions) -> int:
    request = Request(state.present.model, state.messages, options, reminder_text(state))
    return request.sent.tokens + estimator(state.present.config.estimator)(options.text)


def _history_token_limit(state: State) -> int:
    config = state.present.config
    return (config.context_window_tokens or 0) - config.reserved_response_tokens


def _message_cost_function(state: State) -> Cost:
    """Measures each message of this conversation once, as it is sent."""
    form, tokens = state.messages.form, estimator(state.present.config.estimator)
    return cache(
        lambda message: estimate_tokens_with_parts(
            parts_of_message(message), write_message(message, form).text, tokens
        )
    )


_TARGET_PERCENT = 75
"""How full the window is after shortening. A full window would be shortened again in every
later turn, and each time the provider's prompt cache would be lost."""


def _apply_history_policies(state: State, options: RequestOptions, policies: tuple[str, ...]) -> State:
    """The state whose outgoing history fits the window, as far as these policies can make it."""
    limit, before, applied = _history_token_limit(state), state.messages, dict[str, None]()
    cost = _message_cost_function(state)
    # Policies measure stored messages. The message that is sent can be smaller (for example without its old
    # reasoning), so a policy may save less than it counted: repeat until it fits or nothing is saved.
    while (estimate := _estimated_tokens(state, options)) > limit:
        excess = estimate - limit * _TARGET_PERCENT // 100
        kept, effective = apply_history_policies(state.messages.outgoing, policies, excess, cost)
        shorter = state.messages.shortened(kept) if effective else state.messages
        if shorter.tokens >= state.messages.tokens:
            break
        state, applied = replace(state, messages=shorter), applied | dict.fromkeys(effective)
    after = state.messages
    if after is before:
        return state
    counts = len(before.outgoing), len(after.outgoing), before.tokens, after.tokens
    return with_notes(state, HistoryShortened(state.tally.turns + 1, tuple(applied), *counts))


# The request for a summary of old turns.
#
# It is computed from the state alone, so a resumed run asks for the same. The oldest turns are summarised,
# until what stays takes half of the window. Passages that are too long are cut in the request, so that it
# fits whatever the tools have returned.


_KEPT_PERCENT = 50
"""How full the window may be with what is not summarised."""
_SUMMARY_PERCENT = 25
"""How much of the window is for the summary itself; both together are the target of all policies."""
_LONGEST = 800
"""Words that a summary may have in any window."""
_SHORTEST = 200
"""Characters to which a passage is cut before others are left out."""
_LEFT_OUT = frozenset({
    "audio", "modalities", "output_config", "response_format", "stop", "stop_sequences", "stream",
    "stream_options", "text",
})  # fmt: skip
"""Options that are about the form of an answer, in the words of any wire form."""


class Draft(NamedTuple):
    """A history of which the old turns shall be summarised."""

    before: tuple[Message, ...]
    old: tuple[Message, ...]
    after: tuple[Message, ...]
    cost: Cost

    @property
    def tokens(self) -> int:
        return sum(map(self.cost, self.old))


def summary_draft(state: State, *, tools: bool) -> Draft:
    """The history of a state whose next turn does not fit, parted for a summary."""
    cost = _message_cost_function(state)
    estimate = _estimated_tokens(state, turn_options(state, tools=tools))
    excess = estimate - _history_token_limit(state) * _KEPT_PERCENT // 100
    return Draft(*split_for_summary(state.messages.outgoing, excess, cost), cost)


def _summary_fits(state: State, request: Request) -> bool:
    """Whether the request for a summary leaves room for the summary."""
    limit = _history_token_limit(state)
    tokens = request.messages.tokens + estimator(state.present.config.estimator)(request.options.text)
    return tokens <= limit - limit * _SUMMARY_PERCENT // 100


def summary_request(state: State, draft: Draft) -> Request:
    """The request for a summary; it fits the window unless the window is too small for any."""
    options, form = _summary_options(state), state.messages.form
    # Quoted as they were sent: a transform or a guard may have changed them.
    first = islice(filter(is_user_authored, state.messages.outgoing), 1)
    task = task_passages(conversation_passages(_messages_in_chat_form(state, first)))
    old = conversation_passages(_messages_in_chat_form(state, draft.old))
    length = max((len(passage.text) for passage in (*task, *old)), default=0)
    # Counted as two tokens a word.
    words = min(_LONGEST, max(1, _history_token_limit(state) * _SUMMARY_PERCENT // 100 // 2))
    while True:
        text = summary_request_text(task, old, length, words)
        request = Request(state.present.model, Transcript.of([UserMessage(text)], form), options)
        if _summary_fits(state, request) or (length <= _SHORTEST and len(old) <= 1):
            return request
        if length > _SHORTEST:
            length = max(length * 3 // 4, _SHORTEST)
        else:
            # Without a quarter: the oldest but the first, which may be the earlier summary.
            old = (old[0], *old[1 + max(1, len(old) // 4) :])


def _messages_in_chat_form(state: State, messages: Iterable[Message]) -> Iterator[Tree]:
    """The messages as they are sent, but as chat completions, whatever form the server speaks."""
    form = state.messages.form
    chat = replace(form, provider=replace(form.provider, wire_form="chat_completions"))
    return (as_tree(parse(text)) for text in Transcript.of(messages, chat).complete().texts)


def _summary_options(state: State) -> RequestOptions:
    """The plan's options for a request without tools, as far as they suit a text that nobody is shown."""
    room, kept = _history_token_limit(state) * _SUMMARY_PERCENT // 100, dict[str, Json]()
    for key, value in as_tree(parse(state.present.bodies.dropped.text)).items():
        if key in OUTPUT_CAPS and isinstance(value, int) and 0 < value < room:
            # A limit for short answers would cut the summary, which is then of no use.
            kept[key] = room
        elif key not in _LEFT_OUT:
            kept[key] = value
    options = RequestOptions(canonical(kept))
    return pin_to_upstream(options, state.memory.upstream) if state.memory.upstream else options


_SAMPLE = 200
"""Characters of what the user said that its note shows."""


def opening_notes(plan: Plan) -> tuple[Note, ...]:
    bodies = plan.bodies
    tools_unsent = bool(plan.tools.names) and not plan.sends_tools and plan.config.tool_use_mode != "disabled"
    choice_unsent = _requires_first_call(plan) and not plan.provider.requires_calls() and not tools_unsent
    unsent = ["tools"] * tools_unsent + ["tool_choice"] * choice_unsent
    return (
        *([PresetsApplied(plan.presets)] if plan.presets else []),
        *[OptionIgnored(one.key, one.why) for one in bodies.ignored],
        *[OptionIgnored(key, "unsupported") for key in unsent],
        *[SchemaReduced(tool.outward, tool.left_out) for tool in plan.tools.definitions if tool.left_out],
        *([TextCallsOff()] if plan.offers_tools and not plan.config.text_dialects else []),
        *[QuirkApplied(1, name) for name in bodies.quirks],
    )


def send_next_request(state: State, *, tools: bool = True, summarize: bool = True) -> Step:
    """Start a new turn: send the conversation to the model, or end the run at one of its limits.

    Leads to ``AwaitingReply``, also for a summary that the turn needs, or to ``Settled`` with ``max_turns``,
    ``budget`` or ``context_overflow``.

    :param tools: whether the model may call tools in this turn
    :param summarize: whether a summary may be asked for first; once a turn is enough, unless the user speaks
    """
    tools = tools and not state.memory.tools_dropped and state.present.sends_tools
    # The calls of the last turn have run: their results make the history valid, so that it can go on.
    if limit := exhausted_limit(state):
        return settle(state, limit)
    turn = state.tally.turns + 1
    if said := state.unsent:
        samples = tuple([readable_content(message)[:_SAMPLE] for message in said])
        memory = memory_with_task(state, said)
        state = replace(state.said(*said), unsent=(), memory=memory)
        state, summarize = with_notes(state, UserMessagesAdded(turn, samples)), True
    if tools and (withheld := withheld_tools(state)):
        state = with_notes(state, ToolsWithheld(turn, withheld))
    if state.present.config.context_window_tokens is not None:
        fitted = _fit_window(state, tools=tools, summarize=summarize)
        if isinstance(fitted, Step):
            return fitted
        state = fitted
    return _send_request(state, AwaitingReply(state.next_ref, 1, tools), state.tally.counted(turns=1))


def _fit_window(state: State, *, tools: bool, summarize: bool) -> Step | State:
    """The state whose request fits the window; or the step that asks for a summary, or that ends the run."""
    # Shorten before judging the overflow: a history policy may make the request fit.
    policies, options = state.present.config.history_policies, turn_options(state, tools=tools)
    if SUMMARIZE in policies:
        # A summary costs a request, so it is asked for only where the policies before it do not suffice.
        at = policies.index(SUMMARIZE)
        state, policies = _apply_history_policies(state, options, policies[:at]), policies[at + 1 :]
        estimate = _estimated_tokens(state, options)
        if summarize and estimate > _history_token_limit(state):
            draft = summary_draft(state, tools=tools)
            # The next turn with an empty summary: if even that does not fit, no summary helps.
            least = estimate - draft.tokens + draft.cost(summary_message(""))
            # A summary of the earlier summary alone would save nothing.
            is_new = not all(map(is_summary, draft.old))
            if (
                is_new
                and least <= _history_token_limit(state)
                and _summary_fits(state, summary_request(state, draft))
            ):
                return _send_request(state, AwaitingReply(state.next_ref, 1, tools, "summary"), state.tally)
    state = _apply_history_policies(state, options, policies)
    limit, estimate = _history_token_limit(state), _estimated_tokens(state, options)
    if estimate <= limit:
        return state
    sized = [(len(options.text.encode()), "tools and options")]
    for index, text in enumerate(state.messages.complete().texts):
        tree = as_tree(parse(text))
        role = tree.get("role") or tree.get("type")  # an item of Responses may have no role
        sized.append((len(text.encode()), f"message {index} ({role})"))
    sized.sort(key=lambda item: -item[0])
    largest = tuple(f"{name}: {size} bytes" for size, name in sized[:_MAX_NAMED])
    return settle(state, ContextOverflow(estimate, limit, largest))


def request_effect(state: State, phase: AwaitingReply) -> SendRequest:
    """The effect whose answer a phase waits for, computed from the state alone, also by a resumed run."""
    if phase.purpose == "summary":
        request = summary_request(state, summary_draft(state, tools=phase.tools_sent))
    else:
        options = turn_options(state, tools=phase.tools_sent)
        request = Request(state.present.model, state.messages, options, reminder_text(state))
    return SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)


def turn_number(tally: Tally, phase: AwaitingReply) -> int:
    """The turn that a request belongs to; one for a summary, to the turn that needs it."""
    return tally.turns if phase.purpose == "turn" else tally.turns + 1


def may_call_tools(state: State) -> bool:
    """Whether the model may call tools in the reply that is awaited."""
    return isinstance(state.phase, AwaitingReply) and state.phase.tools_sent


def turn_options(state: State, *, tools: bool) -> RequestOptions:
    plan, bodies = state.present, state.present.bodies
    if state.memory.tools_dropped:
        chosen = bodies.dropped
    elif not tools:
        chosen = bodies.without_tools
    elif _requires_first_call(plan) and plan.provider.requires_calls() and not state.memory.successes:
        chosen = bodies.requiring
    elif plan.constrains_calls and not is_call_required(state):
        chosen = bodies.unconstrained
    elif withheld := withheld_tools(state):
        chosen = plan.options_without(withheld)
    else:
        chosen = bodies.with_tools
    return pin_to_upstream(chosen, state.memory.upstream) if state.memory.upstream else chosen


def is_call_required(state: State) -> bool:
    """Whether the next reply has to be a call: by the mode, or because the model has begun one.

    Also if it gave a typed answer that does not fit, since a typed answer is a call too.

    A weak model that can write nothing but a call makes one, also for "What is two plus two?". No rule tells
    from the words of a task whether it needs a tool; but what the model answers in words, while its reply is
    free, needs none.
    """
    memory, enforced = state.memory, state.present.config.tool_use_mode == "enforced"
    return enforced or bool(memory.called) or memory.corrections + memory.outputs_rejected > 0


def _requires_first_call(plan: Plan) -> bool:
    return plan.config.require_first_call and plan.config.tool_use_mode == "enforced"


def resend_request(state: State, phase: Waiting) -> Step:
    """Retry the failed request.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``budget`` if the wait used up the time.
    """
    if limit := exhausted_budget_outcome(state):
        return settle(state, limit)
    retried = replace(phase.failed, ref=state.next_ref, attempt=phase.failed.attempt + 1)
    return _send_request(state, retried, state.tally)


def wait_before_retry(state: State, phase: AwaitingReply, ms: int) -> Step:
    """Pause before a retry. Leads to ``Waiting``."""
    ref, planned = state.next_ref, RetryPlanned(turn_number(state.tally, phase), phase.attempt, ms)
    waiting = replace(with_notes(state, planned), phase=Waiting(ref, ms, phase), next_ref=ref + 1)
    return Step(waiting, (Wait(ref, ms),))


def _send_request(state: State, phase: AwaitingReply, tally: Tally) -> Step:
    """Send the request that a phase waits for. Leads to ``AwaitingReply``.

    :param tally: the counters with its turn
    """
    effect, turn = request_effect(state, phase), turn_number(tally, phase)
    sent, digest = effect.request.sent, effect.request.digest
    note: Note = RequestSent(turn, sent.texts.count, sent.texts.size, digest, phase.attempt)
    if phase.purpose == "summary":
        old = len(summary_draft(state, tools=phase.tools_sent).old)
        note = SummaryRequested(turn, old, sent.texts.size, digest, phase.attempt)
    applied = [QuirkApplied(turn, name, sent.quirks[name]) for name in sorted(sent.quirks)]
    noted = (*state.noted, *applied, note)
    sending = replace(state, phase=phase, tally=tally, next_ref=phase.ref + 1, noted=noted)
    return Step(sending, (effect,))


# The user speaks: the next exchange after an end, or a message that waits for the next request.
#
# A conversation is one fold. What a message finds decides what it does:
#
# - After the end, it begins the next exchange: a new question with its own limits, on the same history.
# - While a request, tools or an approval are pending, it is kept in ``State.unsent`` and joins the next
#   request, after the results of the calls (steering).
# - If the answer was on its way already, the message begins the next exchange, as if the user had waited for
#   the answer. Any other end of the run is for the caller to see first: the message stays kept, and what the
#   user says next is sent after it.


def with_unsent_message(state: State, event: UserSpoke) -> State:
    """The state with the message among those that the next request sends."""
    return replace(state, unsent=(*state.unsent, UserMessage(event.content, event.parts)))


def begin_next_exchange(state: State) -> Step:
    """Begin the next exchange with what the user said.

    Leads to ``AwaitingReply``, or to ``Settled`` if a budget of the conversation is used up.
    """
    began = replace(state, memory=state.memory.for_next_exchange(), exchange_began=state.tally)
    if not state.messages.stored.count:
        # A run whose first messages no transform could take has none of them in its history.
        began = replace(began, messages=Transcript.of(state.present.opening, state.present.form))
    # A run that was cancelled before its first request has not said yet what it leaves out of its requests.
    opening = () if state.tally.turns else opening_notes(state.present)
    return send_next_request(with_notes(began, ExchangeBegan(state.tally.turns + 1), *opening))


def end_exchange(state: State, outcome: Outcome) -> Step:
    """End the run after a reply without calls; a complete answer goes on with what the user said meanwhile.

    Leads to ``Settled``, or on as :func:`begin_next_exchange` does.
    """
    ended = settle(state, outcome)
    goes_on = state.unsent and isinstance(outcome, Completed)
    return begin_next_exchange(ended.state) if goes_on else ended
