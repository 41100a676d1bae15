"""A worker of the shop as a process of its own, for tests that kill it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.adapters.durable.shop import Shop
from toolreel.durable import Worker
from toolreel.errors import DurableError


def work(database: str, log: Path, slot: str) -> None:
    """Work until the slot is lost; begun again, as by a supervisor, after a restart of the database."""
    while True:
        try:
            with Worker(Shop(log).ports, database, slot=slot, poll_seconds=0.05, concurrency=4) as worker:
                while not worker.is_lost:
                    time.sleep(0.05)
            return
        except DurableError:
            time.sleep(0.1)
