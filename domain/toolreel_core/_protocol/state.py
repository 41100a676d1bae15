"""The state of a run, its phases, and the result of a step.

A run is in exactly one phase, and each phase is a class with exactly the data that it needs: an
``AwaitingTools`` without running calls, or a ``Waiting`` without the request to retry, cannot be built.
Every class here is frozen, so a step returns a new state, which shares its history with the old one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from pyrsistent import PMap, pmap

from toolreel_core._conversation import Media, Message, Transcript, UserMessage
from toolreel_core._jsontext import JsonText
from toolreel_core._plan import Plan
from toolreel_core._protocol.effects import Effect, RequestPurpose
from toolreel_core._protocol.events import Spent
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Outcome
from toolreel_core._replies import ToolCall, Usage
from toolreel_core._tools import Envelope


@dataclass(frozen=True, slots=True)
class Idle:
    """Before the first event. ``RunStarted`` leads to ``AwaitingReply``."""


@dataclass(frozen=True, slots=True)
class AwaitingReply:
    """A request was sent; waits for ``ReplyReceived`` or ``RequestFailed``."""

    ref: int
    """The ``ref`` of the ``SendRequest``."""
    attempt: int = 1
    """The number of this attempt, counted from 1; retries of one turn count up."""
    tools_sent: bool = True
    """Whether the model may call tools in its reply; while a summary is awaited, in that of the next turn."""
    purpose: RequestPurpose = "turn"
    """Whether it waits for the model's turn, or for a summary that the next turn needs."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request failed and will be retried; waits for ``WaitElapsed``."""

    ref: int
    """The ``ref`` of the ``Wait``."""
    ms: int
    failed: AwaitingReply
    """The failed attempt."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call whose result is not in the history yet."""

    ref: int
    """The ``ref`` of its ``RunTool``; 0 for a rejected call, which has no effect."""
    call: ToolCall
    result: Envelope | None = None
    """The result, once it has arrived; it waits here until the calls before it have theirs."""
    since_ms: int = 0
    """``Tally.at_ms`` when the call started."""
    parts: tuple[Media, ...] = ()
    """What came with the result besides text."""


@dataclass(frozen=True, slots=True)
class AwaitingTools:
    """Tools are running: one, or several with ``parallel_tools``. Waits for a ``ToolReturned`` for each."""

    running: tuple[InFlight, ...]
    """In call order, which is also the order of the results in the history."""
    waiting: tuple[ToolCall, ...]
    """The remaining calls of the same reply, in order; each is checked when its turn comes."""


@dataclass(frozen=True, slots=True)
class AwaitingApproval:
    """A call needs approval; waits for ``ApprovalGiven``. Nothing is running, so a run can be stored here."""

    ref: int
    """The ``ref`` of the ``AskApproval``."""
    call: ToolCall
    arguments: JsonText
    """The arguments that run if the call is approved, byte for byte."""
    waiting: tuple[ToolCall, ...]
    """The remaining calls of the same reply, in order."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The run, or this exchange of a conversation, is over: ``UserSpoke`` begins the next one.

    An answer that arrives now is dropped with a ``LateAnswer`` note.
    """

    outcome: Outcome


