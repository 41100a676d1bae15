"""The forms in which servers take requests and answer, and the URL that chat requests go to.

Chat completions, Responses, Messages; one function says the URL, for endpoints and evaluations alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from toolreel_core._lazy_pattern import lazy_pattern

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


API_PREFIX: Final = "/v1"
"""Where most servers have their API."""

_CHAT: Final = "/chat/completions"
_VERSION: Final = lazy_pattern(r"v\d[\w.]*")
"""A path segment with an API version: ``v1``, ``v1beta``, ``v4``."""
_PATH: Final = lazy_pattern(r"[\w./~%!$&'()*+,;=:@-]*", re.ASCII)
"""The characters of a URL's path (RFC 3986, 3.3)."""


def chat_url(base_url: str, api_prefix: str = API_PREFIX) -> str:
    """The base URL, the prefix unless the URL has a version already, ``/chat/completions``, and its query.

    >>> chat_url("http://127.0.0.1:8080")
    'http://127.0.0.1:8080/v1/chat/completions'
    >>> chat_url("https://example.org/v1beta/openai/")
    'https://example.org/v1beta/openai/chat/completions'
    >>> chat_url("https://x.openai.azure.com/openai/deployments/d?api-version=2024-06-01", api_prefix="")
    'https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-06-01'

    :param base_url: of a server, with ``http://`` or ``https://``; it may be complete. A fragment is dropped,
        since it is never sent
    :param api_prefix: a path; empty for none
    """
    base, _, query = base_url.strip().partition("#")[0].partition("?")
    path, prefix = base.rstrip("/"), api_prefix.strip().strip("/")
    versioned = any(map(_VERSION.fullmatch, path.split("/")[3:]))
    if not path.endswith(_CHAT):
        path = f"{path}{_CHAT}" if versioned or not prefix else f"{path}/{prefix}{_CHAT}"
    return f"{path}?{query}" if query else path


def prefix_fault(api_prefix: str) -> str:
    """What is wrong with a prefix; empty if nothing.

    >>> prefix_fault("/openai/v1"), prefix_fault("/v1?key=k")
    ('', 'expected a path such as /v1, without a query')
    """
    return "" if _PATH.fullmatch(api_prefix.strip()) else "expected a path such as /v1, without a query"
