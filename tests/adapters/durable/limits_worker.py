"""A worker process of the tests: sends requests within shared limits, and writes down when each one started.

Arguments: the database, the limits as JSON, how many requests, and the file for the starts. It begins when a
line comes on stdin, so that all workers begin together.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from toolreel.durable import Limits, limited
from toolreel_core import Plan, start
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

__all__ = ["Noting", "main", "request"]

REPLY = '{"choices":[{"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}'


class Noting:
    """An endpoint that notes when each request starts."""

    def __init__(self) -> None:
        self.starts: list[float] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        self.starts.append(time.time())
        return ReplyReceived(effect.ref, 200, REPLY)


def request(text: str = "hi") -> SendRequest:
    (effect,) = start(Plan.of(model="m", messages=text)).effects
    assert isinstance(effect, SendRequest)
    return effect


def main(database: str, settings: str, count: str, path: str) -> None:
    noting, effect = Noting(), request()
    endpoint = limited(noting, Limits(database=database, **json.loads(settings)))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for _ in range(int(count)):
        answer = endpoint.send(effect)
        assert isinstance(answer, ReplyReceived), answer
    endpoint.close()
    Path(path).write_text(json.dumps(noting.starts))


if __name__ == "__main__":
    main(*sys.argv[1:])
