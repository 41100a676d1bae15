"""Odd answers of a server, and what each of them means, whichever endpoint has asked.

A meaning is an event with the ref 0 and without a message, whose words are those of httpx.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Final, TypeAlias

from toolreel_core._protocol import ReplyReceived, RequestFailed

Meaning: TypeAlias = ReplyReceived | RequestFailed

BODY: Final = b'{"ok":1}'


def whole(
    status: bytes = b"200 OK", headers: bytes = b"", body: bytes = BODY, length: bytes | bool = True
) -> bytes:
    """A response with a length, with another one, or with none."""
    told = b"%d" % len(body) if length is True else length
    line = b"" if told is False else b"content-length: %b\r\n" % told
    return b"HTTP/1.1 %b\r\n%b%b\r\n%b" % (status, headers, line, body)


def chunked(chunks: bytes, headers: bytes = b"") -> bytes:
    """A response in these chunks."""
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n%b\r\n%b" % (headers, chunks)


def reply(body: str = BODY.decode(), status: int = 200) -> ReplyReceived:
    """It is read as a reply."""
    return ReplyReceived(0, status, body)


def refused(status: int, body: str = "no", retry_after_ms: int | None = None) -> RequestFailed:
    """It is a refusal."""
    return RequestFailed(0, "status", "", status, body, retry_after_ms)


def broken(status: int | None = None) -> RequestFailed:
    """It can't be read; with a status, its body can't."""
    return RequestFailed(0, "broken", "", status)


REPLY: Final = reply()
BROKEN: Final = broken()

ODD_ANSWERS: Final[Mapping[str, tuple[bytes, Meaning]]] = {
    # Status lines
    "plain": (whole(), REPLY),
    "HTTP/1.0": (whole().replace(b"HTTP/1.1", b"HTTP/1.0"), REPLY),
    "999": (whole(b"999 Nine"), refused(999, '{"ok":1}')),
    "empty": (b"", BROKEN),
    "html": (b"<html>no</html>\r\n\r\n", BROKEN),
    # 1xx
    "100 then 200": (b"HTTP/1.1 100 Continue\r\n\r\n" + whole(), REPLY),
    "102 x20": (b"HTTP/1.1 102 P\r\n\r\n" * 20 + whole(), REPLY),
    "101": (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", BROKEN),
    # No content
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", reply("", status=204)),
    "304": (b"HTTP/1.1 304 Not Modified\r\n\r\n", refused(304, "")),
    "201": (whole(b"201 Created"), reply(status=201)),
    "200 empty": (whole(body=b""), reply("")),
    # Redirects
    "301": (whole(b"301 Moved", b"location: http://elsewhere.invalid/\r\n", b"gone"), refused(301, "gone")),
    "307 bad location": (whole(b"307 T", b"location: http://a..b:99999/\r\n", b"gone"), refused(307, "gone")),
    "307 no location": (whole(b"307 T", b"", b"gone"), refused(307, "gone")),
    "307 odd scheme": (whole(b"307 T", b"location: foo:bar\r\n", b"gone"), BROKEN),
    "307 ipv6": (whole(b"307 T", b"location: http://[::1\r\n", b"gone"), BROKEN),
    # Lengths
    "too long": (whole(length=b"500"), BROKEN),
    "too short": (whole(length=b"3"), reply('{"o')),
    "no length": (whole(length=False), REPLY),
    # Chunks and transfer encodings
    "chunked": (chunked(b"8\r\n" + BODY + b"\r\n0\r\n\r\n"), REPLY),
    "trailers": (chunked(b"8\r\n" + BODY + b"\r\n0\r\nx: y\r\n\r\n"), REPLY),
    "chunk cut": (chunked(b'8\r\n{"ok"'), BROKEN),
    # Content encodings
    "gzip": (whole(headers=b"content-encoding: gzip\r\n", body=gzip.compress(BODY)), REPLY),
    "gzip lie": (whole(headers=b"content-encoding: gzip\r\n"), broken(200)),
    "gzip cut": (whole(headers=b"content-encoding: gzip\r\n", body=gzip.compress(BODY)[:-5]), broken(200)),
    "gzip rest": (
        whole(headers=b"content-encoding: gzip\r\n", body=gzip.compress(BODY) + b"xx"),
        broken(200),
    ),
    "gzip twice": (
        whole(
            headers=b"content-encoding: gzip\r\ncontent-encoding: gzip\r\n",
            body=gzip.compress(gzip.compress(BODY)),
        ),
        broken(200),
    ),
    "identity": (whole(headers=b"content-encoding: identity\r\n"), REPLY),
    "content-encoding empty": (whole(headers=b"content-encoding:\r\n"), REPLY),
    "content-encoding bytes": (whole(headers=b"content-encoding: \xff\r\n"), broken(200)),
    "content-encoding unknown": (whole(headers=b"content-encoding: foo\r\n"), broken(200)),
    "gzip empty": (whole(headers=b"content-encoding: gzip\r\n", body=b""), reply("")),
    "gzip 500": (
        whole(b"500 Oops", b"content-encoding: gzip\r\n", gzip.compress(b'{"error":"no"}')),
        refused(500, '{"error":"no"}'),
    ),
    # Headers
    "content-type bytes": (whole(headers=b"content-type: \xff\xfe\r\n"), REPLY),
    "content-type html": (whole(headers=b"content-type: text/html\r\n"), REPLY),
    "content-type twice": (
        whole(headers=b"content-type: text/html\r\ncontent-type: text/event-stream\r\n"),
        REPLY,
    ),
    "content-type stream": (whole(headers=b"content-type: text/event-stream\r\n"), REPLY),
    "content-type latin1": (
        whole(headers=b"content-type: application/json; charset=latin-1\r\n", body=b'{"ok":"\xe9"}'),
        reply('{"ok":"\ufffd"}'),
    ),
    "bytes value": (whole(headers=b"x: \xff\r\n"), REPLY),
    "200 headers": (whole(headers=b"x: y\r\n" * 200), REPLY),
    "very long header": (whole(headers=b"x: " + b"y" * 2000000 + b"\r\n"), BROKEN),
    "set-cookie": (whole(headers=b"set-cookie: a=b\r\n"), REPLY),
    "retry-after bytes": (whole(b"429 Slow", b"retry-after: \xff\r\n", b"no"), refused(429)),
    "retry-after": (whole(b"429 Slow", b"retry-after: 3\r\n", b"no"), refused(429, retry_after_ms=3000)),
    "retry-after twice": (whole(b"429 Slow", b"retry-after: 3\r\nretry-after: 4\r\n", b"no"), refused(429)),
    "date bytes": (
        whole(b"429 Slow", b"retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\ndate: \xff\r\n", b"no"),
        refused(429),
    ),
    # Bodies
    "bom": (whole(body=b"\xef\xbb\xbf" + BODY), reply('\ufeff{"ok":1}')),
    "utf-16": (
        whole(body='{"ok":1}'.encode("utf-16")),
        reply('\ufffd\ufffd{\x00"\x00o\x00k\x00"\x00:\x001\x00}\x00'),
    ),
    "bad utf8": (whole(body=b'{"ok":"\xff"}'), reply('{"ok":"\ufffd"}')),
    "blanks": (whole(body=b" \n"), reply(" \n")),
    "html body": (whole(body=b"<html>"), reply("<html>")),
    "null": (whole(body=b"null"), reply("null")),
    "401": (whole(b"401 No", b"www-authenticate: Basic\r\n", b"no"), refused(401)),
    "500 cut": (whole(b"500 Oops", b"", b"no", b"50"), BROKEN),
    "500 bad bytes": (whole(b"500 Oops", b"", b"\xff\xfe"), refused(500, "\ufffd\ufffd")),
    "503 empty": (whole(b"503 Oops", b"", b""), refused(503, "")),
}
