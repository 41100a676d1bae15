"""What a turn costs over HTTP, compared with loops written by hand on the same client.

    python -m benchmarks.endpoints [--check | --callgrind]

A scripted server in a process of its own calls one tool a turn. ``raw`` keeps each message as text, encoded
once, and posts it with ``httpx.Client``; ``by hand`` keeps a list and posts it as ``json=``, as most do;
``async raw`` and ``async toolreel`` are the same over ``httpx.AsyncClient``. ``core`` is the reducer with its
driver and no HTTP at all. CPU time of this process, the least of interleaved rounds, after one that does not
count. One round costs more than the same turns one after another: each loop finds the caches full of the
others.

Budget: at most 1.8x raw at 10 and 200 turns, async 1.8x async raw. The ratio of CPU moves with the machine
by a third, so ``--check``, of ``make nightly``, judges the calls of Python and C, which do not move, and ends
with status 1 where there are more. ``--callgrind`` counts the machine's instructions of a turn (two minutes).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from time import process_time
from types import FrameType

import httpx

from benchmarks.servers.scripted import scripted_server
from benchmarks.servers.session import PLAN, RESULT, TOOLS, AsyncStock, Scripted, Stock
from benchmarks.shared.callgrind import instructions
from toolreel import AsyncPorts, Ports, arun, run
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.ports import AsyncEndpoint, Endpoint

ROUNDS = {10: 100, 200: 8, 1_000: 4}
"""By the number of turns; one more comes before them, and does not count."""
MOST_CALLS = {"toolreel": 1.8, "async toolreel": 1.8}
"""How many times the calls of a loop by hand a turn may take."""
LIMITED = {"toolreel": "raw", "async toolreel": "async raw"}
HELD_AT = (10, 200)
"""Turns at which the calls are counted."""
UNDER_VALGRIND = (10, 30)
"""Runs of ten turns whose instructions are counted."""
QUESTION = "How many pins are in stock?"
_HEADERS = {"content-type": "application/json"}


def ours(endpoint: Endpoint) -> None:
    """A run of toolreel."""
    run(PLAN, Ports(endpoint, Stock()))


async def ours_async(endpoint: AsyncEndpoint) -> None:
    """The same, awaited."""
    await arun(PLAN, AsyncPorts(endpoint, AsyncStock()))


class Conversation:
    """A conversation of which every message is encoded once."""

    def __init__(self) -> None:
        self._parts = [json.dumps({"role": "user", "content": QUESTION})]

    def body(self) -> bytes:
        """The body of the next request."""
        return f'{{"model":"m","messages":[{",".join(self._parts)}],"tools":{TOOLS}}}'.encode()

    def goes_on(self, answer: bytes) -> bool:
        """Whether there were calls in an answer; they have their results then."""
        message = json.loads(answer)["choices"][0]["message"]
        self._parts.append(json.dumps(message, separators=(",", ":")))
        calls = message.get("tool_calls") or []
        for call in calls:
            json.loads(call["function"]["arguments"])
            result = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(RESULT)}
            self._parts.append(json.dumps(result, separators=(",", ":")))
        return bool(calls)


def raw(client: httpx.Client, url: str) -> None:
    """A loop that posts such a conversation."""
    conversation = Conversation()
    while conversation.goes_on(client.post(url, content=conversation.body(), headers=_HEADERS).content):
        pass


async def raw_async(client: httpx.AsyncClient, url: str) -> None:
    """The same, awaited."""
    conversation = Conversation()
    going = True
    while going:
        response = await client.post(url, content=conversation.body(), headers=_HEADERS)
        going = conversation.goes_on(response.content)


def by_hand(client: httpx.Client, url: str) -> None:
    """A loop that gives the whole conversation to httpx every time."""
    messages: list[object] = [{"role": "user", "content": QUESTION}]
    tools = json.loads(TOOLS)
    calls: list[dict[str, dict[str, str]]] = [{}]
    while calls:
        reply = client.post(url, json={"model": "m", "messages": messages, "tools": tools})
        message = reply.json()["choices"][0]["message"]
        messages.append(message)
        calls = message.get("tool_calls") or []
        for call in calls:
            json.loads(call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(RESULT)})


async def cpu(loop: Callable[[], Awaitable[None] | None], turns: int) -> float:
    """Microseconds of CPU a turn."""
    before = process_time()
    under_way = loop()
    if under_way is not None:
        await under_way
    return (process_time() - before) / turns * 1e6


async def calls(loop: Callable[[], Awaitable[None] | None], turns: int) -> float:
    """Calls of Python and C a turn, in this thread."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        under_way = loop()
        if under_way is not None:
            await under_way
    finally:
        sys.setprofile(None)
    return count / turns


