"""A user simulated by a model: after each answer, it writes what the user says next, or ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from toolreel_core._conversation.message import AssistantMessage, Message, SystemMessage, UserMessage

END: Final = "<end>"
"""What the simulated user writes when there is nothing left to say."""

_RULES: Final = f"""\


You play the user of an assistant, as described above. Each message that you get is the assistant's answer.
Write what the user says next: only the user's own words, as short as people write, and nothing that the
description does not let the user know. When the user has what they want, or it is clear that they cannot
have it, write {END} and nothing else."""
_OPENING: Final = "(The conversation begins. What does the user say?)"


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """Who the user is, and which model plays the part."""

    model: str
    instructions: str
    """What the user wants and knows, and how they talk."""
    turns: int = 4
    """How often the user speaks at most, with the task at the beginning."""
    lines: tuple[str, ...] = ()
    """What the user says to scripted models after each answer; with them, no model is asked."""

    def messages(self, said: Sequence[str], answered: Sequence[str]) -> tuple[Message, ...]:
        """The conversation as the model that plays the user sees it: the parts are swapped.

        :param said: by the user so far, the task first
        :param answered: by the assistant, one for each
        """
        swapped = list[Message]()
        for words, answer in zip_longest(said, answered, fillvalue=""):
            swapped += (AssistantMessage(words), UserMessage(answer))
        return (SystemMessage(self.instructions + _RULES), UserMessage(_OPENING), *swapped)


def ends(reply: str) -> bool:
    """Whether a reply of the model that plays the user ends the conversation.

    >>> ends("Thanks! <END>"), ends("And the end of it?")
    (True, False)
    """
    return END in reply.casefold()
