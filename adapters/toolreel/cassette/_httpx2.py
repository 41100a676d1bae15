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
from typing import cast

from toolreel._internal import MissingExtra

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

try:
    import httpx2
except ImportError:
    raise MissingExtra.of("httpx2", "httpx2") from None


class Httpx2Transport(httpx2.BaseTransport):
    """Offers an httpx transport to an ``httpx2.Client``."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the inner transport; its exceptions become those of httpx2 with the same name."""
        request.read()
        with _errors_of_httpx2():
            response = self._inner.handle_request(_to_httpx_request(request))
        return _to_httpx2_response(response, _Stream(response))

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncHttpx2Transport(httpx2.AsyncBaseTransport):
    """Offers an httpx transport to an ``httpx2.AsyncClient``."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the inner transport; its exceptions become those of httpx2 with the same name."""
        await request.aread()
        with _errors_of_httpx2():
            response = await self._inner.handle_async_request(_to_httpx_request(request))
        return _to_httpx2_response(response, _AsyncStream(response))

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Stream(httpx2.SyncByteStream):
    """The body of a response, as it arrives."""

    def __init__(self, response: httpx.Response) -> None:
        self._to_httpx2_response = response

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_httpx2():
            yield from cast("httpx.SyncByteStream", self._to_httpx2_response.stream)

    def close(self) -> None:
        self._to_httpx2_response.close()


class _AsyncStream(httpx2.AsyncByteStream):
    """The async version of :class:`_Stream`."""

    def __init__(self, response: httpx.Response) -> None:
        self._to_httpx2_response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx2():
            async for chunk in cast("httpx.AsyncByteStream", self._to_httpx2_response.stream):
                yield chunk

    async def aclose(self) -> None:
        await self._to_httpx2_response.aclose()


def _to_httpx_request(request: httpx2.Request) -> httpx.Request:
    return httpx.Request(
        request.method,
        str(request.url),
        headers=request.headers.raw,
        content=request.content,
        extensions=dict(request.extensions),
    )


def _to_httpx2_response(response: httpx.Response, stream: _Stream | _AsyncStream) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=stream,
        extensions=dict(response.extensions),
    )


@contextmanager
def _errors_of_httpx2() -> Generator[None]:
    """Convert exceptions of httpx to httpx2; others, such as ``ReplayMismatch``, pass through."""
    try:
        yield
    except httpx.HTTPError as error:
        kind = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise kind(str(error)) from error
