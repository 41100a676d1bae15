"""The operations of OpenAPI documents as tools. Its twin is :mod:`toolreel.tools.openapi._async_host`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from toolreel._errors import MissingExtra
from toolreel.http._bounded_body import BodyError, BoundedDecoder, Stalled
from toolreel.tools._python.host import DEADLINE, in_thread, timed_out
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

__all__ = ["OpenApiTools"]


class OpenApiTools:
    """A tool host over the servers of OpenAPI documents.

    ::

        pets = OpenApiSource("pets", read_document("pets.yaml"), tags=("pets",))
        with OpenApiTools([pets]) as tools:
            plan = Plan.of(model="…", messages="…", tools=tools.surface)
            run(plan, Ports(endpoint, tools))

    Whatever goes wrong on the far side is told to the model. A redirect is followed on the same server only;
    cookies that a server sets are forgotten.

    :param deadline: seconds that a call may take, or ``None`` to wait for ever; a tool's own goes before it
    :param max_response_bytes: decoded bytes after which a response is given up
    :param transport: what carries requests, for example a cassette; the network by default
    :raises OpenApiError: if a document offers nothing that was meant
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
        """The tools of each document, to be composed with those of other sources."""
        return self._offers.sources

    @property
    def surface(self) -> ToolSurface:
        """The tools of all documents."""
        return self._offers.surface

    @property
    def left_out(self) -> tuple[SkippedOperation, ...]:
        """Operations that were meant and cannot be called, and why."""
        return self._offers.left_out

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials by a name: what ``recording`` and journals take as ``known_secrets``."""
        return self._offers.secrets

    def run(self, effect: RunTool) -> ToolReturned:
        """Send the request that the call means, and put whatever comes of it into words for the model."""
        request = self._offers.request(self._client, effect)
        if isinstance(request, ToolReturned):
            return request
        deadline = self._offers.deadline(effect)
        if deadline is None:
            return self._exchanged(effect, request, None)
        until = time.monotonic() + deadline
        returned = in_thread(effect.name, partial(self._exchanged, effect, request, until))
        try:
            return returned.result(deadline)
        except TimeoutError:
            return timed_out(effect, deadline)

    def _exchanged(self, effect: RunTool, request: httpx.Request, until: float | None) -> ToolReturned:
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = self._client.send(request, stream=True)
                try:
                    following = same_server_redirect(request, response)
                    if following is None:
                        return self._read(effect, response, until)
                    request = following
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
            if until is not None and time.monotonic() > until:  # nobody waits for it any more
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
