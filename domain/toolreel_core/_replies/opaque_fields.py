"""Fields of a reply that must go back to the provider unchanged on the next turn.

DeepSeek's thinking mode refuses a conversation without ``reasoning_content``, be it empty; Gemini
wants its thought signatures back, OpenRouter its ``reasoning_details`` in order, LiteLLM
``thinking_blocks`` and ``provider_specific_fields``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext.canonical import NOTHING, Json, JsonText, canonical, finite

__all__ = ["of_call", "of_message", "reasoning_in"]


_OF_MESSAGE: Final = frozenset(
    {
        "extra_content",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "signature",
        "thinking_blocks",
        "thought_signature",
    }
)
_OF_CALL: Final = frozenset({"extra_content", "provider_specific_fields", "signature", "thought_signature"})
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_REASONING_LISTS: Final = ("reasoning_details", "thinking_blocks")
_REASONING_TEXTS: Final = ("text", "summary", "thinking")


def of_message(message: Mapping[str, Json], content: Json = None) -> JsonText:
    """The canonical object of a message's fields that go back, in the order in which they came.

    >>> of_message({"content": "Hi.", "reasoning_content": "", "reasoning": None})
    '{"reasoning_content":""}'

    :param content: the content, where that goes back as it came too
    """
    fields = _present(message, _OF_MESSAGE)
    if content is not None:
        fields["content"] = content
    return canonical(finite(fields)) if fields else NOTHING


def of_call(entry: Mapping[str, Json], function: Mapping[str, Json]) -> JsonText:
    """The canonical object of a call entry's fields that go back, those of its function inside ``function``.

    >>> of_call({"id": "call_a", "signature": "s"}, {"name": "ping", "extra_content": {}})
    '{"signature":"s","function":{"extra_content":{}}}'
    """
    fields, inner = _present(entry, _OF_CALL), _present(function, _OF_CALL)
    if inner:
        fields["function"] = inner
    return canonical(finite(fields)) if fields else NOTHING


def reasoning_in(message: Mapping[str, Json]) -> str:
    """The reasoning text of a message, in whichever field it came; empty if it has none.

    >>> reasoning_in({"reasoning": "", "reasoning_details": [{"type": "reasoning.text", "text": "why"}]})
    'why'
    """
    for key in _REASONING:
        text = message.get(key)
        if isinstance(text, str) and text:
            return text
    for key in _REASONING_LISTS:
        blocks = message.get(key)
        text = "".join(_texts(blocks)) if isinstance(blocks, Sequence) else ""
        if text:
            return text
    return ""


def _present(fields: Mapping[str, Json], wanted: frozenset[str]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key in wanted and value is not None}


def _texts(blocks: Sequence[Json]) -> list[str]:
    mappings = [block for block in blocks if isinstance(block, Mapping)]
    texts = [block.get(key) for block in mappings for key in _REASONING_TEXTS]
    return [text for text in texts if isinstance(text, str)]
