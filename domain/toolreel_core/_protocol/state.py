"""The state of a run, its phases, and what a step gives back.

A run is in exactly one phase, and a phase has exactly the data that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from pyrsistent import PMap, pmap

from toolreel_core._conversation.message import Message
from toolreel_core._conversation.transcript import Transcript
from toolreel_core._internal.fast_constructor import maker
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import Effect
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Outcome
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.normalize import Usage
from toolreel_core._tools.result import Envelope

__all__ = [
    "AwaitingApproval",
    "AwaitingReply",
    "AwaitingTools",
    "Idle",
    "InFlight",
    "Memory",
    "Phase",
    "Settled",
    "State",
    "Step",
    "Streak",
    "Tally",
    "Waiting",
]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing has happened yet."""


@dataclass(frozen=True, slots=True)
class AwaitingReply:
    """The model was asked."""

    ref: int
    attempt: int = 1
    """Which try this is."""
    tools_sent: bool = True
    """Whether the model may call tools in its reply."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request failed for the moment, and will be tried again."""

    ref: int
    ms: int
    failed: AwaitingReply


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call whose result is not in the history yet."""

    ref: int
    """The ``ref`` of its effect; 0 for a call that needs none, because it was rejected."""
    call: ToolCall
    result: Envelope | None = None
    since_ms: int = 0
    """The latest time that an event had told when the call started."""


@dataclass(frozen=True, slots=True)
class AwaitingTools:
    """Tools are running, one or, where that is allowed, several; more calls of the turn may wait."""

    running: tuple[InFlight, ...]
    """In call order, which is the order of their results in the history."""
    waiting: tuple[ToolCall, ...]
    """Calls of the same reply that are still to be checked and run, in order."""


@dataclass(frozen=True, slots=True)
class AwaitingApproval:
    """Somebody was asked whether a tool may run; nothing is under way, so a run may rest here."""

    ref: int
    call: ToolCall
    arguments: JsonText
    """What will run, byte for byte."""
    waiting: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """The run is over."""

    outcome: Outcome


Phase: TypeAlias = Idle | AwaitingReply | Waiting | AwaitingTools | AwaitingApproval | Settled


@dataclass(frozen=True, slots=True)
class Tally:
    """What has been counted so far."""

    turns: int = 0
    """Requests sent, retries not counted."""
    tool_calls: int = 0
    """Calls that reached a tool."""
    failed_calls: int = 0
    """Calls that ended badly or never reached a tool."""
    ignored_calls: int = 0
    """Calls that were not heard."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    at_ms: int = 0
    """The latest time that an event told, in milliseconds since the start."""

    def read(self, usage: Usage) -> Tally:
        """This tally with one more reply's tokens."""
        return _tally(
            self.turns,
            self.tool_calls,
            self.failed_calls,
            self.ignored_calls,
            self.prompt_tokens + usage.prompt_tokens,
            self.completion_tokens + usage.completion_tokens,
            self.cost + usage.cost,
            self.at_ms,
        )

    def counted(self, turns: int = 0, tool_calls: int = 0, failed_calls: int = 0) -> Tally:
        """This tally with so many more turns and calls."""
        return _tally(
            self.turns + turns,
            self.tool_calls + tool_calls,
            self.failed_calls + failed_calls,
            self.ignored_calls,
            self.prompt_tokens,
            self.completion_tokens,
            self.cost,
            self.at_ms,
        )


@dataclass(frozen=True, slots=True)
class Streak:
    """The same call with the same result, how often in a row."""

    result: str
    """Digest of the result."""
    times: int


_NO_RESULTS: Final[PMap[str, bool]] = pmap()
_NO_STREAKS: Final[PMap[str, Streak]] = pmap()


@dataclass(frozen=True, slots=True)
class Memory:
    """What the policies of the loop have to know of the past."""

    nudges: int = 0
    """How often the model was asked again for skipping its tools."""
    finalizing: bool = False
    """The final text was empty once, and was asked for again."""
    tools_dropped: bool = False
    """The server refused tools, and the run goes on without them."""
    successes: int = 0
    """Calls that a tool answered with success."""
    called: tuple[str, ...] = ()
    """Tools that were called, in the order of their first call."""
    last_ok: PMap[str, bool] = _NO_RESULTS
    """Whether the last result of a tool was a success."""
    streaks: PMap[str, Streak] = _NO_STREAKS
    """The latest streak of a call, by the digest of its name and arguments."""
    upstream: str = ""
    """The upstream provider that the run stays with."""
    corrections: int = 0
    """How often the model was told that its call could not be read."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a run remembers; serialisable at any time."""

    plan: Plan
    phase: Phase
    messages: Transcript
    """The whole conversation, append-only."""
    tally: Tally
    memory: Memory
    next_ref: int
    """The ``ref`` of the next effect: drawn from here, so that the core needs no randomness."""

    @classmethod
    def idle(cls, plan: Plan) -> State:
        """The state before the first event."""
        return cls(plan, Idle(), Transcript.of(plan.messages, plan.form), Tally(), Memory(), 1)

    def said(self, *messages: Message) -> State:
        """This state with more messages in its history."""
        return self.but(messages=self.messages.append(*messages))

    def but(
        self,
        *,
        phase: Phase | None = None,
        messages: Transcript | None = None,
        tally: Tally | None = None,
        memory: Memory | None = None,
        next_ref: int | None = None,
    ) -> State:
        """This state with some other parts; ``dataclasses.replace`` takes several times as long."""
        return _state(
            self.plan,
            phase or self.phase,
            self.messages if messages is None else messages,
            tally or self.tally,
            memory or self.memory,
            next_ref or self.next_ref,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What an event leads to."""

    state: State
    effects: tuple[Effect, ...]
    """What is wanted from the outside now."""
    notes: tuple[Note, ...]
    """What was decided, and why."""


_tally: Final = maker(Tally)
_state: Final = maker(State)
