"""Tool hosts over OpenAPI documents: a sync one, and one for asyncio and trio."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing, closing
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

from toolreel._internal.errors import MissingExtra
from toolreel.http._bounded_decoder import BodyError, BoundedDecoder, Stalled
from toolreel.http._httpx_endpoint import async_chunks_of, chunks_of, hang_up, headers_of
from toolreel.http._request import AsyncClosing, Closing
from toolreel.tools._call_context import ToolError
from toolreel.tools._python.host import DEADLINE
from toolreel.tools._result_events import failure, keywords, timed_out
from toolreel.tools._threads_async import in_thread
from toolreel.tools.openapi._request.security import Credentials
from toolreel.tools.openapi._results import exchange_failed_event, response_event, too_many_redirects_event
from toolreel.tools.openapi._source import OpenApiSource, OpenApiTool, SkippedOperation
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_not_implemented
from toolreel_core._tools.result_envelope import failed
from toolreel_core._tools.sources import ToolSource, compose

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None

_MAX_RESPONSE_BYTES: Final = 1_000_000
"""Maximum size of a decoded response; five times what a run passes on to the model."""
_MAX_REDIRECTS: Final = 5
"""Maximum number of redirects per call."""


class _Operations:
    """The tools of several documents, and the parts of a call that need no I/O."""

    def __init__(self, sources: Iterable[OpenApiSource], deadline: float | None, limit: int) -> None:
        self._deadline = deadline
        self._limit = limit
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
        """The tools of each document, to combine with other sources."""
        self.surface = compose(*named)
        """The tools of all documents."""
        self.left_out = tuple(left_out)
        """Selected operations that cannot be called, and why."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials by name; pass them as ``known_secrets`` to recordings and journals."""
        distinct = {id(credentials): credentials for _, credentials in self._tools.values()}
        return {
            f"credential {number} {scheme}": value
            for number, credentials in enumerate(distinct.values(), 1)
            for scheme, value in credentials.values.items()
        }

    def _seconds(self, effect: RunTool) -> float | None:
        """Deadline of a call in seconds: that of the tool, or else of the host."""
        own = self._tools[effect.name][0].definition.deadline_ms
        return self._deadline if own is None else own / 1000

    def _request(
        self, client: httpx.Client | httpx.AsyncClient, effect: RunTool
    ) -> httpx.Request | ToolReturned:
        """The request for a call, or a failure for the model if it cannot be built."""
        if effect.name not in self._tools:
            return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())
        try:
            prepared = self._tools[effect.name][0].builder.prepare(keywords(effect))
            return client.build_request(
                prepared.method,
                prepared.url,
                headers=prepared.headers,
                content=prepared.content,
                timeout=httpx.Timeout(self._seconds(effect)),
            )
        except ToolError as error:
            return failure(effect, error)
        except (httpx.InvalidURL, UnicodeError) as error:
            return failure(effect, ToolError(f"the arguments make no address that can be asked: {error}"))

    def _decoder(self, response: httpx.Response) -> BoundedDecoder:
        return BoundedDecoder(headers_of(response).get("content-encoding", ""), self._limit)

    def _result(self, effect: RunTool, response: httpx.Response, decoder: BoundedDecoder) -> ToolReturned:
        return response_event(effect, response, decoder.finish(), self._tools[effect.name][1])

    def _failure(self, effect: RunTool, error: httpx.HTTPError | BodyError) -> ToolReturned:
        return exchange_failed_event(effect, error, self._seconds(effect))


