"""The forms in which servers take requests and answer: chat completions, Responses, Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

WireForm: TypeAlias = Literal["chat_completions", "responses", "messages"]
"""OpenAI's chat completions, OpenAI's Responses, and Anthropic's Messages."""

RESPONSES_ITEMS: Final = "responses_items"
MESSAGES_BLOCKS: Final = "messages_blocks"
"""Keys of a message's extras: the items or blocks of a reply that have to go back, in the form that they
came in. A server that speaks another form gets none of them."""

KEPT: Final[frozenset[str]] = frozenset({RESPONSES_ITEMS, MESSAGES_BLOCKS})
KEPT_IN: Final[Mapping[WireForm, str]] = {
    "chat_completions": "",
    "responses": RESPONSES_ITEMS,
    "messages": MESSAGES_BLOCKS,
}
"""The key of each form; chat completions have none."""

PATHS: Final[Mapping[WireForm, str]] = {
    "chat_completions": "/chat/completions",
    "responses": "/responses",
    "messages": "/messages",
}
"""Where a server answers each form, behind its base URL."""


def form_of(url: str) -> WireForm:
    """The form of the requests that go to a URL, as far as its path says.

    >>> form_of("https://api.anthropic.com/v1/messages?beta=true")
    'messages'
    """
    path = url.partition("?")[0].rstrip("/")
    if path.endswith(PATHS["messages"]):
        return "messages"
    return "responses" if path.endswith(PATHS["responses"]) else "chat_completions"
