"""What a reply had besides text and calls, put back between them.

Reasoning and its signatures have to come back verbatim and in their place: Anthropic rejects a call whose
thinking is missing or changed, OpenAI a reasoning item without the item that followed it. Texts and calls
are the message's own, since ids, arguments and text may have been repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolreel_core._conversation.message import AssistantMessage, SentCall
from toolreel_core._jsontext import NOTHING, Json, items_of, parse


@dataclass(frozen=True, slots=True)
class Items:
    """How a form writes the items of a reply."""

    key: str
    """The key in a message's extras under which the items of a reply are kept."""
    is_call: Callable[[Json], bool]
    text_in: Callable[[Json], str | None]
    """The text of an item that is text; ``None`` of any other."""
    may_go_back: Callable[[Json], bool]
    """Whether the form takes a kept item that is neither a text nor a call."""
    text: Callable[[str], Json]
    call: Callable[[SentCall, Json], Json]
    """A call, with the kept item in whose place it stands; null if there is none."""

    def of(self, message: AssistantMessage) -> list[Json]:
        """The items of a message, in order."""
        kept = self._kept(message)
        if self._fits(kept, message):
            return self._filled(kept, message)
        others = [item for item in kept if self._is_other(item) and self.may_go_back(item)]
        text = [self.text(message.content)] if message.content.strip() else []
        return [*others, *text, *(self.call(call, None) for call in message.calls)]

    def _kept(self, message: AssistantMessage) -> Sequence[Json]:
        extras = {} if message.extras == NOTHING else parse(message.extras)
        return items_of(extras, self.key) if isinstance(extras, Mapping) else ()

    def _fits(self, kept: Sequence[Json], message: AssistantMessage) -> bool:
        """Whether the message still says what the kept items say; with calls, the loop stores no text."""
        texts = "".join(text for item in kept if (text := self.text_in(item)) is not None)
        calls = sum(map(self.is_call, kept))
        said = message.content.strip()
        same = texts.strip() == said or (calls > 0 and not said)
        return bool(kept) and calls == len(message.calls) and same

    def _filled(self, kept: Sequence[Json], message: AssistantMessage) -> list[Json]:
        calls = iter(message.calls)
        items = [self.call(next(calls), item) if self.is_call(item) else item for item in kept]
        return [item for item in items if not self._is_other(item) or self.may_go_back(item)]

    def _is_other(self, item: Json) -> bool:
        return not self.is_call(item) and self.text_in(item) is None
