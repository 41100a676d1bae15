"""What this endpoint has shown so far, on which later requests of a probe are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core._probe.verdict import Word
from toolreel_core._settings import WireForm

_THINKING: Final = 16
"""How many times the room of an answer a model needs that thinks first."""

_TOOL_TURNS: Final = ("tool_turn", "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
_CONTENTS: Final = ("content_null", "content_absent", "content_space")

FORMS: Final[Mapping[str, WireForm]] = {"responses": "responses", "messages": "messages"}
"""The questions that show a form besides chat completions."""
RICHER: Final[Mapping[str, WireForm]] = {"responses_reasoning": "responses", "messages_thinking": "messages"}
"""The questions that show what only their form can send back."""
ENCRYPTED: Final = ("reasoning.encrypted_content",)
"""What a request in Responses has to include, so that reasoning comes that can go back."""
SPOKEN: Final[tuple[Word, ...]] = ("called", "text_call", "answered")
"""The verdicts that show that a server speaks a form."""


def settled_form(word: Callable[[str], str | None]) -> tuple[WireForm, tuple[str, ...]] | None:
    """The form in which a server is best asked, and the questions that say so; ``None`` if it takes none.

    Chat completions where they are taken, since most is known of them; but where another form brings
    reasoning that they have no place for, that form.

    :param word: the verdict on a question
    """
    for name, form in RICHER.items():
        if word(name) == "carried":
            return form, (name,)
    if word("plain") == "accepted":
        return "chat_completions", ("plain",)
    for name, form in FORMS.items():
        if word(name) in SPOKEN:
            return form, ("plain", name)
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """The verdicts so far, and two things that were seen."""

    words: Mapping[str, Word] = field(default_factory=dict[str, Word])
    """By question."""
    reasoning: str = ""
    """The field in which reasoning came; empty if none did."""
    own_call: Tree = field(default_factory=dict[str, str])
    """The message with the first structured call, as it goes back unchanged; empty if there was none."""

    def is_(self, question: str, *words: Word) -> bool:
        """Whether the verdict on a question is one of these words."""
        return self.words.get(question) in words

    @property
    def is_spoken_to(self) -> bool:
        """Whether the server takes requests in some form, or nobody has asked yet."""
        return "plain" not in self.words or settled_form(self.words.get) is not None

    @property
    def form(self) -> WireForm:
        """The form in which everything else is asked."""
        settled = settled_form(self.words.get)
        return settled[0] if settled else "chat_completions"

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
