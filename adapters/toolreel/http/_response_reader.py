"""Reads a response chunk by chunk: deadline, size limits, stall timeout, and deltas for a listener.

Each byte that a server sends resets the read timeout of an HTTP client, and a client skips what means nothing
(``100 Continue``, chunk extensions) without a word. So an exchange also has limits as a whole.

The body itself shows whether it is a stream: some servers ignore ``stream``, some stream unasked, and both
kinds may send the wrong content type (llm_wiki#619).
"""

from __future__ import annotations

import codecs
import time
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from toolreel._driver import time_left
from toolreel._internal import AdapterError
from toolreel._secrets import RunningBodyScrub, scrubbed_body
from toolreel_core._protocol import FailureKind, ReplyReceived, RequestFailed, SendRequest, response_event
from toolreel_core._replies import Delta, deltas_in, stream_for_form

# Decodes a response body up to a size limit, which protects against decompression bombs.
#
# httpx's ``iter_bytes`` decodes a whole raw chunk at once, so that 64 kB from the wire can become 64 MB
# before you can check the size. Feed :class:`BoundedDecoder` the raw chunks (``Response.iter_raw()`` or
# ``aiter_raw()``); it stops at the first byte above the limit.


ACCEPT_ENCODING = "gzip, deflate"
"""The ``accept-encoding`` of our requests: the encodings that Python itself can decode. Other clients (in
recordings) ask for more and servers may send anything, so br and zstd are decoded if their packages exist."""

