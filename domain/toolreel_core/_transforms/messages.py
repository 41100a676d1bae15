"""Transforms of messages that are sent.

Each is opt-in, because what one provider requires another rejects.
"""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext import Tree, as_tree, calls_of, is_blank, items_of, tree_at
from toolreel_core._transforms.neutral_control_tokens import neutralized_content
from toolreel_core._transforms.registry import register_transform

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