Phase: TypeAlias = Idle | AwaitingReply | Waiting | AwaitingTools | AwaitingApproval | Settled
"""Where a run is; a state is in exactly one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The counters of a run, over all exchanges of a conversation."""

    turns: int = 0
    """Turns of the model: requests sent, not counting retries and those for a summary."""
    tool_calls: int = 0
    """Calls that reached a tool."""
    failed_calls: int = 0
    """Calls that failed, were rejected or were abandoned."""
    ignored_calls: int = 0
    """Calls that were dropped without an answer: over ``calls_per_turn``, or made while tools were off."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """The costs that are known; see :attr:`known_cost`."""
    at_ms: int = 0
    """The latest ``at_ms`` of an event, in milliseconds since the start."""
    cached_tokens: int = 0
    """Those of :attr:`prompt_tokens` that came from the provider's cache."""
    reasoning_tokens: int = 0
    """Those of :attr:`completion_tokens` that were spent on reasoning."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0
    priced: int = 0
    """Replies with a known cost."""
    unpriced: int = 0
    """Replies whose cost nobody knows."""
    by_tools: Spent | None = None
    """What tools have taken of models, such as the runs of inner agents: part of the tokens, costs and
    replies above, not of :attr:`turns` and calls. ``None`` if they took nothing."""

    @property
    def known_cost(self) -> float | None:
        """The cost of all replies; ``None`` if that of one is unknown, or there is none."""
        return self.cost if self.priced and not self.unpriced else None

    @property
    def spent(self) -> Spent | None:
        """What all replies took, to bill this run; ``None`` without a reply."""
        if not self.priced + self.unpriced:
            return None
        tokens = {name: getattr(self, name) for name in _TOKENS}
        cost = self.cost if self.priced else None
        return Spent(cost=cost, priced=self.priced, unpriced=self.unpriced, **tokens)

    def plus(self, taken: Usage | Spent) -> Tally:
        """This tally plus the tokens and the cost of one more reply, or of all that a tool took."""
        priced, unpriced, by_tools = int(taken.cost is not None), int(taken.cost is None), self.by_tools
        if isinstance(taken, Spent):
            priced, unpriced = taken.priced, taken.unpriced
            by_tools = taken if by_tools is None else by_tools.plus(taken)
        return replace(
            self,
            cost=self.cost + (taken.cost or 0.0),
            priced=self.priced + priced,
            unpriced=self.unpriced + unpriced,
            by_tools=by_tools,
            **{name: getattr(self, name) + getattr(taken, name) for name in _TOKENS},
        )

    def since(self, before: Tally) -> Tally:
        """What was counted after an earlier tally; :attr:`at_ms` is then a duration."""
        counts = {name: getattr(self, name) - getattr(before, name) for name in _COUNTERS}
        by_tools, part = self.by_tools, before.by_tools
        rest = by_tools if by_tools is None or part is None else by_tools.minus(part)
        return Tally(by_tools=rest, **counts)

    def counted(self, turns: int = 0, tool_calls: int = 0, failed_calls: int = 0) -> Tally:
        """This tally plus the given numbers of turns and calls."""
        return replace(
            self,
            turns=self.turns + turns,
            tool_calls=self.tool_calls + tool_calls,
            failed_calls=self.failed_calls + failed_calls,
        )


_TOKENS = tuple(counter.name for counter in fields(Usage) if counter.name != "cost")
_COUNTERS = tuple(counter.name for counter in fields(Tally) if counter.name != "by_tools")


@dataclass(frozen=True, slots=True)
class Streak:
    """How many times in a row a call had the same result."""

    result: str
    """Digest of the result."""
    times: int


@dataclass(frozen=True, slots=True)
class DoneCall:
    """A call that has succeeded in the present exchange."""

    key: str
    """Digest of the tool's name and of the arguments, whatever the order of their keys."""
    name: str
    """The tool's inner name."""
    shown: str
    """The call as the model is reminded of it, shortened."""


_NOTHING_COUNTED = Tally()
# Persistent, since each state of a run has its own version. Their order depends on the hash seed, so they are
# for look-up only: whatever writes one sorts its keys.
_NO_RESULTS: PMap[str, bool] = pmap()
_NO_STREAKS: PMap[str, Streak] = pmap()


