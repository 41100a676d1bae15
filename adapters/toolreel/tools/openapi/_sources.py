"""Several OpenAPI documents as one source of tools, and what their calls have in common, without the I/O.

Shared by :mod:`toolreel.tools.openapi._host` and :mod:`toolreel.tools.openapi._async_host`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

from toolreel._errors import MissingExtra
from toolreel.tools._python.host import ToolError, failure, keywords
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

__all__ = ["MAX_REDIRECTS", "MAX_TOOL_RESPONSE_BYTES", "OperationTools", "no_cookies", "same_server_redirect"]

MAX_TOOL_RESPONSE_BYTES: Final = 1_000_000
"""Decoded bytes of a response that are taken in; five times what a run passes on to the model."""

MAX_REDIRECTS: Final = 5
"""Redirects that are followed, one after another."""


class OperationTools:
    """The tools of several documents.

    :raises OpenApiError: if a document offers nothing that was meant
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
        """The credentials, for whoever writes a record and has to keep them out of it."""
        given = {id(credentials): credentials for _, credentials in self._tools.values()}
        return {
            f"credential {number} {scheme}": value
            for number, credentials in enumerate(given.values(), 1)
            for scheme, value in credentials.values.items()
        }

    def credentials(self, effect: RunTool) -> Credentials:
        """What the tool's requests are let in with."""
        return self._tools[effect.name][1]

    def deadline(self, effect: RunTool) -> float | None:
        """Seconds that a call may take: the tool's own, or else the host's."""
        own = self._tools[effect.name][0].definition.deadline_ms if effect.name in self._tools else None
        return self._deadline if own is None else own / 1000

    def request(
        self, client: httpx.Client | httpx.AsyncClient, effect: RunTool
    ) -> httpx.Request | ToolReturned:
        """The request for a call, or what to tell the model where there can be none."""
        if effect.name not in self._tools:
            return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())
        try:
            out = self._tools[effect.name][0].sender.outgoing(keywords(effect))
            seconds = httpx.Timeout(self.deadline(effect))
            return client.build_request(
                out.method, out.url, headers=out.headers, content=out.content, timeout=seconds
            )
        except ToolError as error:
            return failure(effect, error)
        except (httpx.InvalidURL, UnicodeError) as error:
            return failure(effect, ToolError(f"the arguments make no address that can be asked: {error}"))


def same_server_redirect(request: httpx.Request, response: httpx.Response) -> httpx.Request | None:
    """Where a redirect leads, if that is the same server; nowhere else is anything ever sent."""
    following = response.next_request
    if following is None or _origin(following.url) != _origin(request.url):
        return None
    for name in ("authorization", "cookie"):
        if name in request.headers:
            following.headers[name] = request.headers[name]
    following.extensions = request.extensions
    return following


def no_cookies() -> CookieJar:
    """A jar that keeps nothing: what one call was told is no part of the next one."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
