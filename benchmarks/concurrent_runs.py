"""Many runs of ten turns at once in one process: runs a CPU second, and the memory that they take.

    python -m benchmarks.concurrent_runs --runs 1000

Each way has a process of its own, since memory that was once taken does not show again. ``httpx, raw`` is a
loop that does nothing but post: ``one client`` for all, as most programs have it, or a ``transport a run``;
``httpcore, raw`` has a connection of httpcore for each run, on which such a transport stands, with few
headers and no timeouts. ``asyncio's streams`` is the floor of any client on asyncio.

1,000 runs on two shared cores of an AMD EPYC, Python 3.11:

                                          runs a CPU second   MiB more
    core alone                                    637 to 819          5
    toolreel, httpx                               129 to 168         36
    toolreel, httpx, an endpoint a run                   139         41
    httpx, raw, one client                                11         31
    httpx, raw, a transport a run                        130         28
    asyncio's streams, raw                             1,601          7
    httpcore, raw, a connection a run                    228         24

Over httpx, three pairs of series in a row made 142 to 182, and 181 to 229 rarely collected. Budgets: at least
100 runs a CPU second, in at most 75 MiB.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import process_time
from urllib.parse import urlsplit

import httpcore
import httpx

from benchmarks.servers.scripted import scripted_server
from benchmarks.servers.session import PLAN, AsyncScripted, AsyncStock
from toolreel import AsyncPorts, arun
from toolreel.http import AsyncHttpEndpoint
from toolreel.ports import AsyncEndpoint

TURNS = 10
_BODY = b'{"model":"m","messages":[]}'
Runs = Callable[[str, int], Awaitable[None]]
"""Performs this many runs at once against a base URL."""


async def one(endpoint: AsyncEndpoint) -> None:
    """A run of toolreel."""
    done = await arun(PLAN, AsyncPorts(endpoint, AsyncStock()))
    if done.state.tally.turns != TURNS:
        raise RuntimeError(f"a run went wrong: {done.outcome}")


async def core(_base: str, runs: int) -> None:
    """With no HTTP at all."""
    await asyncio.gather(*(one(AsyncScripted(TURNS)) for _ in range(runs)))


async def shared(base: str, runs: int) -> None:
    """One endpoint for all."""
    async with AsyncHttpEndpoint(f"{base}/turns/{TURNS}/v1") as endpoint:
        await asyncio.gather(*(one(endpoint) for _ in range(runs)))


async def each_its_own(base: str, runs: int) -> None:
    """An endpoint for each run."""

    async def own() -> None:
        async with AsyncHttpEndpoint(f"{base}/turns/{TURNS}/v1") as endpoint:
            await one(endpoint)

    await asyncio.gather(*(own() for _ in range(runs)))


async def rarely_collected(base: str, runs: int) -> None:
    """The same as :func:`shared`, with a collector of cycles that looks at all runs less often."""
    gc.set_threshold(50_000, 20, 20)
    await shared(base, runs)


async def raw_client(base: str, runs: int) -> None:
    """One client of httpx for all."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None) as client:  # noqa: S113 - all wait for their turn

        async def post() -> None:
            for _ in range(TURNS):
                (await client.post(f"{base}/turns/{TURNS}/v1/chat/completions", content=_BODY)).json()

        await asyncio.gather(*(post() for _ in range(runs)))


async def raw_transports(base: str, runs: int) -> None:
    """A transport of httpx for each run: what it costs at least to speak through httpx."""
    tls = httpx.create_ssl_context()
    headers = {"host": "127.0.0.1", "content-length": str(len(_BODY))}
    url = httpx.URL(f"{base}/turns/{TURNS}/v1/chat/completions")

    async def post() -> None:
        async with httpx.AsyncHTTPTransport(verify=tls) as transport:
            for _ in range(TURNS):
                asked = httpx.Request("POST", url, headers=headers, stream=httpx.ByteStream(_BODY))
                json.loads(await (await transport.handle_async_request(asked)).aread())

    await asyncio.gather(*(post() for _ in range(runs)))


async def raw_streams(base: str, runs: int) -> None:
    """A connection of asyncio for each run, with no client at all: the least that Python can do."""
    address = urlsplit(base)
    head = f"POST /turns/{TURNS}/v1/chat/completions HTTP/1.1\r\nhost: {address.netloc}\r\n"
    asked = f"{head}content-length: {len(_BODY)}\r\n\r\n".encode() + _BODY

    async def post() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for _ in range(TURNS):
            writer.write(asked)
            told = await reader.readuntil(b"\r\n\r\n")
            json.loads(await reader.readexactly(int(told.rpartition(b": ")[2])))
        writer.close()

    await asyncio.gather(*(post() for _ in range(runs)))


async def raw_connections(base: str, runs: int) -> None:
    """A connection of httpcore for each run, on which such a transport stands, and its own network."""
    url = httpx.URL(f"{base}/turns/{TURNS}/v1/chat/completions")
    origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or 80)
    to = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)

    async def post() -> None:
        async with httpcore.AsyncHTTPConnection(origin) as connection:
            for _ in range(TURNS):
                json.loads((await connection.request("POST", to, content=_BODY)).content)

    await asyncio.gather(*(post() for _ in range(runs)))


WAYS: dict[str, Runs] = {
    "core alone": core,
    "toolreel, httpx": shared,
    "toolreel, httpx, an endpoint a run": each_its_own,
    "toolreel, httpx, rarely collected": rarely_collected,
    "httpx, raw, one client": raw_client,
    "httpx, raw, a transport a run": raw_transports,
    "asyncio's streams, raw": raw_streams,
    "httpcore, raw, a connection a run": raw_connections,
}


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 2**20)


def measure(way: str, base: str, runs: int) -> None:
    """Measure one way in this process, and print what was found as JSON."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    async def measured() -> tuple[float, float]:
        await WAYS[way](base, 1)
        memory, before = peak(), process_time()
        await WAYS[way](base, runs)
        return process_time() - before, peak() - memory

    print(json.dumps(asyncio.run(measured())))


def main() -> None:
    """Print a table of all ways, or measure one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, nargs="*", default=[100, 1_000])
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--base", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way:
        measure(asked.way, asked.base, asked.runs[0])
        return
    print(f"{'runs':>6} {'':36} {'runs a CPU second':>18} {'MiB more':>9}")
    with scripted_server() as base:
        for runs in asked.runs:
            for way in WAYS:
                command = [sys.executable, "-m", "benchmarks.concurrent_runs", "--way", way, "--base", base]
                told = subprocess.run([*command, "--runs", str(runs)], check=True, capture_output=True)
                seconds, memory = json.loads(told.stdout)
                print(f"{runs:>6,} {way:36} {runs / seconds:>18.0f} {memory:>9.0f}")


if __name__ == "__main__":
    main()
