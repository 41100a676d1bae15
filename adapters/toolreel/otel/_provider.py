"""Where requests go: address and port of the server, and the provider as the conventions name it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from toolreel_core._settings import WireForm

_DEPTH: Final = 8
"""How many endpoints may wrap one another."""

# Values of gen_ai.provider.name that the conventions list, by the host of the API; then routers and hosts
# that they do not list, under their own names.
_HOSTS: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\.openai\.azure\.com$|\.cognitiveservices\.azure\.com$", "azure.ai.openai"),
        (r"\.ai\.azure\.com$|\.inference\.azure\.com$", "azure.ai.inference"),
        (r"(^|\.)openai\.com$", "openai"),
        (r"(^|\.)anthropic\.com$", "anthropic"),
        (r"^bedrock.*\.amazonaws\.com$", "aws.bedrock"),
        (r"^generativelanguage\.googleapis\.com$", "gcp.gemini"),
        (r"aiplatform\.googleapis\.com$", "gcp.vertex_ai"),
        (r"(^|\.)cohere\.(com|ai)$", "cohere"),
        (r"(^|\.)deepseek\.com$", "deepseek"),
        (r"(^|\.)groq\.com$", "groq"),
        (r"\.ml\.cloud\.ibm\.com$", "ibm.watsonx.ai"),
        (r"(^|\.)mistral\.ai$", "mistral_ai"),
        (r"(^|\.)moonshot\.(ai|cn)$", "moonshot_ai"),
        (r"(^|\.)perplexity\.ai$", "perplexity"),
        (r"(^|\.)x\.ai$", "x_ai"),
        (r"(^|\.)openrouter\.ai$", "openrouter"),
        (r"(^|\.)together\.(ai|xyz)$", "together"),
        (r"(^|\.)fireworks\.ai$", "fireworks"),
        (r"(^|\.)cerebras\.ai$", "cerebras"),
    )
)
_BY_FORM: Final[dict[WireForm, str]] = {
    "chat_completions": "openai",
    "responses": "openai",
    "messages": "anthropic",
}
"""Of any other server we know only whose API it speaks, which is what the conventions ask for then."""


class Server(NamedTuple):
    """The server of a request; empty and 0 if its endpoint does not say."""

    address: str = ""
    port: int = 0

    def provider(self, form: WireForm) -> str:
        """The value of ``gen_ai.provider.name``."""
        found = (name for pattern, name in _HOSTS if pattern.search(self.address))
        return next(found, _BY_FORM[form])


def server_of(performer: object, fallback: str = "") -> Server:
    """The server that a performer sends requests to.

    :param fallback: the name of the plan's fallback; empty for its own endpoint
    """
    found = performer
    for _ in range(_DEPTH):
        url = getattr(getattr(found, "address", None), "url", None)
        if isinstance(url, str):
            return _server(url)
        if hasattr(found, "first") and hasattr(found, "fallbacks"):
            found = (
                getattr(found, "fallbacks", {}).get(fallback) if fallback else getattr(found, "first", None)
            )
            continue
        inner = (getattr(found, name, None) for name in ("endpoint", "performer", "ports"))
        found = next((one for one in inner if one is not None), None)
        if found is None:
            break
    return Server()


def _server(url: str) -> Server:
    parts = urlsplit(url)
    default = 443 if parts.scheme == "https" else 80
    try:
        return Server(parts.hostname or "", parts.port or default)
    except ValueError:  # no port is that large
        return Server(parts.hostname or "", default)
