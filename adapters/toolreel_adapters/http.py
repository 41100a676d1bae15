"""The endpoint over HTTP, with httpx. Its twin is :mod:`toolreel_adapters.ahttp`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from toolreel.effects import SendRequest
from toolreel.events import ReplyReceived, RequestFailed
from toolreel_adapters.bounded import BoundedDecoder, TooLarge, UndecodableBody
from toolreel_adapters.errors import MissingExtra
from toolreel_adapters.exchange import MAX_RESPONSE_BYTES, TIMEOUT, Address, answered, broken, lost

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
    :param transport: what carries requests, for example a cassette; the network by default
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key_env: str | None = None,
        timeout: httpx.Timeout | float = TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        transport: httpx.BaseTransport | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.address = Address.of(base_url, api_key_env, environ)
        self._limit = max_response_bytes
        self._client = httpx.Client(transport=transport, timeout=timeout)

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply; every transport error becomes an event."""
        body = effect.request.body.encode()
        try:
            with self._client.stream(
                "POST", self.address.url, content=body, headers=self.address.headers
            ) as response:
                return self._read(effect.ref, response)
        except httpx.HTTPError as error:
            return lost(effect.ref, error)
        except TooLarge as error:  # from a transport that records, which reads the body itself
            return broken(effect.ref, None, error)

    def _read(self, ref: int, response: httpx.Response) -> ReplyReceived | RequestFailed:
        chunks = response.iter_raw()
        try:
            decoder = BoundedDecoder(response.headers.get("content-encoding", ""), self._limit)
            for chunk in chunks:
                decoder.feed(chunk)
            return answered(ref, response.status_code, response.headers, decoder.finish())
        except (TooLarge, UndecodableBody) as error:
            return broken(ref, response.status_code, error)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
