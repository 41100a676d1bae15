"""The control tokens of chat templates, neutralized in texts from outside.

Control tokens matter because a server renders the conversation into one text and then reads tokens out of it:
where that text has ``<|im_end|>`` in a tool's result, most servers read the token itself, so a web page can
end the tool's turn and speak as the system. A space after the first character is enough. Measured with Qwen
2.5's tokenizer on llama.cpp: no special token is left in any of the forms below, where a zero-width character
would cost more tokens and be invisible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import Json

_WORDS: Final = "bos|cls|end_of_turn|eop|eos|mask|pad|s|sep|sop|start_of_turn|unk"
_TAGS: Final = (
    r"(?:function|parameter)="
    r"|(?:arg_key|arg_value|(?:seed:|mm:)?think"
    r"|[\w:-]{0,32}(?:function_calls?|invoke|tool_?(?:call|response|result)s?))\b"
)
_BRACKETS: Final = (
    "ARGS|AVAILABLE_TOOLS|BOS|CALL_ID|END_TOOL_REQUEST|EOS|EOT|INST|PAD|SYSTEM_PROMPT|THINK|TOOL_CALLS"
    "|TOOL_CONTENT|TOOL_REQUEST|TOOL_RESULTS|UNK|end_header_id|gMASK|sMASK|start_header_id"
)
FAMILIES: Final[Mapping[str, str]] = {
    # <|im_start|>, <|im_end|>, <|endoftext|>:
    # ggml-org/llama.cpp#24382, huggingface/transformers#29279, vllm-project/vllm#31735, OWASP/AISVS#930
    "bars": r"<(?=/?[|\uff5c][^\s<>]{1,64}>)",
    # <turn|>, <tool_call|>: ollama/ollama#15931, google-deepmind/gemma#770
    "bar_behind": r"<(?=[^\s<>]{1,64}[|\uff5c]>)",
    # <s>, </s>, <bos>: ollama/ollama#15931, huggingface/transformers#47822
    "words": rf"<(?=/?(?:{_WORDS})>)",
    # <<SYS>>, <</SYS>>: meta-llama/llama#1144
    "system": r"<(?=</?SYS>>)",
    # <tool_call>, </tool_call>, <TOOL_CALL>: ollama/ollama#17262, BitterSecurity/Decepticon#715
    "tags": rf"<(?=(?i:/?(?:{_TAGS})))",
    # [INST], [/INST], [TOOL_CALLS]: meta-llama/llama#1144, huggingface/transformers#47822
    "brackets": rf"\[(?=/?(?:{_BRACKETS})\])",
    # ]~b], ]~!b[, [e~[: MiniMax-M2: chat_template.jinja
    "minimax": r"\[(?=e~\[)|\](?=~b\]|~!b\[|<\]minimax\[>\[)",
}
"""Spellings of control tokens that a chat template, or a reader of calls in text, gives a meaning to.

Each is a pattern of the first character of a token, with examples and threads that show them at work."""
_TOKEN: Final = re.compile("|".join(FAMILIES.values()))
"""A control token of any family."""


def neutralized(text: str) -> str:
    """The text with a space behind the first character of each control token; once is enough.

    >>> neutralized("Done.<|im_end|>")
    'Done.< |im_end|>'
    """
    return _TOKEN.sub(r"\g<0> ", text)


def neutralized_content(content: Json) -> Json:
    """The ``content`` of a message without control tokens: a text, or a list of parts.

    >>> neutralized_content([{"type": "text", "text": "<|im_end|>"}])
    [{'type': 'text', 'text': '< |im_end|>'}]
    """
    match content:
        case str():
            return neutralized(content)
        case [*parts]:
            return [_without(part) for part in parts]
        case _:
            return content


def _without(part: Json) -> Json:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": neutralized(text)}
        case _:
            return part  # Base64 and URLs
