"""Transforms of messages that are sent, and control tokens neutralized in texts from outside.

Each transform is opt-in, because what one provider requires another rejects.

Control tokens matter because a server renders the conversation into one text and then reads tokens out of it:
where that text has ``<|im_end|>`` in a tool's result, most servers read the token itself, so a web page can
end the tool's turn and speak as the system. A space after the first character is enough. Measured with Qwen
2.5's tokenizer on llama.cpp: no special token is left in any of the forms below, where a zero-width character
would cost more tokens and be invisible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, calls_of, is_blank, items_of, tree_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._transforms.registry import register_transform

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
_TOKEN: Final = lazy_pattern("|".join(FAMILIES.values()))
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
            return [_neutralized_part(part) for part in parts]
        case _:
            return content


def _neutralized_part(part: Json) -> Json:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": neutralized(text)}
        case _:
            return part  # Base64 and URLs


_UNSIGNED: Final = "skip_thought_signature_validator"
"""What Google accepts in place of a signature, for history that its model did not write."""


@register_transform(
    "message",
    "assistant_tool_calls_content_null_if_blank",
    about="Blank text next to tool calls becomes null, for servers that refuse an empty text.",
    evidence=("vercel/ai#13505", "vercel/ai#14950", "router-for-me/CLIProxyAPI#749"),
)
def content_null_if_blank(message: Tree) -> Tree:
    """The message with ``content: null``, if it has calls and no text."""
    if not calls_of(message) or not is_blank(message.get("content")):
        return message
    return {**message, "content": None}


@register_transform(
    "message",
    "assistant_tool_calls_reasoning_content_empty_if_missing",
    about="Tool calls without reasoning_content get an empty one, for thinking modes that demand the field.",
    evidence=("crewAIInc/crewAI#5878", "JohnnyZ93/oai-compatible-copilot#215", "anomalyco/opencode#35689"),
)
def reasoning_content_empty_if_missing(message: Tree) -> Tree:
    """The message with ``reasoning_content: ""``, if it has calls; reasoning that is there stays.

    It is a placeholder for history that never had any: a model that is not shown its own reasoning
    again answers worse, and DeepSeek R1 refuses the field (octo-agent#73).
    """
    if not calls_of(message) or message.get("reasoning_content") is not None:
        return message
    return {**message, "reasoning_content": ""}


@register_transform(
    "message",
    "assistant_tool_calls_signature_skip_validator_if_missing",
    about="Tool calls without a thought signature get Google's dummy, for history that Gemini did not write.",
    evidence=(
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
        "vercel/ai#15550",
        "jeremychone/rust-genai#115",
    ),
)
def signature_skip_validator_if_missing(message: Tree) -> Tree:
    """The message with the dummy on its first call, if no call is signed.

    Only the first of parallel calls is signed, so one signature anywhere is enough. A real one is
    always better: Google calls the dummy a last resort that costs quality.
    """
    calls = calls_of(message)
    first = as_tree(calls[0]) if calls else {}
    if not first or _is_signed(message):
        return message
    google = {**tree_at(first, "extra_content", "google"), "thought_signature": _UNSIGNED}
    signed = {**first, "extra_content": {**tree_at(first, "extra_content"), "google": google}}
    return {**message, "tool_calls": [signed, *calls[1:]]}


@register_transform(
    "message",
    "user_special_tokens_neutralized",
    about="Control tokens of chat templates in a user's text get a space behind their first character.",
    evidence=("ggml-org/llama.cpp#24382", "vllm-project/vllm#31735", "huggingface/transformers#29279"),
)
def user_special_tokens_neutralized(message: Tree) -> Tree:
    """The user's message with ``<|im_end|>`` as ``< |im_end|>``, and so on; no other message changes.

    For user messages that quote somebody else, such as a mail. A provider's ``special_token_guard`` does
    the same for tool results.
    """
    if message.get("role") != "user" or "content" not in message:
        return message
    return {**message, "content": neutralized_content(message["content"])}


def _is_signed(message: Tree) -> bool:
    """Whether a signature stands on a call, or where OpenRouter puts it, among the message's reasoning."""
    extras = [tree_at(as_tree(call), "extra_content") for call in calls_of(message)]
    owners = [tree_at(extra, owner) for extra in extras for owner in ("google", "vertex")]
    details = [as_tree(detail) for detail in items_of(message, "reasoning_details")]
    return any(not is_blank(owner.get("thought_signature")) for owner in owners) or any(
        detail.get("type") == "reasoning.encrypted" for detail in details
    )
