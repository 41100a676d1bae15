"""What earlier answers have settled, and later requests are built on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._jsontext.canonical import Tree
from toolreel_core._probe.verdict import Word

_THINKING: Final = 16
"""How many times the room of an answer a model needs that thinks first."""

_TOOL_TURNS: Final = ("tool_turn", "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
_CONTENTS: Final = ("content_null", "content_absent", "content_space")


@dataclass(frozen=True, slots=True)
class Known:
    """The verdicts so far, and two things that were seen."""

    words: Mapping[str, Word] = field(default_factory=dict[str, Word])
    """By question."""
    reasoning: str = ""
    """The field in which reasoning came; empty if none did."""
    own_call: Tree = field(default_factory=dict[str, str])
    """The message with the first structured call, as it came; empty if there was none."""

    def is_(self, question: str, *words: Word) -> bool:
        """Whether the verdict on a question is one of these words."""
        return self.words.get(question) in words

    @property
    def cap_field(self) -> str:
        """The field for the limit of the output; empty if neither is taken."""
        if not self.words or self.is_("max_tokens", "honoured"):
            return "max_tokens"
        if self.is_("max_completion_tokens", "honoured"):
            return "max_completion_tokens"
        if not self.is_("max_tokens", "refused"):
            return "max_tokens"
        return "" if self.is_("max_completion_tokens", "refused") else "max_completion_tokens"

    def options(self, limit: int) -> Tree:
        """What every further request has: a limit of the output, and the temperature 0."""
        room: Tree = {self.cap_field: limit * (_THINKING if self.reasoning else 1)} if self.cap_field else {}
        return room if self.is_("temperature", "refused") else {**room, "temperature": 0}

    def needs(self, addition: str) -> bool:
        """Whether the turn with a call was taken only with this: ``reasoning``, ``signature`` or ``name``."""
        return self.is_(f"tool_turn_{addition}", "accepted")

    @property
    def tool_turn(self) -> str:
        """The question whose form of a turn with a call was taken; empty if none was."""
        taken = (name for name in (*_TOOL_TURNS, *_CONTENTS) if self.is_(name, "accepted"))
        return next(taken, "")

    @property
    def no_tool_turn(self) -> bool:
        """Whether the turn with a call was refused in all forms that were tried."""
        return self.is_("tool_turn", "refused") and not self.tool_turn
