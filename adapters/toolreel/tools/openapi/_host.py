"""Tool host over OpenAPI documents; ``_async_host`` is its twin for asyncio and trio."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from toolreel._errors import MissingExtra
from toolreel.http._bounded_body import BodyError, BoundedDecoder, Stalled
from toolreel.tools._events import timed_out
from toolreel.tools._python.host import DEADLINE
from toolreel.tools._threads_async import in_thread
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
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None


class OpenApiTools:
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
        max_response_bytes: int = MAX_TOOL_RESPONSE_BYTES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._offers = OperationTools(sources, deadline)
        self._limit = max_response_bytes
        self._client = httpx.Client(transport=transport, cookies=no_cookies())

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

    def run(self, effect: RunTool) -> ToolReturned:
        """Send the request of a call; failures become results for the model."""
        request = self._offers.request(self._client, effect)
        if isinstance(request, ToolReturned):
            return request
        deadline = self._offers.deadline(effect)
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
            for _ in range(MAX_REDIRECTS + 1):
                response = self._client.send(request, stream=True)
                try:
                    redirect = same_server_redirect(request, response)
                    if redirect is None:
                        return self._read(effect, response, until)
                    request = redirect
                finally:
                    response.close()
            return too_many_redirects_event(effect)
        except httpx.HTTPError as error:
            return request_failed_event(effect, error, self._offers.deadline(effect))
        except BodyError as error:
            return body_rejected_event(effect, error)

    def _read(self, effect: RunTool, response: httpx.Response, until: float | None) -> ToolReturned:
        decoder = BoundedDecoder(response.headers.get("content-encoding", ""), self._limit)
        for chunk in response.iter_raw():
            decoder.feed(chunk)
            if until is not None and time.monotonic() > until:  # the caller has timed out already
                raise Stalled("it took longer than its deadline")
        return response_event(effect, response, decoder.finish(), self._offers.credentials(effect))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
