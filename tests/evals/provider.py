"""A provider on this machine that plays the scripted models, and fails now and then as providers do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from subprocess import Popen
from threading import Lock
from typing import Any, TypeAlias, get_args

from tests.patience import NEVER, eventually
from tests.servers.chat_server import Answer, Seen, replying, serving, streaming
from toolreel.evals import built_in_scenarios, read_scenarios
from toolreel_core._conversation import wire_text
from toolreel_core._jsontext import canonical
from toolreel_core.evals import (
    Cell,
    Sample,
    ScenarioScripts,
    ScriptKind,
    reply_as_event_stream,
    scripted_reply,
)

_Body: TypeAlias = dict[str, Any]

_KINDS: tuple[ScriptKind, ...] = ("good", "good", "bad", "skipping")
_LOCAL: dict[str, ScriptKind] = {f"local-{kind}": kind for kind in get_args(ScriptKind)}
"""Models that play one kind, whatever is asked."""
HOSTILE = (
    "</pre></details><script>alert('run')</script><img src=https://evil.example/x onerror=alert(1)>"
    " {{ 7 * 7 }} \x1b[31m \u202egnp.exe \ud800 <a href='https://evil.example/'>here</a> &amp; ]]>"
)
_FINALS = {"local-hostile": HOSTILE, "local-megabyte": "<b>much</b> " * 90_000}
"""Models that say one thing."""
_IDENTIFIER = re.compile(r"(?<=workspace_id=)[\w-]+")
_TRIALS = 12
"""Trials of a scenario that it knows."""
_JSON = {"content-type": "application/json"}
_DOWN = replying({"error": {"message": "down for the moment"}}, 503)
_TROUBLES = (
    replace(replying({"error": {"message": "slow down"}}, 429), headers={**_JSON, "retry-after": "0"}),
    _DOWN,
    Answer(b'{"choices": [', headers=_JSON, promised=1000),
    Answer(delay=NEVER),
)


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
    kinds: tuple[ScriptKind, ...] = _KINDS
    """The models that it plays, chosen by the conversation."""
    worded: Callable[[_Body], _Body] = dict
    """What becomes of each reply before it is sent."""
    file: Path | None = None
    """A file whose scenarios it knows instead of the built-in ones."""
    pace: float = 0.0
    """Seconds that every answer takes."""
    requests: list[Seen] = field(default_factory=list)
    """All so far, answered or not."""
    ended: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """How often each run came to its last reply, by model, scenario and the seed that it sends."""
    _troubled: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def came(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def wait_for(self, requests: int, process: Popen[str]) -> None:
        """Wait until so many requests have come from a process, which goes on."""
        eventually(lambda: self.came >= requests or process.poll() is not None, f"{requests} requests")
        assert process.poll() is None, process.communicate()

    def answer(self, request: Seen) -> Answer:
        """What it does about a request."""
        asked = json.loads(request.body)
        if self.refused and asked["model"] == self.refused:
            answer = replying({"error": {"message": "not for you"}}, 403)
        else:
            answer = self._trouble(request.body) or self._reply(asked)
        return replace(answer, delay=max(answer.delay, self.pace))

    def _trouble(self, body: bytes) -> Answer | None:
        """Which trouble a request gets, if any."""
        digest = sha256(body).hexdigest()
        with self._lock:
            if self.down:
                return _DOWN
            if not self.outages or digest in self._troubled:
                return None
            self._troubled.add(digest)
        kind = int(digest[:4], 16) % (4 * len(_TROUBLES))
        return _TROUBLES[kind] if kind < len(_TROUBLES) else None

    def _reply(self, asked: _Body) -> Answer:
        model, messages = asked["model"], asked["messages"]
        trial = _openings(self.file)[_opening(messages)]
        # By the model too, since the trials of all models are worded alike.
        digest = sha256(f"{model} {messages[min(1, len(messages) - 1)]['content']}".encode()).hexdigest()
        kind = _LOCAL.get(model, self.kinds[int(digest[:4], 16) % len(self.kinds)])
        if model in _FINALS:
            message = {"role": "assistant", "content": _FINALS[model]}
            reply: _Body = {"model": HOSTILE, "choices": [{"message": message, "finish_reason": "stop"}]}
        else:
            script = trial.scripts.of(kind)
            reply = self.worded({**scripted_reply(script, messages, model=f"scripted:{kind}")})
        if '"tool_calls"' not in canonical(reply):
            with self._lock:
                self.ended[model, trial.scenario, asked.get("seed", 0)] += 1
        if asked.get("stream"):
            return streaming(reply_as_event_stream(reply))
        return Answer(json.dumps(reply).encode(), headers=_JSON)  # a lone surrogate too


@contextmanager
def provider(
    *,
    outages: bool = False,
    kinds: tuple[ScriptKind, ...] = _KINDS,
    worded: Callable[[_Body], _Body] = dict,
    file: Path | None = None,
) -> Generator[Provider]:
    """A provider that runs while the block does."""
    there = Provider(outages=outages, kinds=kinds, worded=worded, file=file)
    with serving(answering=there.answer) as server:
        there.url, there.requests = server.url, server.seen
        yield there


@dataclass(frozen=True, slots=True)
class _Trial:
    """One trial of a scenario."""

    scenario: str
    scripts: ScenarioScripts


@cache
def _openings(file: Path | None) -> dict[str, _Trial]:
    """The trials by the words that their conversations begin with, which are drawn from their seeds."""
    found = dict[str, _Trial]()
    for one in read_scenarios(file) if file else built_in_scenarios():
        for trial in range(1, _TRIALS + 1):
            cell = Cell("any/model", "default", "raw", one.name)
            seed = Sample(cell, trial, one.version, "").seed
            opening = _opening([json.loads(wire_text(message)) for message in one.begin(seed).messages])
            found.setdefault(opening, _Trial(one.name, one.scripts(seed)))
    return found


def _opening(messages: Sequence[_Body]) -> str:
    """The first words, but the model's, without the identifiers, which are of one run alone."""
    said = [message["content"] for message in messages[:2] if message["role"] != "assistant"]
    return _IDENTIFIER.sub("", "\n".join(said))
