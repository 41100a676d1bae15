"""The next request: what it holds, a summary before it, and what the user says in the meantime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple, assert_never, cast

from toolreel_core._conversation import (
    SUMMARIZE,
    Cost,
    Form,
    Message,
    Parted,
    Passage,
    Transcript,
    Turn,
    UserMessage,
    as_task,
    is_question,
    is_summary,
    parted,
    passages,
    reduced,
    request_text,
    shown_content,
    summary_message,
    tokens_of,
    turns,
    written,
)
from toolreel_core._jsontext import Json, Tree, canonical, parse
from toolreel_core._loop.finish import exhausted_limit, settle, spent_budget
from toolreel_core._loop.weak_models import narrowed, reminder_of, with_task, withholding
from toolreel_core._plan import Plan, Request, RequestOptions, pinned
from toolreel_core._protocol import (
    AwaitingReply,
    Completed,
    ContextOverflow,
    ExchangeBegan,
    HistoryShortened,
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
    UserMessageKept,
    UserMessagesAdded,
    UserSpoke,
    Wait,
    Waiting,
)
from toolreel_core._settings import estimator

# The context window: whether a request fits into it, and shortening the history until it does.
#
# Only what is sent is shortened, the stored history stays complete.


_MAX_NAMED: Final = 3
"""How many of the largest parts a ``ContextOverflow`` names."""


def estimated_tokens(state: State, options: RequestOptions) -> int:
    """Estimated tokens of the next request: messages, tools and options."""
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    sent = Request(state.present.model, state.messages, options, reminder).sent
    return sent.tokens + estimator(state.present.config.estimator)(options.text)


def input_token_limit(state: State) -> int | None:
    """The maximum tokens of a request; ``None`` without ``context_window_tokens``."""
    window = state.present.config.context_window_tokens
    return None if window is None else window - state.present.config.reserved_response_tokens


def overflow(state: State, options: RequestOptions) -> ContextOverflow | None:
    """The outcome of a request that exceeds the context window; ``None`` if it fits."""
    limit = input_token_limit(state)
    if limit is None or (estimate := estimated_tokens(state, options)) <= limit:
        return None
    return ContextOverflow(estimate, limit, _largest_parts(state, len(options.text.encode())))


def _largest_parts(state: State, options_bytes: int) -> tuple[str, ...]:
    sized = [(options_bytes, "tools and options")]
    for index, text in enumerate(state.messages.complete().texts):
        tree = cast("Mapping[str, Json]", parse(text))
        role = tree.get("role") or tree.get("type")  # an item of Responses may have no role
        sized.append((len(text.encode()), f"message {index} ({role})"))
    sized.sort(key=lambda item: -item[0])
    return tuple(f"{name}: {size} bytes" for size, name in sized[:_MAX_NAMED])


_TARGET_PERCENT: Final = 75
"""How full the window is after shortening. A full window would be shortened again in every
later turn, and each time the provider's prompt cache would be lost."""


def fit_history(
    state: State, options: RequestOptions, policies: tuple[str, ...] | None = None
) -> tuple[State, tuple[HistoryShortened, ...]]:
    """The state whose outgoing history fits the window, as far as policies can make it.

    :param policies: their names; by default, those of the plan
    """
    limit, before, applied = input_token_limit(state), state.messages, dict[str, None]()
    names = state.present.config.history_policies if policies is None else policies
    # Policies measure stored messages. The message that is sent can be smaller (for example without its old
    # reasoning), so a policy may save less than it counted: repeat until it fits or nothing is saved.
    while limit is not None and estimated_tokens(state, options) > limit:
        excess = estimated_tokens(state, options) - limit * _TARGET_PERCENT // 100
        shorter, effective = _shorten_history(state, names, excess)
        if shorter.messages.tokens >= state.messages.tokens:
            break
        state, applied = shorter, applied | dict.fromkeys(effective)
    after = state.messages
    if after is before:
        return state, ()
    counts = len(before.outgoing), len(after.outgoing), before.tokens, after.tokens
    return state, (HistoryShortened(state.tally.turns + 1, tuple(applied), *counts),)


