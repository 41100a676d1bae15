"""Tool host over OpenAPI documents for asyncio and trio; the async twin of ``_host``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from toolreel._errors import MissingExtra
from toolreel.http._bounded_body import BodyError, BoundedDecoder
from toolreel.tools._events import timed_out
from toolreel.tools._python.host import DEADLINE
from toolreel.tools.openapi._results import (
    body_rejected_event,
    request_failed_event,
    response_event,
    too_many_redirects_event,
)
from toolreel.tools.openapi._source import OpenApiSource, SkippedOperation
from toolreel.tools.openapi._sources import (
    MAX_REDIRECTS,
    MAX_TOOL_RESPONSE_BYTES,
    OperationTools,
    no_cookies,
    same_server_redirect,
)
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.sources import ToolSource
from toolreel_core._tools.surface import ToolSurface

try:
    import anyio
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None


class AsyncOpenApiTools:
    """A tool host over the servers of OpenAPI documents.

    ::

        pets = OpenApiSource("pets", read_document("pets.yaml"), tags=("pets",))
        async with AsyncOpenApiTools([pets]) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            await arun(plan, AsyncPorts(endpoint, tools))

    A call is cancelled at its deadline. Otherwise it behaves like
    :class:`~toolreel.tools.openapi._host.OpenApiTools`, and has the same parameters.
    """

    def __init__(
        self,
        sources: Iterable[OpenApiSource],
        *,
        deadline: float | None = DEADLINE,
        max_response_bytes: int = MAX_TOOL_RESPONSE_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._offers = OperationTools(sources, deadline)
        self._limit = max_response_bytes
        self._client = httpx.AsyncClient(transport=transport, cookies=no_cookies())

    @property
    def sources(self) -> tuple[ToolSource, ...]:
        """The tools of each document, to combine with other sources."""
        return self._offers.sources

    @property
    def surface(self) -> ToolSurface:
        """The tools of all documents."""
        return self._offers.surface

    @property
    def left_out(self) -> tuple[SkippedOperation, ...]:
        """Selected operations that cannot be called, and why."""
        return self._offers.left_out

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials by name; pass them as ``known_secrets`` to recordings and journals."""
        return self._offers.secrets

    async def run(self, effect: RunTool) -> ToolReturned:
        """Send the request of a call; failures become results for the model."""
        request = self._offers.request(self._client, effect)
        if isinstance(request, ToolReturned):
            return request
        deadline = self._offers.deadline(effect)
        if deadline is None:
            return await self._exchange(effect, request)
        with anyio.move_on_after(deadline):
            return await self._exchange(effect, request)
        return timed_out(effect, deadline)

    async def _exchange(self, effect: RunTool, request: httpx.Request) -> ToolReturned:
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._client.send(request, stream=True)
                try:
                    redirect = same_server_redirect(request, response)
                    if redirect is None:
                        return await self._read(effect, response)
                    request = redirect
                finally:
                    await response.aclose()
            return too_many_redirects_event(effect)
        except httpx.HTTPError as error:
            return request_failed_event(effect, error, self._offers.deadline(effect))
        except BodyError as error:
            return body_rejected_event(effect, error)

    async def _read(self, effect: RunTool, response: httpx.Response) -> ToolReturned:
        decoder = BoundedDecoder(response.headers.get("content-encoding", ""), self._limit)
        chunks = response.aiter_raw()
        try:
            async for chunk in chunks:
                decoder.feed(chunk)
        except BodyError:
            await response.aclose()
            with suppress(httpx.HTTPError, httpx.StreamError):
                # Exhaust the generator: trio warns about async generators that are dropped unfinished.
                [_ async for _ in chunks]
            raise
        return response_event(effect, response, decoder.finish(), self._offers.credentials(effect))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