class OpenApiTools(_Operations, Closing):
    """A tool host over the servers of OpenAPI documents.

    ::

        pets = OpenApiSource("pets", read_document("pets.yaml"), tags=("pets",))
        with OpenApiTools([pets]) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            run(plan, Ports(endpoint, tools))

    Failures of a server become results for the model. Redirects are followed on the same server only; cookies
    that a server sets are ignored.

    :param deadline: seconds per call, or ``None`` for no limit; a deadline of the tool has priority
    :param max_response_bytes: maximum size of a decoded response
    :param transport: httpx transport, for example of a cassette; the network by default
    :raises OpenApiError: if no selected operation of a document can be called
    :raises ConfigError: if two sources or two tools share a name
    """

    def __init__(
        self,
        sources: Iterable[OpenApiSource],
        *,
        deadline: float | None = DEADLINE,
        max_response_bytes: int = _MAX_RESPONSE_BYTES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(sources, deadline, max_response_bytes)
        self._client = httpx.Client(transport=transport, cookies=_no_cookies())

    def run(self, effect: RunTool) -> ToolReturned:
        """Send the request of a call; failures become results for the model."""
        request = self._request(self._client, effect)
        if isinstance(request, ToolReturned):
            return request
        deadline = self._seconds(effect)
        if deadline is None:
            return self._exchange(effect, request, None)
        until = time.monotonic() + deadline
        returned = in_thread(effect.name, partial(self._exchange, effect, request, until))
        try:
            return returned.result(deadline)
        except TimeoutError:
            return timed_out(effect, deadline)

    def _exchange(self, effect: RunTool, request: httpx.Request, until: float | None) -> ToolReturned:
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                with closing(self._client.send(request, stream=True)) as response:
                    redirect = _same_server_redirect(request, response)
                    if redirect is None:
                        return self._read(effect, response, until)
                    request = redirect
            return too_many_redirects_event(effect)
        except (httpx.HTTPError, BodyError) as error:
            return self._failure(effect, error)

    def _read(self, effect: RunTool, response: httpx.Response, until: float | None) -> ToolReturned:
        decoder = self._decoder(response)
        for chunk in chunks_of(response):
            decoder.feed(chunk)
            if until is not None and time.monotonic() > until:  # the caller has timed out already
                raise Stalled("it took longer than its deadline")
        return self._result(effect, response, decoder)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncOpenApiTools(_Operations, AsyncClosing):
    """A tool host over the servers of OpenAPI documents.

    ::

        pets = OpenApiSource("pets", read_document("pets.yaml"), tags=("pets",))
        async with AsyncOpenApiTools([pets]) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            await arun(plan, AsyncPorts(endpoint, tools))

    A call is cancelled at its deadline. Otherwise it behaves like :class:`OpenApiTools`, and has the same
    parameters.
    """

    def __init__(
        self,
        sources: Iterable[OpenApiSource],
        *,
        deadline: float | None = DEADLINE,
        max_response_bytes: int = _MAX_RESPONSE_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(sources, deadline, max_response_bytes)
        self._client = httpx.AsyncClient(transport=transport, cookies=_no_cookies())

    async def run(self, effect: RunTool) -> ToolReturned:
        """Send the request of a call; failures become results for the model."""
        request = self._request(self._client, effect)
        if isinstance(request, ToolReturned):
            return request
        deadline = self._seconds(effect)
        if deadline is None:
            return await self._exchange(effect, request)
        with anyio.move_on_after(deadline):
            return await self._exchange(effect, request)
        return timed_out(effect, deadline)

    async def _exchange(self, effect: RunTool, request: httpx.Request) -> ToolReturned:
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                async with aclosing(await self._client.send(request, stream=True)) as response:
                    redirect = _same_server_redirect(request, response)
                    if redirect is None:
                        return await self._read(effect, response)
                    request = redirect
            return too_many_redirects_event(effect)
        except (httpx.HTTPError, BodyError) as error:
            return self._failure(effect, error)

    async def _read(self, effect: RunTool, response: httpx.Response) -> ToolReturned:
        decoder, chunks = self._decoder(response), async_chunks_of(response)
        try:
            async for chunk in chunks:
                decoder.feed(chunk)
        except BodyError:
            await hang_up(response, chunks)
            raise
        return self._result(effect, response, decoder)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _same_server_redirect(request: httpx.Request, response: httpx.Response) -> httpx.Request | None:
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


def _no_cookies() -> CookieJar:
    """A cookie jar that stores nothing, so that calls are independent of each other."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
