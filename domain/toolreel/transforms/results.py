"""Transforms of tool results, as the envelope that a model reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from toolreel.jsontext import Json, Tree
from toolreel.transforms.registry import register_transform

__all__ = ["compact_envelope", "special_tokens_neutralized"]

_WORDS: Final = "bos|end_of_turn|eos|pad|s|start_of_turn|unk"
_TAGS: Final = (
    r"(?:function|parameter)="
    r"|(?:arg_key|arg_value|function_calls?|think|[\w:-]{0,32}tool_?(?:call|response|result)s?)\b"
)
_BRACKETS: Final = (
    "ARGS|AVAILABLE_TOOLS|CALL_ID|INST|SYSTEM_PROMPT|THINK|TOOL_CALLS|TOOL_CONTENT|TOOL_RESULTS|gMASK|sMASK"
)
_TOKEN: Final = re.compile(
    r"<(?=/?[|\uff5c][^\s<>]{1,64}>)"  # ChatML, Llama 3, Harmony, Kimi; DeepSeek, with full-width bars
    r"|<(?=[^\s<>]{1,64}[|\uff5c]>)"  # Gemma 4 closes with the bar behind
    rf"|<(?=/?(?:{_WORDS})>|</?SYS>>)"  # Gemma 3, Llama 2
    rf"|<(?=(?i:/?(?:{_TAGS})))"  # Hermes, Qwen, GLM: words that are read as calls
    rf"|\[(?=/?(?:{_BRACKETS})\]|e~\[)"  # Mistral, GLM; MiniMax
    r"|\](?=~b\]|~!b\[|<\]minimax\[>\[)"  # MiniMax
)
"""The first character of anything that a chat template or a reader of calls gives a meaning to."""

_FROM_THE_TOOL: Final = ("data", "warnings", "errors")


@register_transform(
    "tool_result",
    "tool_result_compact_envelope",
    about="Leaves out of an envelope what is empty, to spend fewer tokens on it.",
    evidence=("context-foundry/context-foundry#233", "taskgenius/taskgenius-plugin#506"),
)
def compact_envelope(envelope: Tree) -> Tree:
    """The envelope without data, warnings and errors that say nothing; ``ok`` and the name stay."""
    if all(envelope.get(key, True) for key in _FROM_THE_TOOL):
        return envelope
    return {key: value for key, value in envelope.items() if value or key not in _FROM_THE_TOOL}


@register_transform(
    "tool_result",
    "tool_result_special_tokens_neutralized",
    about="Control tokens of chat templates in a tool's output get a space behind their first character.",
    evidence=("ggml-org/llama.cpp#24382", "ggml-org/llama.cpp#26273", "BitterSecurity/Decepticon#715"),
)
def special_tokens_neutralized(envelope: Tree) -> Tree:
    """The envelope with ``<|im_end|>`` as ``< |im_end|>``, and so on, wherever the tool wrote it.

    A server that turns such text into tokens lets a web page end the tool's turn and speak as the user.
    The space is seen by people and models alike, and taken out again by eye.
    """
    return {key: _plain(value) if key in _FROM_THE_TOOL else value for key, value in envelope.items()}


def _plain(value: Json) -> Json:
    match value:
        case str():
            return _plain_text(value)
        case Mapping():
            return _plain_tree(value)
        case Sequence():
            return [_plain(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)


def _plain_tree(tree: Tree) -> dict[str, Json]:
    """The object with plain keys and values; keys that would become the same get more spaces."""
    plain: dict[str, Json] = {}
    for key, value in tree.items():
        plain_key = _plain_text(key)
        while plain_key != key and (plain_key in plain or plain_key in tree):
            plain_key = plain_key.replace(" ", "  ", 1)
        plain[plain_key] = _plain(value)
    return plain


def _plain_text(text: str) -> str:
    return _TOKEN.sub(r"\g<0> ", text)
