"""Odd answers of a server, and what each of them means, whichever endpoint has asked.

They are rows of tests/corpora/odd-answers.jsonl, each byte a character. A meaning is an event with the ref 0
and without a message, whose words are those of httpx.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from toolreel_core._protocol import Event, RequestFailed, load_event

Meaning: TypeAlias = Event

BODY = b'{"ok":1}'


def whole(status: bytes = b"200 OK", headers: bytes = b"", body: bytes = BODY, length: bool = True) -> bytes:
    """A response with its length, or with none."""
    line = b"content-length: %d\r\n" % len(body) if length else b""
    return b"HTTP/1.1 %b\r\n%b%b\r\n%b" % (status, headers, line, body)


_FILE = Path(__file__).resolve().parents[1] / "corpora" / "odd-answers.jsonl"
ODD_ANSWERS: Mapping[str, tuple[bytes, Meaning]] = {
    "very long header": (whole(headers=b"x: " + b"y" * 2_000_000 + b"\r\n"), RequestFailed(0, "broken", "")),
    **{
        row["odd"]: (row["raw"].encode("latin-1"), load_event(json.dumps(row["means"])))
        for row in map(json.loads, _FILE.read_text("utf-8").splitlines())
    },
}
