"""The tools of several OpenAPI documents, and the parts of a call that need no I/O.

Shared by :mod:`toolreel.tools.openapi._host` and :mod:`toolreel.tools.openapi._async_host`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

from toolreel._errors import MissingExtra
from toolreel.tools._call_context import ToolError
from toolreel.tools._events import failure, keywords
from toolreel.tools.openapi._request.security import Credentials
from toolreel.tools.openapi._source import OpenApiSource, OpenApiTool, SkippedOperation
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_not_implemented
from toolreel_core._tools.result import failed
from toolreel_core._tools.sources import ToolSource, compose

try:
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None

MAX_TOOL_RESPONSE_BYTES: Final = 1_000_000
"""Maximum size of a decoded response; five times what a run passes on to the model."""

MAX_REDIRECTS: Final = 5
"""Maximum number of redirects per call."""


class OperationTools:
    """The tools of several documents.

    :raises OpenApiError: if no selected operation of a document can be called
    :raises ConfigError: if two sources or two tools share a name
    """

    def __init__(self, sources: Iterable[OpenApiSource], deadline: float | None) -> None:
        self._deadline = deadline
        self._tools: dict[str, tuple[OpenApiTool, Credentials]] = {}
        left_out: list[SkippedOperation] = []
        named: list[ToolSource] = []
        for source in sources:
            offer = source.offer()
            left_out += offer.left_out
            self._tools |= {name: (tool, source.credentials) for name, tool in offer.tools.items()}
            definitions = tuple(tool.definition for tool in offer.tools.values())
            named.append(ToolSource(f"openapi {source.name}", definitions))
        self.sources = tuple(named)
        self.left_out = tuple(left_out)
        self.surface = compose(*named)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials by name, to keep out of recordings."""
        distinct = {id(credentials): credentials for _, credentials in self._tools.values()}
        return {
            f"credential {number} {scheme}": value
            for number, credentials in enumerate(distinct.values(), 1)
            for scheme, value in credentials.values.items()
        }

    def credentials(self, effect: RunTool) -> Credentials:
        """The credentials for a call."""
        return self._tools[effect.name][1]

    def deadline(self, effect: RunTool) -> float | None:
        """Deadline of a call in seconds: that of the tool, or else of the host."""
        own = self._tools[effect.name][0].definition.deadline_ms if effect.name in self._tools else None
        return self._deadline if own is None else own / 1000

    def request(
        self, client: httpx.Client | httpx.AsyncClient, effect: RunTool
    ) -> httpx.Request | ToolReturned:
        """The request for a call, or a failure for the model if it cannot be built."""
        if effect.name not in self._tools:
            return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())
        try:
            prepared = self._tools[effect.name][0].builder.prepare(keywords(effect))
            seconds = httpx.Timeout(self.deadline(effect))
            return client.build_request(
                prepared.method,
                prepared.url,
                headers=prepared.headers,
                content=prepared.content,
                timeout=seconds,
            )
        except ToolError as error:
            return failure(effect, error)
        except (httpx.InvalidURL, UnicodeError) as error:
            return failure(effect, ToolError(f"the arguments make no address that can be asked: {error}"))


def same_server_redirect(request: httpx.Request, response: httpx.Response) -> httpx.Request | None:
    """The next request of a redirect on the same server; ``None`` otherwise, as others get no request."""
    following = response.next_request
    if following is None or _origin(following.url) != _origin(request.url):
        return None
    # httpx drops these headers on a redirect; on the same origin they are still needed.
    for name in ("authorization", "cookie"):
        if name in request.headers:
            following.headers[name] = request.headers[name]
    following.extensions = request.extensions
    return following


def no_cookies() -> CookieJar:
    """A cookie jar that stores nothing, so that calls are independent of each other."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
