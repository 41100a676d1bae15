"""The endpoint over HTTP, with httpx. Its twin is :mod:`toolreel.http._async_endpoint`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from toolreel._driver.ports import Listener
from toolreel._errors import MissingExtra
from toolreel.http._bounded_body import Stalled, TooLarge, UndecodableBody
from toolreel.http._connections.carriers import Coming
from toolreel.http._connections.errors import TIMEOUT, lost, while_streaming
from toolreel.http._connections.pool import CONNECTIONS, Wire
from toolreel.http._exchange import (
    MAX_RESPONSE_BYTES,
    STALL_TIMEOUT,
    Address,
    broken,
)
from toolreel.http._response import Intake
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["HttpEndpoint"]


class HttpEndpoint:
    """Any server that speaks chat completions.

    :param base_url: with or without ``/v1``
    :param api_key_env: name of the environment variable that holds the key; the key is sent as a
        bearer token and stands in no record
    :param timeout: httpx's timeouts, in seconds
    :param max_response_bytes: decoded bytes after which a response is given up as ``too_large``
    :param stall_timeout: seconds after which a stream is given up in which the model says nothing,
        however often the server says that it is still there
    :param on_delta: is shown each piece of a reply as it comes
    :param now: a clock that never goes back, in seconds
    :param transport: what carries requests, for example a cassette, or a client of yours with its hooks,
        auth and proxies, which you close yourself; by default connections of our own, by the proxies and
        certificates that the environment names. What watches or mocks httpx sees only what is given here
    :param http2: whether to speak HTTP/2 where the server does; needs the extra ``http2``
    :param connections: how many requests may be under way at once; others wait for their turn
    """

    def __init__(  # noqa: PLR0913 - every setting of an endpoint has its name
        self,
        base_url: str,
        *,
        api_key_env: str | None = None,
        timeout: httpx.Timeout | float = TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        transport: httpx.BaseTransport | httpx.Client | None = None,
        http2: bool = False,
        connections: int = CONNECTIONS,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.address = Address.of(base_url, api_key_env, environ)
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now)
        self._patience = httpx.Timeout(timeout)
        self._while_streaming = while_streaming(self._patience, stall_timeout)
        self._wire = Wire(self.address, transport, http2=http2, connections=connections)

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply; every transport error becomes an event."""
        pieces = effect.request.pieces()
        patience = self._while_streaming if effect.request.streamed else self._patience
        try:
            with self._wire.asked(pieces, patience) as response:
                return self._read(effect, response)
        except httpx.HTTPError as error:
            return lost(effect.ref, error)
        except TooLarge as error:  # from a transport that records, which reads the body itself
            return broken(effect.ref, None, error)

    def _read(self, effect: SendRequest, response: Coming) -> ReplyReceived | RequestFailed:
        try:
            incoming = self._intake.of(effect, response.status, response.headers)
            for chunk in response.chunks:
                incoming.take(chunk)
                if incoming.over:
                    break
            return incoming.answered()
        except (Stalled, TooLarge, UndecodableBody) as error:
            return broken(effect.ref, response.status, error)

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
