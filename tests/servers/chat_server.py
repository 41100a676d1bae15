"""A real server for chat completions, on this machine: it answers from a script and misbehaves on demand."""

from __future__ import annotations

import gzip
import os
import re
import socket
import zlib
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Flag
from threading import Lock, Thread
from unittest.mock import patch

import pytest

from tests.patience import NEVER
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, FailureKind, RequestFailed, SendRequest
from toolreel_core._settings import LoopConfig

LIMIT = 64 * 1024
"""Bytes that an endpoint takes in, in these tests."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the server got it."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does about one request."""

    body: bytes = field(default=b"", repr=False)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    promised: int | None = None
    """The content length that is promised, where the connection drops before all of it has come."""
    raw: bytes | None = None
    """What is sent instead of HTTP; the connection is closed after it."""
    delay: float = 0.0
    """Seconds before anything is sent; cut short when the server is closed."""
    pieces: Sequence[bytes | float] = ()
    """What is sent instead of the body, piece by piece, in chunks; numbers are seconds of silence between."""
    ends: bool = True
    """Whether the last piece is told to be the last; else the connection drops."""


def replying(tree: Json, status: int = 200) -> Answer:
    """A body of JSON."""
    return Answer(canonical(tree).encode(), status, {"content-type": "application/json"})


def streaming(
    *pieces: str | float, content_type: str = "text/event-stream", encoding: str = "", ends: bool = True
) -> Answer:
    """A body that comes in pieces, with pauses in seconds; packed, each can be unpacked when it comes."""
    pack, finish = _packer(encoding)

    def sent(piece: str | float) -> bytes | float:
        return pack(piece.encode()) if isinstance(piece, str) else piece

    plain = "".join(piece for piece in pieces if isinstance(piece, str)).encode()
    given = [sent(piece) for piece in pieces]
    last = [finish()] if encoding else []
    headers = {"content-type": content_type, **({"content-encoding": encoding} if encoding else {})}
    return Answer(plain, headers=headers, pieces=(*given, *last), ends=ends)


def _packer(encoding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    """What packs one piece of a body so that it can be unpacked at once, and what ends the body."""
    match encoding:
        case "":
            return bytes, bytes
        case "br":
            import brotli  # packagers test the core without it

            br = brotli.Compressor(quality=1)
            return lambda data: br.process(data) + br.flush(), br.finish
        case "zstd":
            import zstandard

            zstd = zstandard.ZstdCompressor().compressobj()
            block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
            return lambda data: zstd.compress(data) + zstd.flush(block), zstd.flush
        case _:
            packer = zlib.compressobj(wbits=zlib.MAX_WBITS + (16 if encoding == "gzip" else 0))
            return lambda data: packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH), packer.flush


def chunk(content: str | None = None, finish: str | None = None, **further: Json) -> str:
    """One frame of a stream, with what is new of the reply."""
    delta: Json = {} if content is None else {"content": content}
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    tree = {"object": "chat.completion.chunk", "model": "m-1", "choices": [choice], **further}
    return f"data: {canonical(tree)}\n\n"


@cache
def bomb(mebibytes: int, encoding: str) -> Answer:
    """Zeros, packed to a thousandth or less."""
    pack, finish = _packer(encoding)
    body = b"".join(pack(bytes(1024 * 1024)) for _ in range(mebibytes)) + finish()
    return Answer(body, headers={"content-encoding": encoding})


@dataclass(slots=True)
class ChatServer:
    """What the server is known by, and what it has seen."""

    url: str
    seen: list[Seen]
    missing: int = 0
    """Requests that the script had no answer for."""
    connections: int = 0
    """How many were opened."""
    closed: int = 0
    """How many of them the client has closed."""