def _shorten_history(state: State, policies: tuple[str, ...], excess: int) -> tuple[State, tuple[str, ...]]:
    form, tokens = state.messages.form, estimator(state.present.config.estimator)
    kept, applied = reduced(
        tuple(state.messages.outgoing),
        policies,
        excess,
        lambda message: tokens_of(message, written(message, form).text, tokens),
    )
    return replace(state, messages=state.messages.shortened(kept)) if applied else state, applied


# The request for a summary of old turns.
#
# It is computed from the state alone, so a resumed run asks for the same. The oldest turns are summarised,
# until what stays takes half of the window. Passages that are too long are cut in the request, so that it
# fits whatever the tools have returned.


_KEPT_PERCENT: Final = 50
"""How full the window may be with what is not summarised."""
_SUMMARY_PERCENT: Final = 25
"""How much of the window is for the summary itself; both together are the target of all policies."""
_LONGEST: Final = 800
"""Words that a summary may have in any window."""
_SHORTEST: Final = 200
"""Characters to which a passage is cut before others are left out."""
_CAPS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_LEFT_OUT: Final = frozenset({
    "audio", "modalities", "response_format", "stop", "stop_sequences", "stream", "stream_options",
})  # fmt: skip
"""Options that are about the form of an answer, in the words of any wire form."""
_WITH_FORMAT: Final = ("text", "output_config")
"""Options of the other wire forms that have the format of an answer among others."""


class Draft(NamedTuple):
    """A history of which the old turns shall be summarised."""

    parted: Parted
    cost: Cost

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the summary stands for."""
        return _messages_of_turns(self.parted.old)

    @property
    def tokens(self) -> int:
        """Estimated tokens of these."""
        return sum(map(self.cost, self.messages))

    def with_summary(self, text: str) -> tuple[Message, ...]:
        """The messages that go out with this summary."""
        return (
            *_messages_of_turns(self.parted.before),
            summary_message(text),
            *_messages_of_turns(self.parted.after),
        )


def draft_of(state: State, options: RequestOptions) -> Draft:
    """The history of a state, parted for a summary.

    :param options: of the turn that does not fit
    """
    limit, form, tokens = _max_tokens(state), state.messages.form, estimator(state.present.config.estimator)

    def measure(message: Message) -> int:
        return tokens(written(message, form).text)

    cost: Callable[[Message], int] = cache(measure)
    excess = estimated_tokens(state, options) - limit * _KEPT_PERCENT // 100
    return Draft(parted(turns(state.messages.outgoing), excess, cost), cost)


def wanted_summary(state: State, options: RequestOptions) -> Request | None:
    """The request for a summary, if one can make the next request fit, else ``None``."""
    draft, limit = draft_of(state, options), _max_tokens(state)
    if all(map(is_summary, draft.messages)):
        return None
    least = estimated_tokens(state, options) - draft.tokens + draft.cost(summary_message(""))
    if least > limit:
        return None
    request = summary_request(state, draft)
    return request if _request_tokens(state, request) <= _max_tokens_of_summary_request(state) else None


def summary_request(state: State, draft: Draft) -> Request:
    """The request for a summary; it fits the window unless the window is too small for any."""
    options, form = _summary_options(state), state.messages.form
    # Quoted as they were sent: a transform or a guard may have changed them.
    first = next(filter(is_question, state.messages.outgoing), None)
    task = as_task(passages(_messages_as_sent((first,), form))) if first is not None else ()
    old: Sequence[Passage] = passages(_messages_as_sent(draft.messages, form))
    length = max((len(passage.text) for passage in (*task, *old)), default=0)
    words = min(_LONGEST, max(1, _max_tokens(state) * _SUMMARY_PERCENT // 100 // 2))
    while True:
        text = request_text(task, old, length, words)
        request = Request(state.present.model, Transcript.of([UserMessage(text)], form), options)
        if _request_tokens(state, request) <= _max_tokens_of_summary_request(state) or (
            length <= _SHORTEST and len(old) <= 1
        ):
            return request
        if length > _SHORTEST:
            length = max(length * 3 // 4, _SHORTEST)
        else:
            # Without a quarter: the oldest but the first, which may be the earlier summary.
            old = (old[0], *old[1 + max(1, len(old) // 4) :])


def _messages_as_sent(messages: Sequence[Message], form: Form) -> Iterator[Tree]:
    """The messages as they are sent, but as chat completions, whatever form the server speaks."""
    chat = replace(form, provider=replace(form.provider, wire_form="chat_completions"))
    return (cast("Tree", parse(text)) for text in Transcript.of(messages, chat).complete().texts)


def _summary_options(state: State) -> RequestOptions:
    """The plan's options for a request without tools, as far as they suit a text that nobody is shown."""
    tree = cast("Tree", parse(state.present.bodies.dropped.text))
    kept = {key: value for key, value in _without_answer_format(tree) if key not in _LEFT_OUT}
    room = _max_tokens(state) * _SUMMARY_PERCENT // 100
    # A limit for short answers would cut the summary, which is then of no use.
    raised = {key: room for key in _CAPS if isinstance(cap := kept.get(key), int) and 0 < cap < room}
    options = RequestOptions(canonical({**kept, **raised}))
    return pinned(options, state.memory.upstream) if state.memory.upstream else options


