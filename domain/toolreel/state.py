"""The state of a run, its phases, and what a step gives back.

A run is in exactly one phase, and a phase has exactly the data that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from toolreel.calls import ToolCall
from toolreel.effects import Effect
from toolreel.messages import Message
from toolreel.notes import Note
from toolreel.outcome import Outcome
from toolreel.plan import Plan
from toolreel.reply import Usage
from toolreel.transcript import Transcript

__all__ = ["AwaitingReply", "AwaitingTools", "Idle", "Phase", "Settled", "State", "Step", "Tally"]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing has happened yet."""


@dataclass(frozen=True, slots=True)
class AwaitingReply:
    """The model was asked."""

    ref: int


@dataclass(frozen=True, slots=True)
class AwaitingTools:
    """A tool is running; more calls of the same turn may wait behind it."""

    ref: int
    running: ToolCall
    waiting: tuple[ToolCall, ...]
    """Calls of the same reply that are still to be checked and run, in order."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The run is over."""

    outcome: Outcome


Phase: TypeAlias = Idle | AwaitingReply | AwaitingTools | Settled


@dataclass(frozen=True, slots=True)
class Tally:
    """What has been counted so far."""

    turns: int = 0
    """Requests sent."""
    tool_calls: int = 0
    """Calls that reached a tool."""
    failed_calls: int = 0
    """Calls that ended badly or never reached a tool."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def read(self, usage: Usage) -> Tally:
        """This tally with one more reply's tokens."""
        return replace(
            self,
            prompt_tokens=self.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.completion_tokens + usage.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a run remembers; serialisable at any time."""

    plan: Plan
    phase: Phase
    messages: Transcript
    """The whole conversation, append-only."""
    tally: Tally
    next_ref: int
    """The ``ref`` of the next effect: drawn from here, so that the core needs no randomness."""

    @classmethod
    def idle(cls, plan: Plan) -> State:
        """The state before the first event."""
        return cls(plan, Idle(), Transcript.of(plan.messages), Tally(), 1)

    def said(self, *messages: Message) -> State:
        """This state with more messages in its history."""
        return replace(self, messages=self.messages.append(*messages))


@dataclass(frozen=True, slots=True)
class Step:
    """What an event leads to."""

    state: State
    effects: tuple[Effect, ...]
    """What is wanted from the outside now."""
    notes: tuple[Note, ...]
    """What was decided, and why."""
