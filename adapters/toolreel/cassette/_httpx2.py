"""Adapts httpx transports to clients of httpx2, which the openai SDK and pydantic-ai use.

>>> import httpx
>>> def session(tape):  # doctest: +SKIP
...     client = httpx2.Client(transport=Httpx2Transport(ReplayTransport(tape)))
...     return openai.OpenAI(http_client=client)

httpx2 has the same API as httpx but its own classes, so requests, responses and exceptions are converted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx

from toolreel._internal import MissingExtra

try:
    import httpx2
except ImportError:
    raise MissingExtra.of("httpx2", "httpx2") from None


class Httpx2Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Offers an httpx transport to an ``httpx2.Client``, an async one to an ``httpx2.AsyncClient``."""

    def __init__(self, inner: httpx.BaseTransport | httpx.AsyncBaseTransport) -> None:
        self._inner: Any = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        with _raising_httpx2_errors():
            return _to_httpx2_response(self._inner.handle_request(_to_httpx_request(request)))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        with _raising_httpx2_errors():
            return _to_httpx2_response(await self._inner.handle_async_request(_to_httpx_request(request)))

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _raising_httpx2_errors():
            yield from cast("httpx.SyncByteStream", self._response.stream)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _raising_httpx2_errors():
            async for chunk in cast("httpx.AsyncByteStream", self._response.stream):
                yield chunk

    def close(self) -> None:
        self._response.close()

    async def aclose(self) -> None:
        await self._response.aclose()


def _to_httpx_request(request: httpx2.Request) -> httpx.Request:
    return httpx.Request(
        request.method,
        str(request.url),
        headers=request.headers.raw,
        content=request.content,
        extensions=dict(request.extensions),
    )


def _to_httpx2_response(response: httpx.Response) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=_Stream(response),
        extensions=dict(response.extensions),
    )


@contextmanager
def _raising_httpx2_errors() -> Generator[None]:
    """Convert exceptions of httpx to httpx2; others, such as ``ReplayMismatch``, pass through."""
    try:
        yield
    except httpx.HTTPError as error:
        kind = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise kind(str(error)) from error