PACKAGES: Mapping[str, tuple[str, ...]] = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""Encodings that need a package, with the names of the packages; one of them is enough."""

_PACKING = 65_536
"""Bytes by which a compressed body may exceed the limit of a decoded one: the marks of its compression."""

_ZSTD_SLICE = 32
"""Bytes fed to zstd at once, since it has no output limit: 4 bytes may decode to a block of 128 KiB
(RFC 8878, 3.1.1.2.2), so these to 1 MiB."""

_ZSTD_WINDOW = 8 * 2**20
"""Maximum window of a zstd body, in bytes (RFC 9659 requires clients to support 8 MB)."""


class BodyError(AdapterError):
    """A response body that could not be read."""

    failure: ClassVar[FailureKind] = "broken"

    def event(self, ref: int, status: int | None) -> RequestFailed:
        return RequestFailed(ref, self.failure, str(self), status)


class TooLarge(BodyError):
    """A response body whose size exceeds the limit."""

    failure = "too_large"


class UndecodableBody(BodyError):
    """A response body that is corrupt, truncated or in an unsupported encoding."""


class Stalled(BodyError):
    """A response that missed its deadline, or a stream without data from the model for too long."""

    failure = "timeout"


class BoundedDecoder:
    """Decodes one response body, chunk by chunk, and holds at most ``limit`` bytes of it.

    The raw bytes are limited as well, since empty gzip blocks and skippable zstd frames decode to nothing.
    """

    def __init__(self, content_encoding: str, limit: int) -> None:
        self._encoding = content_encoding.strip().lower()
        self._limit = limit
        self._body = bytearray()
        self._raw_size = 0
        try:
            self._stream = _inflater_for(self._encoding)
        except _Unfit as error:
            raise UndecodableBody(
                f"content-encoding {content_encoding!r} {error}; "
                f"or ask for another with 'accept-encoding: {ACCEPT_ENCODING}'"
            ) from None

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def feed(self, raw: bytes) -> bytes:
        self._raw_size += len(raw)
        if self._stream is None:
            self._add_decoded(raw)
            return raw
        if self._raw_size > self._limit + _PACKING:
            raise TooLarge(f"the response body is larger than {self._limit} bytes, though it is compressed")
        try:
            # One byte more than allowed, so that _add_decoded sees a body that is too large.
            piece = self._stream.inflate(raw, self._limit - len(self._body) + 1)
        except _Unfit as error:
            raise UndecodableBody(f"the {self._encoding} body {error}") from error
        except self._stream.error as error:
            raise UndecodableBody(f"the {self._encoding} body is corrupt: {error}") from error
        self._add_decoded(piece)
        return piece

    def finish(self) -> bytes:
        if self._raw_size and self._stream is not None and not self._stream.whole:
            raise UndecodableBody(
                f"the {self._encoding} body was cut off, {len(self._body)} bytes came out of it"
            )
        return self.body

    def _add_decoded(self, piece: bytes) -> None:
        if len(self._body) + len(piece) > self._limit:
            raise TooLarge(f"the response body is larger than {self._limit} bytes when decoded")
        self._body += piece


class _Unfit(Exception):
    """A body, or its encoding, that cannot be decoded; the message says why."""


# Each has `whole`, whether the end of the compressed data was reached; `inflate(raw, max_length)`, which
# stops at about `max_length` decoded bytes; and `error`, which that raises for corrupt data.
def _inflater_for(encoding: str) -> _Zlib | _Brotli | _Zstd | None:
    match encoding:
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Zlib(encoding)
        case "br" | "zstd":
            return (
                _Brotli(_import_decoder_package("br"))
                if encoding == "br"
                else _Zstd(_import_decoder_package("zstd"))
            )
        case _:
            raise _Unfit("is not supported")


class _Zlib:
    error = zlib.error

    def __init__(self, encoding: str) -> None:
        self._head = b""
        # 16 makes zlib expect a gzip header. For "deflate", the first two bytes decide: see _deflate_wbits.
        self._stream = None if encoding == "deflate" else zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def whole(self) -> bool:
        return self._stream is not None and self._stream.eof

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        if self._stream is None:
            self._head += raw
            if len(self._head) < 2:
                return b""
            self._stream, raw = zlib.decompressobj(_deflate_wbits(self._head)), self._head
        piece = self._stream.decompress(raw, max_length)
        if self._stream.unused_data:
            raise _Unfit("goes on after its end")
        return piece


class _Brotli:
    def __init__(self, brotli: ModuleType) -> None:
        if not hasattr(brotli.Decompressor, "can_accept_more_data"):  # older ones ignore the output limit
            raise _Unfit(f"needs {brotli.__name__} 1.2 or newer, which can stop in the middle")
        self._stream: Any = brotli.Decompressor()
        self.error: type[Exception] = brotli.error

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        return bytes(self._stream.process(raw, output_buffer_limit=max_length)) if raw else b""


class _Zstd:
    """A zstd body is a sequence of frames (RFC 8878, section 3), and each needs a decompressor of its own."""

    def __init__(self, zstandard: ModuleType) -> None:
        self._zstandard, self.error = zstandard, zstandard.ZstdError
        self._stream = self._new_decompressor()

    @property
    def whole(self) -> bool:
        return bool(self._stream.eof)

    def inflate(self, raw: bytes, max_length: int) -> bytes:
        piece = bytearray()
        for start in range(0, len(raw), _ZSTD_SLICE):
            remaining = raw[start : start + _ZSTD_SLICE]
            while remaining and len(piece) < max_length:
                if self._stream.eof:
                    self._stream = self._new_decompressor()
                piece += self._stream.decompress(remaining)
                remaining = self._stream.unused_data
        return bytes(piece)

    def _new_decompressor(self) -> Any:  # noqa: ANN401 - the package has no public name for it
        return self._zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


def _import_decoder_package(encoding: str) -> ModuleType:
    names = PACKAGES[encoding]
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise _Unfit(f"needs the package {names[0]}: pip install {names[0]}")


def _deflate_wbits(head: bytes) -> int:
    """The ``wbits`` for a deflate body: RFC 9110, 8.4.1.2, requires a zlib header; some servers omit it."""
    # RFC 1950, 2.2: the low four bits name the method, and the first two bytes are a multiple of 31.
    has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


_UTF8 = codecs.getincrementaldecoder("utf-8")
EXCHANGE_DEADLINE = 600.0
"""Default maximum duration of an exchange, in seconds. Needed since every byte that a server sends (such as a
blank) resets the read timeout of an HTTP client."""

STALL_TIMEOUT = 120.0
"""Default maximum silence of a model in a stream, in seconds; models that think without output take minutes
(future-os#431)."""

MAX_HEAD_BYTES = 256 * 1024
"""Maximum size of what comes before a body: the head of the response, and any 1xx responses."""

_FRAMING = 1024 * 1024
"""Bytes that a response may have besides its body, and besides twice the limit of a body: a chunk of one
character takes six bytes."""

GRACE = 1.0
"""Seconds after the deadline at which an exchange is given up whose connection does not observe it. Where it
does, it goes first, since only its failure gets into a recording."""

_SHORTEST = 0.001
"""Seconds of a timeout at least; 0 would make a socket non-blocking."""


@dataclass(eq=False)
class ExchangeLimits:
    deadline: float
    limit: int
    stall_timeout: float = STALL_TIMEOUT
    now: Callable[[], float] = time.monotonic
    rested: float = 0.0
    """Seconds in which nothing was read, since the reader of the stream was busy with what had come."""
    _received: int = 0
    _allowed: int = MAX_HEAD_BYTES
    _is_sent: bool = False
    _is_new: bool = False

    def __post_init__(self) -> None:
        left = time_left()
        seconds = min(self.deadline, left)
        what = "its deadline" if self.deadline <= left else "which is all that the run's max_wall_ms had left"
        self.message = f"the exchange was not complete after {seconds:.3g} s, {what}"
        """Why it failed, if its time is over."""
        self._ends_at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(_SHORTEST, self._ends_at - time.monotonic())

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._ends_at

    @property
    def overdue(self) -> bool:
        """Whether the time has been over for a while, so that the connection itself does not look at it."""
        return time.monotonic() >= self._ends_at + GRACE

    def cap_timeout(self, timeout: float | None) -> float:
        return self.left if timeout is None else min(timeout, self.left)

    @property
    def can_be_resent(self) -> bool:
        """Whether a request has gone out on a connection that was used before, and no byte has come back."""
        return self._is_sent and not self._is_new and not self._received

    def connect(self) -> None:
        self._is_new = True

    def reset_for_response_head(self) -> None:
        self._received, self._allowed, self._is_sent = 0, MAX_HEAD_BYTES, True

    def expect_body(self) -> None:
        self._received, self._allowed = 0, 2 * self.limit + _FRAMING

    def count_bytes_against_limit(self, size: int) -> str:
        """Count bytes that have arrived; why they are too many, or nothing."""
        self._received += size
        if self._received <= self._allowed:
            return ""
        what = (
            ", and no response" if self._allowed == MAX_HEAD_BYTES else f" for a body of at most {self.limit}"
        )
        return f"the server sent more than {self._allowed} bytes{what}"


_CURRENT: ContextVar[ExchangeLimits | None] = ContextVar("toolreel_exchange", default=None)
"""The exchange of this thread or task: a connection outlives it, and serves others."""


def current_exchange() -> ExchangeLimits | None:
    return _CURRENT.get()


@contextmanager
def make_exchange_current(exchange: ExchangeLimits) -> Generator[None]:
    before = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(before)


@dataclass(eq=False, repr=False)  # it has secrets
class IncomingReply:
    exchange: ExchangeLimits
    effect: SendRequest
    status: int
    headers: Mapping[str, str]
    secrets: Mapping[str, str]

    def __post_init__(self) -> None:
        self._scrub = RunningBodyScrub(self.secrets)
        self._passed: list[str] = []
        self._decoder = BoundedDecoder(self.headers.get("content-encoding", ""), self.exchange.limit)
        self._text = _UTF8("replace")
        self._declared_stream = self.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._stream = self._blank = stream_for_form(self.effect.request.form)
        self._may_be_stream = 200 <= self.status < 300
        self._progressed_at = self.exchange.now()

    @property
    def over(self) -> bool:
        """Whether the stream is complete, though the server may keep the connection open."""
        return self._stream.done

    def read_chunk(self, raw: bytes) -> tuple[Delta, ...]:
        exchange = self.exchange
        now = exchange.now() - exchange.rested
        if exchange.overdue:
            raise Stalled(exchange.message)
        piece = self._decoder.feed(raw)
        if self._stream is self._blank and piece[:1] == b"{":
            self._may_be_stream = False  # a stream of events cannot start with "{", so this is plain JSON
        if not self._may_be_stream:
            return ()
        before = self._stream.progress
        deltas = self._feed(self._scrub.feed(self._text.decode(piece)))
        if self._stream.progress > before:
            self._progressed_at = now
        # Before the first line is complete, only the content type says whether this is a stream.
        streams = self._declared_stream if self._stream.streamed is None else self._stream.streamed
        if streams and not self.over and now - self._progressed_at > exchange.stall_timeout:
            raise Stalled(
                f"no meaningful data for {exchange.stall_timeout:g} s, though the connection was alive; "
                "a longer stall_timeout gives the model more time"
            )
        return deltas

    def finish_reply(self) -> tuple[tuple[Delta, ...], ReplyReceived | RequestFailed]:
        # A stream that is over may lack the end of its compression, which finish() would reject.
        body = self._decoder.body if self.over else self._decoder.finish()
        held: tuple[Delta, ...] = ()
        if self._stream.streamed:
            held = self._feed(self._scrub.feed(self._text.decode(b"", final=True)) + self._scrub.close())
            text = "".join(self._passed)
        else:
            text = scrubbed_body(body.decode("utf-8", "replace"), self.secrets)
        event = response_event(self.effect.ref, self.status, self.headers, text)
        rest: tuple[Delta, ...] = ()
        if isinstance(event, ReplyReceived) and not self.over:
            if self._stream.streamed:
                rest = self._stream.close()[1]  # an unterminated last line
            elif self.effect.request.streamed:
                rest = deltas_in(text, self.effect.request.form, whole=True)
        return (*held, *rest), event

    def _feed(self, text: str) -> tuple[Delta, ...]:
        self._passed.append(text)
        self._stream, deltas = self._stream.feed(text)
        return deltas


# The event for an exception of an HTTP client.
#
# Exceptions are recognized by the names of their packages and classes, so that no client is imported here.


_HTTPX: Mapping[str, FailureKind] = {
    "ConnectError": "connect",
    "ConnectTimeout": "connect",
    "TimeoutException": "timeout",
    "HTTPError": "broken",
    "InvalidURL": "broken",
}
_BY_PACKAGE: Mapping[str, Mapping[str, FailureKind]] = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "http": {"HTTPException": "broken"},
    "urllib": {"URLError": "broken"},
    "ssl": {"SSLCertVerificationError": "connect", "SSLError": "broken"},
    "socket": {"gaierror": "connect"},
    "asyncio": {"IncompleteReadError": "broken"},
    "builtins": {"TimeoutError": "timeout", "ConnectionRefusedError": "connect", "ConnectionError": "broken"},
}
"""The kind of failure by the package and the class of an exception; the nearest base class counts."""