def _without_answer_format(options: Tree) -> Iterator[tuple[str, Json]]:
    """The options without a format of the answer among those that have others too."""
    for key, value in options.items():
        if key not in _WITH_FORMAT or not isinstance(value, Mapping):
            yield key, value
        elif rest := {name: one for name, one in value.items() if name != "format"}:
            yield key, rest


def output_cap(request: Request) -> int | None:
    """Tokens after which the summary is cut, if the request says so."""
    tree = parse(request.options.text)
    caps = [tree.get(key) for key in _CAPS] if isinstance(tree, Mapping) else []
    return next((cap for cap in caps if isinstance(cap, int) and cap > 0), None)


def _max_tokens(state: State) -> int:
    """The maximum tokens of a request; the policy is of no use without."""
    return input_token_limit(state) or 0


def _max_tokens_of_summary_request(state: State) -> int:
    """The maximum tokens of the request for a summary: it leaves room for the summary."""
    return _max_tokens(state) - _max_tokens(state) * _SUMMARY_PERCENT // 100


def _request_tokens(state: State, request: Request) -> int:
    return request.messages.tokens + estimator(state.present.config.estimator)(request.options.text)


def _messages_of_turns(some: Sequence[Turn]) -> tuple[Message, ...]:
    return tuple(message for turn in some for message in turn.messages)


_SAMPLE: Final = 200
"""Characters of what the user said that its note shows."""


def opening_notes(plan: Plan) -> tuple[Note, ...]:
    """Notes about the requests of a run that are known before the first one is sent."""
    bodies = plan.bodies
    ignored = (OptionIgnored(one.key, one.why) for one in bodies.ignored)
    quirks = (QuirkApplied(1, name) for name in bodies.quirks)
    presets = (PresetsApplied(plan.presets),) if plan.presets else ()
    unsent = (OptionIgnored(key, "unsupported") for key in _unsupported_keys(plan))
    unread = (TextCallsOff(),) if plan.offers_tools and not plan.config.text_dialects else ()
    reduced = (SchemaReduced(tool.outward, tool.left_out) for tool in plan.tools.definitions if tool.left_out)
    return (*presets, *ignored, *unsent, *reduced, *unread, *quirks)


def _unsupported_keys(plan: Plan) -> tuple[str, ...]:
    """Keys of the body that the configuration requires and the provider does not support."""
    tools_unsent = bool(plan.tools.names) and not plan.sends_tools and plan.config.tool_use_mode != "disabled"
    choice_unsent = _requires_call(plan) and not plan.provider.requires_calls()
    unsent_keys = {"tools": tools_unsent, "tool_choice": choice_unsent and not tools_unsent}
    return tuple(key for key, is_unsent in unsent_keys.items() if is_unsent)


