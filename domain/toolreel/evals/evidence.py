"""What a run came to, as oracles see it."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel.evals.worlds import World
from toolreel.finish import Finish
from toolreel.jsontext import Json
from toolreel.outcome import Outcome

__all__ = ["Evidence", "SeenCall", "SeenTurn"]


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A tool call that the loop heard, and its result."""

    name: str
    """As the model wrote it, or the tool's inner name where it means one."""
    arguments: str
    """The model's own text of them."""
    ok: bool
    codes: tuple[str, ...]
    """Codes of the errors in its result, such as ``ARGUMENTS_TOO_LARGE``."""
    result: str
    """The result as the model read it."""


@dataclass(frozen=True, slots=True)
class SeenTurn:
    """One reply of the model."""

    finish: Finish
    calls: tuple[SeenCall, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, from its beginning to its end."""

    outcome: Outcome
    final: str
    """The final text; empty if there is none."""
    turns: tuple[SeenTurn, ...]
    world: World
    """As the run left it."""
    begun: Json
    """What :meth:`World.told` said at the beginning."""
    tools_sent: bool
    """Whether the model was told of tools at all."""
    language: str = ""
    """The language that the answer had to be in; empty: whichever."""

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)