def failure_event(ref: int, error: BaseException) -> RequestFailed:
    """The event for an exception of an HTTP client.

    Known are those of httpx and the standard library. One that has a response, such as that of
    ``raise_for_status``, becomes the event of the response.

    >>> failure_event(7, ConnectionRefusedError("nobody listens")).failure
    'connect'

    :param ref: of the ``SendRequest`` that failed
    :raises BaseException: the exception itself, if it is not a failure of a request: a bug, or a cancellation
    """
    given: Any = error
    reason = getattr(given, "reason", None)  # urllib.error.URLError wraps what says more
    inside = reason if isinstance(reason, BaseException) and _failure_kind(reason) else error
    if (kind := _failure_kind(inside)) is None:
        raise error
    response, body = getattr(given, "response", None), b""
    if response is None and _package_name_of_class(type(error)) == "urllib":
        # urllib's HTTPError is a response itself.
        response = given if hasattr(given, "read") else None
    if response is not None:
        with suppress(Exception):  # it was streamed, or is closed
            body = response.content if hasattr(response, "content") else response.read()
        status = getattr(response, "status_code", None) or response.code
        event = response_event(ref, status, response.headers, body)
        if isinstance(event, RequestFailed):
            return event
    name = type(inside).__name__
    return RequestFailed(ref, kind, f"{name}: {inside}" if str(inside) else name)


def _failure_kind(error: BaseException) -> FailureKind | None:
    for base in type(error).__mro__:
        if kind := _BY_PACKAGE.get(_package_name_of_class(base), {}).get(base.__name__):
            return kind
    return None


def _package_name_of_class(kind: type) -> str:
    return kind.__module__.partition(".")[0]
