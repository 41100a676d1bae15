"""Where an endpoint's requests go, and how they are put, as httpx and httpcore want to have it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Self

from toolreel._errors import EndpointConfigError, MissingExtra
from toolreel.http._exchange import Address, blocks, length, sent

try:
    import httpcore
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["Target"]


class Target:
    """An address, and the headers of every request to it.

    :raises EndpointConfigError: if httpx cannot use the address
    """

    def __init__(self, address: Address) -> None:
        try:
            self.url = url = httpx.URL(address.url)
        except httpx.InvalidURL as error:
            raise EndpointConfigError(f"base URL {address.url!r}: {error}") from None
        self.headers = httpx.Headers([("host", url.netloc.decode("ascii")), *address.headers.items()])
        self.core_url = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        self.origin = self.core_url.origin
        self._raw_headers = self.headers.raw

    def request(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> httpx.Request:
        """The same as what httpx's client would build, without asking what is known."""
        body = sent(pieces)
        request = httpx.Request(
            "POST",
            self.url,
            headers=self.headers,
            stream=httpx.ByteStream(body) if isinstance(body, bytes) else _Body(pieces),
            extensions={"timeout": patience.as_dict()},
        )
        request.headers.update(length(pieces))
        if isinstance(body, bytes):
            request.read()
        return request

    def core_request(self, pieces: tuple[bytes, ...], patience: httpx.Timeout) -> httpcore.Request:
        """The same for httpcore, byte for byte."""
        size = sum(map(len, pieces))
        return httpcore.Request(
            b"POST",
            self.core_url,
            headers=[*self._raw_headers, (b"content-length", b"%d" % size)],
            content=_Body(pieces),
            extensions={"timeout": patience.as_dict()},
        )


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that goes out in blocks."""

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return blocks(self._pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Blocks(blocks(self._pieces))


class _Blocks:
    """Blocks in a row, awaited; no generator, of which trio warns where it is dropped half-way."""

    def __init__(self, left: Iterator[bytes]) -> None:
        self._left = left

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for block in self._left:
            return block
        raise StopAsyncIteration
