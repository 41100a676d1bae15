"""A worker of the shop as a process of its own, for tests that kill it: ``a_worker.py URL LOG SLOT``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.adapters.durable.shop import Shop
from toolreel.durable import Worker

if __name__ == "__main__":
    url, log, slot = sys.argv[1:]
    with Worker(Shop(Path(log)).ports, url, slot=slot, poll_seconds=0.05, concurrency=4) as worker:
        while not worker.is_lost:
            time.sleep(0.05)
