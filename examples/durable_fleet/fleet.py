"""Keep workers running: ``python fleet.py 3`` starts three, and starts each again that dies.

A worker that starts again in its slot takes up the runs that it left. Further arguments go to the workers:
with ``--until-idle`` they end when nothing is left to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time


def start(slot: str, *options: str) -> subprocess.Popen[bytes]:
    """A worker in a process of its own."""
    command = [sys.executable, "-m", "toolreel", "durable", "worker", "--slot", slot]
    server = ["--base-url", os.environ["TOOLREEL_BASE_URL"], "--tools", "orders:TOOLS"]
    worker = subprocess.Popen([*command, *server, *options])
    print(f"{slot} is process {worker.pid}", flush=True)
    return worker


def main(count: int, *options: str) -> None:
    """Run workers until each has ended by itself."""
    workers = {slot: start(slot, *options) for slot in (f"worker-{n}" for n in range(1, count + 1))}
    while workers:
        time.sleep(0.2)
        for slot, worker in list(workers.items()):
            if worker.poll() == 0:
                del workers[slot]
            elif worker.returncode is not None:
                print(f"{slot} died with {worker.returncode}", flush=True)
                workers[slot] = start(slot, *options)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