def send_next_request(
    state: State, notes: tuple[Note, ...] = (), *, tools: bool = True, summarize: bool = True
) -> Step:
    """Start a new turn: send the conversation to the model, or end the run at one of its limits.

    Leads to ``AwaitingReply``, also for a summary that the turn needs, or to ``Settled`` with ``max_turns``,
    ``budget`` or ``context_overflow``.

    :param tools: whether the model may call tools in this turn
    :param summarize: whether a summary may be asked for first; once a turn is enough, unless the user speaks
    """
    # Shorten before judging the overflow: a history policy may make the request fit.
    tools = tools and not state.memory.tools_dropped and state.present.sends_tools
    # The calls of the last turn have run: their results make the history valid, so that it can go on.
    if limit := exhausted_limit(state):
        return settle(state, limit, notes)
    state, added = _with_queued_messages(state)
    notes, options = (*notes, *added), turn_options(state, tools=tools)
    if state.memory.withheld:
        notes = (*notes, *withholding(state, tools=tools))
    if state.present.config.context_window_tokens is not None:
        fitted = _fit_window(state, options, notes, tools=tools, summarize=summarize or bool(added))
        if isinstance(fitted, Step):
            return fitted
        state, notes = fitted
    phase = AwaitingReply(state.next_ref, 1, tools)
    return _send_request(state, phase, state.tally.counted(turns=1), options, notes)


def _fit_window(
    state: State, options: RequestOptions, notes: tuple[Note, ...], *, tools: bool, summarize: bool
) -> Step | tuple[State, tuple[Note, ...]]:
    """The state whose request fits the window; or the step that asks for a summary, or that ends the run."""
    policies = state.present.config.history_policies
    if SUMMARIZE in policies:
        # A summary costs a request, so it is asked for only where the policies before it do not suffice.
        at = policies.index(SUMMARIZE)
        state, shortened = fit_history(state, options, policies[:at])
        notes, policies = (*notes, *shortened), policies[at + 1 :]
        overflows = summarize and overflow(state, options) is not None
        if overflows and (request := wanted_summary(state, options)):
            return _ask_for_summary(state, AwaitingReply(state.next_ref, 1, tools, "summary"), request, notes)
    state, shortened = fit_history(state, options, policies)
    if overflowing := overflow(state, options):
        return settle(state, overflowing, (*notes, *shortened))
    return state, (*notes, *shortened)


def _with_queued_messages(state: State) -> tuple[State, tuple[UserMessagesAdded, ...]]:
    """The state with what the user has said since the last request in its history."""
    if not state.unsent:
        return state, ()
    samples = tuple([shown_content(message)[:_SAMPLE] for message in state.unsent])
    added = UserMessagesAdded(state.tally.turns + 1, samples)
    memory = with_task(state, state.unsent)
    return replace(state.said(*state.unsent), unsent=(), memory=memory), (added,)


def request_of(state: State, *, tools: bool) -> Request:
    """The request of a state, computed from the state alone; a resumed run builds the same one."""
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    return Request(state.present.model, state.messages, turn_options(state, tools=tools), reminder)


def request_effect(state: State, phase: AwaitingReply) -> SendRequest:
    """The effect whose answer a phase waits for."""
    match phase.purpose:
        case "turn":
            request = request_of(state, tools=phase.tools_sent)
        case "summary":
            options = turn_options(state, tools=phase.tools_sent)
            request = summary_request(state, draft_of(state, options))
        case _:
            assert_never(phase.purpose)
    return SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)


def turn_of(state: State, phase: AwaitingReply) -> int:
    """The turn that a request belongs to; one for a summary, to the turn that needs it."""
    return state.tally.turns if phase.purpose == "turn" else state.tally.turns + 1


def turn_options(state: State, *, tools: bool) -> RequestOptions:
    """The options of a turn's request."""
    plan, bodies = state.present, state.present.bodies
    if state.memory.tools_dropped:
        chosen = bodies.dropped
    elif not tools:
        chosen = bodies.without_tools
    elif _requires_call(plan) and plan.provider.requires_calls() and not state.memory.successes:
        chosen = bodies.requiring
    elif plan.constrains_calls and not wants_call(state):
        chosen = bodies.unconstrained
    else:
        chosen = narrowed(state, bodies.with_tools) if state.memory.withheld else bodies.with_tools
    return pinned(chosen, state.memory.upstream) if state.memory.upstream else chosen


def wants_call(state: State) -> bool:
    """Whether the next reply has to be a call: by the mode, or because the model has begun one.

    Also if it gave a typed answer that does not fit, since a typed answer is a call too.

    A weak model that can write nothing but a call makes one, also for "What is two plus two?". No rule tells
    from the words of a task whether it needs a tool; but what the model answers in words, while its reply is
    free, needs none.
    """
    memory, enforced = state.memory, state.present.config.tool_use_mode == "enforced"
    return enforced or bool(memory.called) or memory.corrections + memory.outputs_rejected > 0


