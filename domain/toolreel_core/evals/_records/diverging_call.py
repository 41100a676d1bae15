"""Where two conversations about the same task first differ: the turn, the call, and what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from toolreel_core.evals._records.request_divergence import ContentMessage

_MAX_EXCERPT = 120
_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class DivergingCall:
    """The first thing in which two conversations differ."""

    turn: int
    """From 1 on; 0: in what they begin with."""
    call: int
    """From 1 on: the call of that turn, or the call whose result differs; 0: not in a call, but in a text."""
    first: str
    """What stands there in the first."""
    second: str

    @property
    def place(self) -> str:
        """Such as ``turn 2, call 1``."""
        if not self.turn:
            return "the opening"
        return f"turn {self.turn}, call {self.call}" if self.call else f"turn {self.turn}, the text"


def diverging_call(first: Sequence[ContentMessage], second: Sequence[ContentMessage]) -> DivergingCall | None:
    """Where two conversations first differ; ``None`` if they are the same.

    Ids of calls, reasoning and texts next to calls are no difference.
    """
    turn = 0
    for one, other in zip_longest(first, second):
        roles = {message.role for message in (one, other) if message}
        turn += "assistant" in roles
        if one == other:
            continue
        if one and other and roles == {"tool"}:
            return DivergingCall(
                turn, one.answers, f"result {_short(one.text)}", f"result {_short(other.text)}"
            )
        ours, theirs = _calls(one), _calls(other)
        for place, (call, opposite) in enumerate(zip_longest(ours, theirs), 1):
            if call != opposite:
                return DivergingCall(turn, place, call or _words(one), opposite or _words(other))
        return DivergingCall(turn, 0, _words(one), _words(other))
    return None


def _calls(message: ContentMessage | None) -> list[str]:
    return [_short(f"{name}({arguments})") for name, arguments in message.calls] if message else []


def _words(message: ContentMessage | None) -> str:
    if message is None or (message.calls and not message.text):
        return _NOTHING
    return f"{'' if message.role == 'assistant' else f'{message.role}: '}{_short(message.text) or _NOTHING}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_EXCERPT else f"{words[:_MAX_EXCERPT]}…"
