"""A provider on this machine that plays the scripted models, and fails now and then as providers do."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Final, TypeAlias, get_args

from tests.patience import NEVER
from toolreel.evals import built_in_scenarios
from toolreel_core._conversation import Message
from toolreel_core._jsontext import canonical
from toolreel_core.evals import (
    Cell,
    Kind,
    Sample,
    ScenarioScripts,
    scripted_reply,
    scripted_stream,
)

__all__ = ["HOSTILE", "Provider", "provider"]

_Body: TypeAlias = dict[str, Any]

_KINDS: Final[tuple[Kind, ...]] = ("good", "good", "bad", "skipping")
_LOCAL: Final[dict[str, Kind]] = {f"local-{kind}": kind for kind in get_args(Kind)}
"""Models that play one kind, whatever is asked."""
HOSTILE: Final = (
    "</pre></details><script>alert('run')</script><img src=https://evil.example/x onerror=alert(1)>"
    " {{ 7 * 7 }} \x1b[31m \u202egnp.exe \ud800 <a href='https://evil.example/'>here</a> &amp; ]]>"
)
_FINALS: Final = {"local-hostile": HOSTILE, "local-megabyte": "<b>much</b> " * 90_000}
"""Models that say one thing."""
_IDENTIFIER: Final = re.compile(r"(?<=workspace_id=)[\w-]+")
_TRIALS: Final = 12
"""Trials of a scenario that it knows."""
_TROUBLES: Final = 4
"""Rate limiting, a server error, a cut answer, silence."""


@dataclass(slots=True)
class Provider:
    """What it does, and what it has seen."""

    url: str = ""
    outages: bool = False
    """Whether every fourth request fails when it comes for the first time."""
    down: bool = False
    """Whether every request does."""
    refused: str = ""
    """A model that every request for is answered with 403."""
    kinds: tuple[Kind, ...] = _KINDS
    """The models that it plays, chosen by the conversation."""
    worded: Callable[[_Body], _Body] = dict
    """What becomes of each reply before it is sent."""
    pace: float = 0.0
    """Seconds that every answer takes."""
    came: int = 0
    """Requests so far, answered or not."""
    seen: list[tuple[dict[str, str], _Body]] = field(default_factory=list)
    """Headers and body of each request."""
    paths: list[str] = field(default_factory=list)
    """What was asked for, with queries."""
    ended: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """How often each run came to its last reply, by model, scenario and the seed that it sends."""
    _troubled: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _closing: Event = field(default_factory=Event)

    def trouble(self, body: bytes) -> int | None:
        """Which trouble a request gets, if any."""
        digest = sha256(body).hexdigest()
        with self._lock:
            if self.down:
                return 1
            if not self.outages or digest in self._troubled:
                return None
            self._troubled.add(digest)
        kind = int(digest[:4], 16) % (4 * _TROUBLES)
        return kind if kind < _TROUBLES else None

    def keep(self, headers: dict[str, str], asked: _Body, *, last: bool) -> None:
        """Remember a request that was answered."""
        with self._lock:
            self.seen.append((headers, asked))
            if last:
                self.ended[asked["model"], _trial(asked["messages"]).scenario, asked.get("seed", 0)] += 1

    def wait(self, seconds: float) -> None:
        """Say nothing for so long, or until the test is over."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Let go of those that hang."""
        self._closing.set()


@contextmanager
def provider(
    *, outages: bool = False, kinds: tuple[Kind, ...] = _KINDS, worded: Callable[[_Body], _Body] = dict
) -> Generator[Provider]:
    """A provider that runs while the block does."""
    told = Provider(outages=outages, kinds=kinds, worded=worded)

    class Answering(_Answering):
        provider = told

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as http:
        http.daemon_threads = True
        http.block_on_close = False
        told.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield told
        finally:
            told.close()
            http.shutdown()
            thread.join()


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    provider: Provider

    def handle(self) -> None:
        with suppress(ConnectionError):  # a killed process hangs up
            super().handle()

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:  # its sender was killed
            self.close_connection = True
            return
        self.provider.came += 1
        self.provider.paths.append(self.path)
        self.provider.wait(self.provider.pace)
        if self.provider.refused and json.loads(body)["model"] == self.provider.refused:
            self._say(403, b'{"error": {"message": "not for you"}}')
            return
        trouble = self.provider.trouble(body)
        match trouble:
            case None:
                self._reply(body)
            case 0:
                self._say(429, b'{"error": {"message": "slow down"}}', {"retry-after": "0"})
            case 1:
                self._say(503, b'{"error": {"message": "down for the moment"}}')
            case 2:
                self._cut()
            case _:
                self.provider.wait(NEVER)
                self.close_connection = True

    def _reply(self, body: bytes) -> None:
        asked = json.loads(body)
        model, messages, kinds = asked["model"], asked["messages"], self.provider.kinds
        # By the model too, since the trials of all models are worded alike.
        digest = sha256(f"{model} {messages[min(1, len(messages) - 1)]['content']}".encode()).hexdigest()
        kind = _LOCAL.get(model, kinds[int(digest[:4], 16) % len(kinds)])
        if model in _FINALS:
            message = {"role": "assistant", "content": _FINALS[model]}
            reply: _Body = {"model": HOSTILE, "choices": [{"message": message, "finish_reason": "stop"}]}
        else:
            script = _trial(messages).scripts.of(kind)
            reply = self.provider.worded({**scripted_reply(script, messages, model=f"scripted:{kind}")})
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.provider.keep(headers, asked, last='"tool_calls"' not in canonical(reply))
        if asked.get("stream"):
            self._say(200, scripted_stream(reply).encode(), form="text/event-stream")
        else:
            self._say(200, json.dumps(reply).encode())  # a lone surrogate too

    def _say(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        form: str = "application/json",
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", form)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """One trial of a scenario."""

    scenario: str
    scripts: ScenarioScripts


@cache
def _openings() -> dict[str, _Trial]:
    """The trials by the words that their conversations begin with, which are drawn from their seeds."""
    found = dict[str, _Trial]()
    for one in built_in_scenarios():
        for trial in range(1, _TRIALS + 1):
            cell = Cell("any/model", "default", "raw", one.name)
            seed = Sample(cell, trial, one.version, "").seed
            opening = _opening(map(_words, one.begin(seed).messages))
            found.setdefault(opening, _Trial(one.name, one.scripts(seed)))
    return found


def _words(message: Message) -> str:
    return message.content


def _opening(texts: Iterable[str]) -> str:
    """The first words without the identifiers, which are of one run alone."""
    return _IDENTIFIER.sub("", "\n".join([*texts][:2]))


def _trial(messages: Sequence[Any]) -> _Trial:
    return _openings()[_opening(message["content"] for message in messages[:2])]
