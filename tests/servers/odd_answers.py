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
    "HTTP/1.0 no length": (b"HTTP/1.0 200 OK\r\n\r\n" + BODY, REPLY),
    "HTTP/2 in text": (whole().replace(b"HTTP/1.1", b"HTTP/2.0"), REPLY),
    "HTTP/1.2": (whole().replace(b"HTTP/1.1", b"HTTP/1.2"), REPLY),
    "no reason": (whole(b"200"), REPLY),
    "no reason, blank": (whole(b"200 "), REPLY),
    "odd reason": (whole("200 Größe".encode()), REPLY),
    "latin reason": (whole(b"200 Gr\xf6\xdfe"), REPLY),
    "reason with nul": (whole(b"200 a\x00b"), BROKEN),
    "reason with tab": (whole(b"200 a\tb"), REPLY),
    "two digits": (whole(b"20 OK"), BROKEN),
    "four digits": (whole(b"2000 OK"), BROKEN),
    "negative": (whole(b"-200 OK"), BROKEN),
    "letters": (whole(b"OK"), BROKEN),
    "000": (whole(b"000 Zero"), BROKEN),
    "099": (whole(b"099 Low"), BROKEN),
    "299": (whole(b"299 High"), reply(status=299)),
    "600": (whole(b"600 Six"), refused(600, '{"ok":1}')),
    "999": (whole(b"999 Nine"), refused(999, '{"ok":1}')),
    "lower case http": (whole().replace(b"HTTP", b"http"), BROKEN),
    "blank line first": (b"\r\n" + whole(), BROKEN),
    "two blanks": (whole().replace(b"HTTP/1.1 200", b"HTTP/1.1  200"), BROKEN),
    "bare LF": (whole().replace(b"\r\n", b"\n"), REPLY),
    "empty": (b"", BROKEN),
    "garbage": (b"\x00\x01\x02\x03" * 20 + b"\r\n\r\n", BROKEN),
    "tls alert": (b"\x15\x03\x01\x00\x02\x02(", BROKEN),
    "html": (b"<html>no</html>\r\n\r\n", BROKEN),
    # 1xx
    "100 then 200": (b"HTTP/1.1 100 Continue\r\n\r\n" + whole(), REPLY),
    "103 then 200": (b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + whole(), REPLY),
    "102 x20": (b"HTTP/1.1 102 P\r\n\r\n" * 20 + whole(), REPLY),
    "100 and end": (b"HTTP/1.1 100 Continue\r\n\r\n", BROKEN),
    "101": (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", BROKEN),
    "101 no upgrade": (b"HTTP/1.1 101 Switching\r\n\r\n", BROKEN),
    # No content
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", reply("", status=204)),
    "204 with body": (whole(b"204 No Content"), reply("", status=204)),
    "205": (whole(b"205 Reset", body=b""), reply("", status=205)),
    "205 with body": (whole(b"205 Reset"), reply(status=205)),
    "206": (whole(b"206 Partial"), reply(status=206)),
    "304": (b"HTTP/1.1 304 Not Modified\r\n\r\n", refused(304, "")),
    "304 with body": (whole(b"304 Not Modified"), refused(304, "")),
    "201": (whole(b"201 Created"), reply(status=201)),
    "200 empty": (whole(body=b""), reply("")),
    # Redirects
    "301": (whole(b"301 Moved", b"location: http://elsewhere.invalid/\r\n", b"gone"), refused(301, "gone")),
    "302 relative": (whole(b"302 Found", b"location: /x\r\n", b"gone"), refused(302, "gone")),
    "303": (whole(b"303 See", b"location: /x\r\n", b"gone"), refused(303, "gone")),
    "307": (whole(b"307 T", b"location: /x\r\n", b"gone"), refused(307, "gone")),
    "308": (whole(b"308 P", b"location: /x\r\n", b"gone"), refused(308, "gone")),
    "300": (whole(b"300 Multi", b"location: /x\r\n", b"gone"), refused(300, "gone")),
    "307 bad location": (whole(b"307 T", b"location: http://a..b:99999/\r\n", b"gone"), refused(307, "gone")),
    "307 empty location": (whole(b"307 T", b"location:\r\n", b"gone"), refused(307, "gone")),
    "307 no location": (whole(b"307 T", b"", b"gone"), refused(307, "gone")),
    "307 odd scheme": (whole(b"307 T", b"location: foo:bar\r\n", b"gone"), BROKEN),
    "307 bytes": (whole(b"307 T", b"location: http://\xff\xfe/\r\n", b"gone"), refused(307, "gone")),
    "307 ipv6": (whole(b"307 T", b"location: http://[::1\r\n", b"gone"), BROKEN),
    # Lengths
    "too long": (whole(length=b"500"), BROKEN),
    "too short": (whole(length=b"3"), reply('{"o')),
    "zero": (whole(length=b"0"), reply("")),
    "negative length": (whole(length=b"-1"), BROKEN),
    "plus length": (whole(length=b"+8"), BROKEN),
    "letters length": (whole(length=b"eight"), BROKEN),
    "hex length": (whole(length=b"0x8"), BROKEN),
    "huge length": (whole(length=b"9" * 30), BROKEN),
    "two same": (whole(headers=b"content-length: 8\r\n"), REPLY),
    "two different": (whole(headers=b"content-length: 9\r\n"), BROKEN),
    "list same": (whole(length=b"8, 8"), REPLY),
    "list diff": (whole(length=b"8, 9"), BROKEN),
    "empty length": (whole(length=b""), BROKEN),
    "no length": (whole(length=False), REPLY),
    "no length, cut": (whole(length=False, body=b'{"ok"'), reply('{"ok"')),
    "float length": (whole(length=b"8.0"), BROKEN),
    "blank length": (whole(length=b" 8 "), REPLY),
    # Chunks and transfer encodings
    "chunked": (chunked(b"8\r\n" + BODY + b"\r\n0\r\n\r\n"), REPLY),
    "chunk ext": (chunked(b"8;a=b\r\n" + BODY + b"\r\n0\r\n\r\n"), REPLY),
    "trailers": (chunked(b"8\r\n" + BODY + b"\r\n0\r\nx: y\r\n\r\n"), REPLY),
    "upper hex": (chunked(b"A\r\n" + b'{"ok":100}' + b"\r\n0\r\n\r\n"), reply('{"ok":100}')),
    "chunk cut": (chunked(b'8\r\n{"ok"'), BROKEN),
    "chunk no end": (chunked(b"8\r\n" + BODY + b"\r\n"), BROKEN),
    "chunk bad size": (chunked(b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"), BROKEN),
    "chunk neg": (chunked(b"-8\r\n" + BODY + b"\r\n0\r\n\r\n"), BROKEN),
    "chunk huge": (chunked(b"F" * 30 + b"\r\n" + BODY), BROKEN),
    "chunk and length": (chunked(b"8\r\n" + BODY + b"\r\n0\r\n\r\n", b"content-length: 8\r\n"), REPLY),
    "chunk bad end": (chunked(b"8\r\n" + BODY + b"xx0\r\n\r\n"), BROKEN),
    "chunk LF": (chunked(b"8\n" + BODY + b"\n0\n\n"), BROKEN),
    "chunked twice": (chunked(b"8\r\n" + BODY + b"\r\n0\r\n\r\n", b"transfer-encoding: chunked\r\n"), BROKEN),
    "transfer-encoding gzip, chunked": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n8\r\n" + BODY + b"\r\n0\r\n\r\n",
        BROKEN,
    ),
    "transfer-encoding identity": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 8\r\n\r\n" + BODY,
        BROKEN,
    ),
    "transfer-encoding unknown": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: foo\r\n\r\n" + BODY, BROKEN),
    "transfer-encoding upper": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n8\r\n" + BODY + b"\r\n0\r\n\r\n",
        REPLY,
    ),
    "chunked 1.0": (chunked(b"8\r\n" + BODY + b"\r\n0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"), REPLY),
    # Content encodings
    "gzip": (whole(headers=b"content-encoding: gzip\r\n", body=gzip.compress(BODY)), REPLY),
    "GZIP": (whole(headers=b"content-encoding: GZIP\r\n", body=gzip.compress(BODY)), REPLY),
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
    "gzip, identity": (
        whole(headers=b"content-encoding: gzip, identity\r\n", body=gzip.compress(BODY)),
        broken(200),
    ),
    "gzip, list": (
        whole(headers=b"content-encoding: gzip, gzip\r\n", body=gzip.compress(gzip.compress(BODY))),
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
    "identity then gzip": (
        whole(headers=b"content-encoding: identity\r\ncontent-encoding: gzip\r\n", body=gzip.compress(BODY)),
        broken(200),
    ),
    # Headers
    "content-type bytes": (whole(headers=b"content-type: \xff\xfe\r\n"), REPLY),
    "content-type utf8": (whole(headers="content-type: größe\r\n".encode()), REPLY),
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
    "no colon": (whole(headers=b"nocolon\r\n"), BROKEN),
    "blank name": (whole(headers=b" x: y\r\n"), BROKEN),
    "blank before colon": (whole(headers=b"x : y\r\n"), BROKEN),
    "folded": (whole(headers=b"x: y\r\n z\r\n"), REPLY),
    "empty name": (whole(headers=b": y\r\n"), BROKEN),
    "nul value": (whole(headers=b"x: a\x00b\r\n"), BROKEN),
    "control value": (whole(headers=b"x: a\x01b\r\n"), REPLY),
    "cr value": (whole(headers=b"x: a\rb\r\n"), BROKEN),
    "bytes name": (whole(headers=b"x\xff: y\r\n"), BROKEN),
    "bytes value": (whole(headers=b"x: \xff\r\n"), REPLY),
    "200 headers": (whole(headers=b"x: y\r\n" * 200), REPLY),
    "90 headers": (whole(headers=b"x: y\r\n" * 90), REPLY),
    "101 headers": (whole(headers=b"x: y\r\n" * 105), REPLY),
    "long header": (whole(headers=b"x: " + b"y" * 50000 + b"\r\n"), REPLY),
    "very long header": (whole(headers=b"x: " + b"y" * 2000000 + b"\r\n"), BROKEN),
    "set-cookie": (whole(headers=b"set-cookie: a=b\r\n"), REPLY),
    "connection close": (whole(headers=b"connection: close\r\n"), REPLY),
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
    "extra": (whole() + b"HTTP/1.1 500 no\r\ncontent-length: 0\r\n\r\n", REPLY),
    "null": (whole(body=b"null"), reply("null")),
    "401": (whole(b"401 No", b"www-authenticate: Basic\r\n", b"no"), refused(401)),
    "407": (whole(b"407 Proxy", b"proxy-authenticate: Basic\r\n", b"no"), refused(407)),
    "418": (whole(b"418 Tea", b"", b"no"), refused(418)),
    "408": (whole(b"408 Timeout", b"connection: close\r\n", b"no"), refused(408)),
    "417": (whole(b"417 Exp", b"", b"no"), refused(417)),
    "421": (whole(b"421 Mis", b"", b"no"), refused(421)),
    "500 cut": (whole(b"500 Oops", b"", b"no", b"50"), BROKEN),
    "500 bad bytes": (whole(b"500 Oops", b"", b"\xff\xfe"), refused(500, "\ufffd\ufffd")),
    "503 empty": (whole(b"503 Oops", b"", b""), refused(503, "")),
}