@contextmanager
def serving(*script: Answer, answering: Callable[[Seen], Answer] | None = None) -> Generator[ChatServer]:
    """Answer one request after another from a script, all of which must be asked for; or by a function."""
    left, lock, closing = deque(script), Lock(), Flag()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body go out apart, and the second would wait

        def handle(self) -> None:
            with lock:
                server.connections += 1
            with suppress(ConnectionError):  # a client that has seen enough hangs up
                super().handle()
            with lock:
                server.closed += 1

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            if len(body) < length:  # its sender was killed
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.path, headers, body, self.command)
            with lock:
                server.seen.append(seen)
                server.missing += not (left or answering)
                answer = left.popleft() if left else Answer(b"the script is over", 599)
            answer = answering(seen) if answering else answer
            closing.wait(answer.delay)
            if answer.pieces:
                self._stream(answer)
            else:
                self._give(answer)

        do_GET = do_POST  # noqa: N815 - its name in the base class

        def _give(self, answer: Answer) -> None:
            if answer.raw is None:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(answer.promised or len(answer.body)))
                self.end_headers()
            self.wfile.write(answer.body if answer.raw is None else answer.raw)
            self.close_connection = answer.raw is not None or answer.promised is not None

        def _stream(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in {**answer.headers, "transfer-encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in answer.pieces:
                if isinstance(piece, bytes):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                else:
                    closing.wait(piece)
            self.wfile.write(b"0\r\n\r\n" if answer.ends else b"")
            self.close_connection = not answer.ends

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http, patch.dict(os.environ, {"NO_PROXY": "*"}):
        server = ChatServer(f"http://127.0.0.1:{http.server_address[1]}", [])
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            closing.set()
            http.shutdown()
            thread.join()
    if left or server.missing:
        pytest.fail(f"{len(left)} answers were never asked for, {server.missing} requests too many came")


@contextmanager
def nobody_listens() -> Generator[str]:
    """A URL on this machine at which no server answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, so that nobody else takes it, but not listening
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def asking(text: str = "hi", ref: int = 1, *, stream: bool = False) -> SendRequest:
    """The effect that asks a model this."""
    match start(
        Plan.of(model="m", messages=text, config=LoopConfig(stream="final" if stream else "never"))
    ).effects:
        case (SendRequest(_, request),):
            return SendRequest(ref, request)
        case effects:
            raise AssertionError(effects)


@dataclass(frozen=True, slots=True)
class FarSide:
    """Something that a server does, and the failure that its client sees."""

    answer: Answer
    failure: FailureKind
    message: str
    """A pattern for it: some of it are the words of httpx."""
    status: int | None = None
    body: str = ""

    def failed(self, ref: int, event: Event) -> RequestFailed:
        """The event that is expected, in the words in which it came if they fit the pattern."""
        said = event.message if isinstance(event, RequestFailed) else ""
        message = said if re.search(self.message, said) else self.message
        return RequestFailed(ref, self.failure, message, self.status, self.body)


def _refusing(status: int, body: bytes, said: str) -> FarSide:
    return FarSide(Answer(body, status), "status", f"^HTTP {status}: {said}$", status, body.decode())


def _undecodable(encoding: str, body: bytes, said: str) -> FarSide:
    return FarSide(Answer(body, headers={"content-encoding": encoding}), "broken", said, 200)


STALL = 0.2
"""Seconds after which a stream stalls, in these tests."""
SILENCE: tuple[str | float, ...] = ("\n", 0.05) * 40
KEPT_ALIVE: tuple[str | float, ...] = (": OPENROUTER PROCESSING\n\n", 0.05, chunk(), 0.05) * 20

FAR_SIDES: Mapping[str, FarSide] = {
    "is silent": FarSide(Answer(delay=NEVER), "timeout", "^ReadTimeout"),
    "hangs up at once": FarSide(Answer(raw=b""), "broken", "^RemoteProtocolError: Server disconnected"),
    "hangs up in the middle": FarSide(
        Answer(b'{"choices":', promised=500),
        "broken",
        "^RemoteProtocolError: peer closed connection",
    ),
    "sends too much": FarSide(
        Answer(bytes(LIMIT + 1)), "too_large", f"^the response body is larger than {LIMIT} bytes", 200
    ),
    "sends too much, packed": FarSide(
        Answer(gzip.compress(bytes(LIMIT + 1)), headers={"content-encoding": "gzip"}),
        "too_large",
        f"larger than {LIMIT} bytes when decoded$",
        200,
    ),
    "speaks as nobody does": _undecodable("compress", b"hi", "^content-encoding 'compress' is not supported"),
    "packs badly": _undecodable("gzip", b"<html>", "^the gzip body is corrupt"),
    "refuses like OpenAI": _refusing(401, b'{"error":{"message":"No such key."}}', "No such key."),
    "breaks off in mid-stream": FarSide(
        streaming(chunk("Hel"), ends=False),
        "broken",
        "^RemoteProtocolError: peer closed connection",
    ),
    "keeps a stream alive that says nothing": FarSide(
        streaming(chunk("Hel"), *KEPT_ALIVE), "timeout", f"^no meaningful data for {STALL} s", 200
    ),
    "promises a stream and says nothing": FarSide(
        streaming(*SILENCE), "timeout", f"^no meaningful data for {STALL} s", 200
    ),
    "streams too much": FarSide(
        streaming(*[chunk("x" * 1_000)] * 100),
        "too_large",
        f"^the response body is larger than {LIMIT} bytes",
        200,
    ),
    "packs a stream badly": FarSide(
        replace(streaming(chunk("Hel")), headers={"content-encoding": "gzip"}), "broken", "corrupt", 200
    ),
    "refuses as a stream": FarSide(
        replace(streaming(chunk("Hel")), status=500), "status", "^HTTP 500: data: {", 500, chunk("Hel")
    ),
}