@dataclass(frozen=True, slots=True)
class Memory:
    """What the policies of the loop remember: nudges, repetition, fallbacks."""

    nudges: int = 0
    """How many times the model was asked to use its tools after skipping them."""
    finalizing: bool = False
    """Whether the model was already asked for a text after an empty final answer."""
    tools_dropped: bool = False
    """Whether the server rejected tools and the run continues without them."""
    successes: int = 0
    """Calls with a successful result."""
    called: tuple[str, ...] = ()
    """Names of the tools that were called, in the order of their first call."""
    last_ok: PMap[str, bool] = _NO_RESULTS
    """Whether the latest result of each tool was a success, by the tool's name."""
    streaks: PMap[str, Streak] = _NO_STREAKS
    """The latest streak of each call, by the digest of its name and arguments."""
    upstream: str = ""
    """The upstream provider that requests are pinned to; empty if none is."""
    corrections: int = 0
    """How many times the model was asked to repeat a call that could not be parsed."""
    asked_again: bool = False
    """Whether the model was already asked again after an empty first reply."""
    outputs_rejected: int = 0
    """How many final answers did not fit the plan's output."""
    done: tuple[DoneCall, ...] = ()
    """The calls that have succeeded, each once, in order; only where a setting needs them."""
    task: str = ""
    """What the user asks for in this exchange, shortened; empty in the first one, where the plan has it."""
    withheld: tuple[str, ...] = ()
    """Inner names of the tools that the next reply may not call; see ``LoopConfig.withhold_repeated``."""

    def for_next_exchange(self) -> Memory:
        """What stays when the user speaks again: what was learned about the server."""
        return Memory(tools_dropped=self.tools_dropped, upstream=self.upstream)


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a run remembers; you can serialise it at any time (``dump``)."""

    plan: Plan
    """All of it, not only what the reducer reads, so that a stored state can go on without another file."""
    phase: Phase
    messages: Transcript
    """The whole conversation, append-only."""
    tally: Tally
    memory: Memory
    next_ref: int
    """The ``ref`` of the next effect. A counter, because the core has no randomness."""
    exchange_began: Tally = _NOTHING_COUNTED
    """The tally when the present exchange began; limits of one exchange count from here."""
    unsent: tuple[UserMessage, ...] = ()
    """What the user has said and no request has sent yet, in order; it joins the next request."""
    endpoint: int = 0
    """The endpoint that requests go to: 0 for the plan's own, else the number of the fallback, from 1."""
    step_number: int = 0
    """How many events have changed this run, ``RunStarted`` included. A later state has a greater number, so
    compare it before you store a state over another; see the guide to embedding."""
    noted: tuple[Note, ...] = field(default=(), repr=False, compare=False, metadata={"stored": False})
    """What the step that makes this state has noted so far; handed over in :class:`Step`, so it is empty in
    between."""

    @property
    def present(self) -> Plan:
        """The plan as it is at the present endpoint."""
        return self.plan.at_fallbacks[self.endpoint - 1] if self.endpoint else self.plan

    @property
    def endpoint_name(self) -> str:
        """The name of the fallback that requests go to; empty for the plan's own endpoint."""
        return self.plan.fallbacks[self.endpoint - 1].name if self.endpoint else ""

    @property
    def outcome(self) -> Outcome | None:
        """How the run, or this exchange of a conversation, ended; ``None`` while it runs."""
        return self.phase.outcome if isinstance(self.phase, Settled) else None

    @property
    def exchange_tally(self) -> Tally:
        """The counters of the present exchange alone."""
        began = self.exchange_began
        return self.tally if began is _NOTHING_COUNTED else self.tally.since(began)

    @classmethod
    def idle(cls, plan: Plan, *, silent: bool = False) -> State:
        """The state before the first event; if silent, without the plan's messages."""
        opening = () if silent else plan.opening
        return cls(plan, Idle(), Transcript.of(opening, plan.form), Tally(), Memory(), 1)

    def said(self, *messages: Message) -> State:
        """This state with messages appended to its history."""
        return replace(self, messages=self.messages.append(*messages))

    def remembering(self, **facts: int) -> State:
        """This state with facts in its memory, by the names of its fields."""
        changed: Any = facts
        return replace(self, memory=replace(self.memory, **changed))


@dataclass(frozen=True, slots=True)
class Step:
    """The result of applying one event: the new state, the effects to perform, and notes."""

    state: State
    effects: tuple[Effect, ...]
    """What to do next; empty while other effects are still pending."""
    notes: tuple[Note, ...] = ()
    """What was decided, and why; nothing depends on them."""