@asynccontextmanager
async def loops(base: str, turns: int) -> AsyncGenerator[dict[str, Callable[[], Awaitable[None] | None]]]:
    """Each loop by its name, with the clients that it keeps open."""
    url = f"{base}/turns/{turns}/v1"
    to = f"{url}/chat/completions"
    with httpx.Client() as client, HttpEndpoint(url) as over_httpx:
        async with httpx.AsyncClient() as async_client, AsyncHttpEndpoint(url) as async_over_httpx:
            yield {
                "core": lambda: ours(Scripted(turns)),
                "toolreel": lambda: ours(over_httpx),
                "raw": lambda: raw(client, to),
                "by hand": lambda: by_hand(client, to),
                "async toolreel": lambda: ours_async(async_over_httpx),
                "async raw": lambda: raw_async(async_client, to),
            }


async def measured(base: str, turns: int, rounds: int) -> dict[str, float]:
    """Microseconds a turn of each loop."""
    async with loops(base, turns) as compared:
        taken = [
            {name: await cpu(loop, turns) for name, loop in compared.items()} for _ in range(1 + rounds)
        ][1:]
    return {name: min(each[name] for each in taken) for name in taken[0]}


async def counted(base: str, turns: int) -> dict[str, float]:
    """Calls a turn of the loops with a limit and those they are compared with; the second round counts."""
    async with loops(base, turns) as compared:
        named = {name: compared[name] for pair in LIMITED.items() for name in pair}
        for loop in named.values():
            await calls(loop, turns)
        return {name: await calls(loop, turns) for name, loop in named.items()}


def judged(turns: int, found: Mapping[str, float]) -> bool:
    """Whether the calls are within their limits; each is printed."""
    held = True
    for name, beside in LIMITED.items():
        ratio, most = found[name] / found[beside], MOST_CALLS[name]
        held = held and ratio <= most
        print(f"{turns:>6,} {name:14} {found[name]:>11.0f} calls, {ratio:.2f}x of {beside}; at most {most}x")
    return held


def timed(base: str) -> None:
    """Measure CPU, and print a table."""
    print(f"{'turns':>6} {'':14} {'us of CPU a turn':>17} {'against raw':>12}")
    for turns, rounds in ROUNDS.items():
        found = asyncio.run(measured(base, turns, rounds))
        for name, cost in found.items():
            beside = found["async raw" if name.startswith("async") else "raw"]
            print(f"{turns:>6,} {name:14} {cost:>17.0f} {cost / beside:>11.2f}x")


def repeated(name: str, base: str, runs: int) -> None:
    """One of the sync loops, ten turns a run: the process that callgrind counts."""
    url = f"{base}/turns/10/v1"
    with httpx.Client() as client, HttpEndpoint(url) as endpoint:
        each: dict[str, Callable[[], None]] = {
            "core": lambda: ours(Scripted(10)),
            "toolreel": lambda: ours(endpoint),
            "raw": lambda: raw(client, f"{url}/chat/completions"),
        }
        for _ in range(runs):
            each[name]()


def weighed(base: str) -> None:
    """Count the machine's instructions of a turn, and print them."""
    for name in ("core", "toolreel", "raw"):
        script = f"from benchmarks.endpoints import repeated; repeated({name!r}, {base!r}, {{}})"
        found = instructions(script, *UNDER_VALGRIND)
        if found is None:
            return
        print(f"{name:14} {found // 10:>12,} machine instructions a turn")


def main() -> int:
    """Measure, count, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="only count calls; 1 if too many")
    only.add_argument("--callgrind", action="store_true", help="only count machine instructions")
    arguments = parser.parse_args()
    with scripted_server() as base:
        if arguments.callgrind:
            weighed(base)
            return 0
        if not arguments.check:
            timed(base)
        held = [judged(turns, asyncio.run(counted(base, turns))) for turns in HELD_AT]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
