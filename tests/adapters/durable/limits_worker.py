"""A worker process of the tests: sends requests within shared limits, and says when each one started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from toolreel.durable import Limits, limited
from toolreel_core import Plan, start
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest

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


def send_all(parent: Connection, accounts: Sequence[Limits], count: int) -> None:
    """Send this many requests to each account, once the parent says so, and tell it when they started."""
    effect, notings = request(), [Noting() for _ in accounts]
    endpoints = [limited(noting, limits) for noting, limits in zip(notings, accounts, strict=True)]
    parent.send("ready")
    parent.recv()

    def send(at: int) -> None:
        for _ in range(count):
            assert isinstance(endpoints[at].send(effect), ReplyReceived)
        endpoints[at].close()

    with ThreadPoolExecutor(len(accounts)) as threads:
        list(threads.map(send, range(len(accounts))))
    parent.send([noting.starts for noting in notings])