def _requires_call(plan: Plan) -> bool:
    return plan.config.require_first_call and plan.config.tool_use_mode == "enforced"


def resend_request(state: State, phase: Waiting) -> Step:
    """Retry the failed request.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``budget`` if the wait used up the time.
    """
    if limit := spent_budget(state):
        return settle(state, limit)
    retried = replace(phase.failed, ref=state.next_ref, attempt=phase.failed.attempt + 1)
    if retried.purpose == "summary":
        return _ask_for_summary(state, retried, request_effect(state, retried).request, ())
    return _send_request(state, retried, state.tally, turn_options(state, tools=retried.tools_sent), ())


def wait(state: State, phase: AwaitingReply, ms: int, notes: tuple[Note, ...]) -> Step:
    """Pause before a retry. Leads to ``Waiting``."""
    ref = state.next_ref
    waiting = replace(state, phase=Waiting(ref, ms, phase), next_ref=ref + 1)
    return Step(waiting, (Wait(ref, ms),), (*notes, RetryPlanned(turn_of(state, phase), phase.attempt, ms)))


def _send_request(
    state: State, phase: AwaitingReply, tally: Tally, options: RequestOptions, notes: tuple[Note, ...]
) -> Step:
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    request, turn = Request(state.present.model, state.messages, options, reminder), tally.turns
    texts, quirks = request.sent.texts, request.sent.quirks
    sent = RequestSent(turn, texts.count, texts.size, request.digest, phase.attempt)
    applied = [QuirkApplied(turn, name, quirks[name]) for name in sorted(quirks)] if quirks else ()
    sent_state = replace(state, phase=phase, tally=tally, next_ref=phase.ref + 1)
    effect = SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)
    return Step(sent_state, (effect,), (*notes, *applied, sent))


def _ask_for_summary(state: State, phase: AwaitingReply, request: Request, notes: tuple[Note, ...]) -> Step:
    """Ask the model for a summary, which is no turn. Leads to ``AwaitingReply``."""
    turn, texts, quirks = turn_of(state, phase), request.messages.texts, request.messages.quirks
    draft = draft_of(state, turn_options(state, tools=phase.tools_sent))
    asked = SummaryRequested(turn, len(draft.messages), texts.size, request.digest, phase.attempt)
    applied = [QuirkApplied(turn, name, quirks[name]) for name in sorted(quirks)]
    asking = replace(state, phase=phase, next_ref=phase.ref + 1)
    effect = SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)
    return Step(asking, (effect,), (*notes, *applied, asked))


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


def kept(state: State, event: UserSpoke) -> State:
    """The state with the message among those that the next request sends."""
    return replace(state, unsent=(*state.unsent, UserMessage(event.content, event.parts)))


def keep(state: State, event: UserSpoke) -> Step:
    """Keep the message for the next request. Stays in the phase."""
    return Step(kept(state, event), (), (UserMessageKept(state.tally.turns),))


def next_exchange(state: State, notes: tuple[Note, ...] = ()) -> Step:
    """Begin the next exchange with what the user said.

    Leads to ``AwaitingReply``, or to ``Settled`` if a budget of the conversation is used up.
    """
    began = replace(state, memory=state.memory.of_next_exchange(), exchange_began=state.tally)
    if not state.messages.stored.count:
        # A run whose first messages no transform could take has none of them in its history.
        began = replace(began, messages=Transcript.of(state.present.opening, state.present.form))
    # A run that was cancelled before its first request has not said yet what it leaves out of its requests.
    opening = () if state.tally.turns else opening_notes(state.present)
    return send_next_request(began, (*notes, ExchangeBegan(state.tally.turns + 1), *opening))


def end_exchange(state: State, outcome: Outcome, notes: tuple[Note, ...]) -> Step:
    """End the run after a reply without calls; a complete answer goes on with what the user said meanwhile.

    Leads to ``Settled``, or on as :func:`next_exchange` does.
    """
    ended = settle(state, outcome, notes)
    if not (state.unsent and isinstance(outcome, Completed)):
        return ended
    return next_exchange(ended.state, ended.notes)
