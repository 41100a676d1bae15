"""Provider-specific fields of messages and calls, and the reasoning in them.

Such fields (reasoning, signatures) go back unchanged in the next request: DeepSeek's thinking mode rejects
a conversation without ``reasoning_content``, even an empty one (crewAI#5878); Gemini needs its thought
signatures (langroid#969), OpenRouter its ``reasoning_details`` in order, LiteLLM ``thinking_blocks`` and
``provider_specific_fields``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import NOTHING, Json, JsonText, canonical, finite

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
    """The opaque fields of a message as a canonical object, in the order in which they came.

    >>> of_message({"content": "Hi.", "reasoning_content": "", "reasoning": None})
    '{"reasoning_content":""}'

    :param content: the content, if it must be sent back unchanged too
    """
    fields = _present_fields(message, _OF_MESSAGE)
    if content is not None:
        fields["content"] = content
    return canonical(finite(fields)) if fields else NOTHING


def of_call(entry: Mapping[str, Json], function: Mapping[str, Json]) -> JsonText:
    """The opaque fields of a call as a canonical object; those of its function are under ``function``.

    >>> of_call({"id": "call_a", "signature": "s"}, {"name": "ping", "extra_content": {}})
    '{"signature":"s","function":{"extra_content":{}}}'
    """
    fields, inner = _present_fields(entry, _OF_CALL), _present_fields(function, _OF_CALL)
    if inner:
        fields["function"] = inner
    return canonical(finite(fields)) if fields else NOTHING


def reasoning_in(message: Mapping[str, Json]) -> str:
    """The reasoning text of a message, from whichever field has it; empty if none has.

    >>> reasoning_in({"reasoning": "", "reasoning_details": [{"type": "reasoning.text", "text": "why"}]})
    'why'
    """
    for key in _REASONING:
        text = message.get(key)
        if isinstance(text, str) and text:
            return text
    for key in _REASONING_LISTS:
        blocks = message.get(key)
        listed = blocks if isinstance(blocks, Sequence) else ()
        mappings = [block for block in listed if isinstance(block, Mapping)]
        texts = [block.get(key) for block in mappings for key in _REASONING_TEXTS]
        if text := "".join(text for text in texts if isinstance(text, str)):
            return text
    return ""


def _present_fields(fields: Mapping[str, Json], names: frozenset[str]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key in names and value is not None}
