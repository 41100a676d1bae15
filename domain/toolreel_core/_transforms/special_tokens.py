"""Control tokens of chat templates in text that somebody else wrote: their spelling, and how it is broken.

A server renders the conversation into one text and then reads tokens out of it. Where that text
has ``<|im_end|>`` in a tool's result, most servers read the token itself: a web page can end the
tool's turn and speak as the system. A space behind the first character is enough. Measured with
Qwen 2.5's tokenizer on llama.cpp: no special token is left in any of the forms below, where a zero-width
character would cost more tokens and be seen by nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TokenFamily:
    """Control tokens that are spelled alike."""

    name: str
    pattern: str
    """A regular expression for the first character of each, and nothing behind it."""
    examples: tuple[str, ...]
    evidence: tuple[str, ...]
    """Where they are defined, or were seen to act: threads as ``repository#number``, pages by their title."""


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

FAMILIES: Final = (
    TokenFamily(
        "bars",
        r"<(?=/?[|\uff5c][^\s<>]{1,64}>)",
        (
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|eot_id|>",
            "<|start_header_id|>",
            "<|python_tag|>",
            "<|start|>",
            "<|channel|>",
            "<|message|>",
            "<|fim_prefix|>",
            "<|tool_calls_section_begin|>",
            "<|turn>",
            "<\uff5cUser\uff5c>",
            "<\uff5ctool\u2581calls\u2581begin\uff5c>",
            "</\uff5cDSML\uff5cfunction_calls>",
        ),
        (
            "ggml-org/llama.cpp#24382",
            "huggingface/transformers#29279",
            "vllm-project/vllm#31735",
            "OWASP/AISVS#930",
        ),
    ),
    TokenFamily(
        "bar_behind",
        r"<(?=[^\s<>]{1,64}[|\uff5c]>)",
        ("<turn|>", "<tool_call|>"),
        ("ollama/ollama#15931", "google-deepmind/gemma#770"),
    ),
    TokenFamily(
        "words",
        rf"<(?=/?(?:{_WORDS})>)",
        ("<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
        ("ollama/ollama#15931", "huggingface/transformers#47822"),
    ),
    TokenFamily(
        "system",
        r"<(?=</?SYS>>)",
        ("<<SYS>>", "<</SYS>>"),
        ("meta-llama/llama#1144",),
    ),
    TokenFamily(
        "tags",
        rf"<(?=(?i:/?(?:{_TAGS})))",
        (
            "<tool_call>",
            "</tool_call>",
            "<TOOL_CALL>",
            "<TOOLCALL>",
            "<tool_response>",
            "<minimax:tool_call>",
            "<longcat_tool_call>",
            "<start_function_call>",
            "<think>",
            "</think>",
            "<seed:think>",
            "<function=ping>",
            "<parameter=n>",
            "<arg_key>",
            '<invoke name="ping">',
        ),
        ("ollama/ollama#17262", "BitterSecurity/Decepticon#715"),
    ),
    TokenFamily(
        "brackets",
        rf"\[(?=/?(?:{_BRACKETS})\])",
        (
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "[/AVAILABLE_TOOLS]",
            "[gMASK]",
            "[EOS]",
            "[start_header_id]",
            "[TOOL_REQUEST]",
        ),
        ("meta-llama/llama#1144", "huggingface/transformers#47822"),
    ),
    TokenFamily(
        "minimax",
        r"\[(?=e~\[)|\](?=~b\]|~!b\[|<\]minimax\[>\[)",
        ("]~b]", "]~!b[", "[e~[", "]<]minimax[>["),
        ("MiniMax-M2: chat_template.jinja",),
    ),
)
"""Everything that a chat template, or a reader of calls in text, gives a meaning to."""

_TOKEN: Final = re.compile("|".join(family.pattern for family in FAMILIES))


def neutralized(text: str) -> str:
    """The text with a space behind the first character of each control token; once is enough.

    >>> neutralized("Done.<|im_end|>")
    'Done.< |im_end|>'
    """
    return _TOKEN.sub(r"\g<0> ", text)
