"""What a turn costs over HTTP, beside loops written by hand on the same client.

    python -m benchmarks.endpoints

A scripted server in a process of its own calls one tool a turn. ``raw`` keeps each message as text, encoded
once, and posts it with ``httpx.Client``; ``by hand`` keeps a list and posts it as ``json=``, as most do.
CPU time of this process, medians of interleaved rounds; ``core`` is the reducer with no HTTP at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from time import process_time
from typing import Final

import httpx

from benchmarks.servers.scripted import scripted_server
from benchmarks.servers.session import PLAN, RESULT, TOOLS, Scripted, Stock
from toolreel_adapters.drive import run
from toolreel_adapters.fast import FastEndpoint
from toolreel_adapters.http import HttpEndpoint
from toolreel_adapters.perform import Ports
from toolreel_adapters.ports import Endpoint

ROUNDS: Final = {10: 40, 200: 5, 1_000: 3}
"""By the number of turns."""
QUESTION: Final = "How many pins are in stock?"
_HEADERS: Final = {"content-type": "application/json"}


def ours(endpoint: Endpoint) -> None:
    """A run of toolreel."""
    run(PLAN, Ports(endpoint, Stock()))


def raw(client: httpx.Client, url: str) -> None:
    """A loop that encodes every message once."""
    parts = [json.dumps({"role": "user", "content": QUESTION})]
    calls: list[dict[str, dict[str, str]]] = [{}]
    while calls:
        body = f'{{"model":"m","messages":[{",".join(parts)}],"tools":{TOOLS}}}'.encode()
        message = json.loads(client.post(url, content=body, headers=_HEADERS).content)["choices"][0][
            "message"
        ]
        parts.append(json.dumps(message, separators=(",", ":")))
        calls = message.get("tool_calls") or []
        for call in calls:
            json.loads(call["function"]["arguments"])
            result = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(RESULT)}
            parts.append(json.dumps(result, separators=(",", ":")))


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


def cpu(loop: Callable[[], None], turns: int) -> float:
    """Microseconds of CPU a turn."""
    before = process_time()
    loop()
    return (process_time() - before) / turns * 1e6


def measured(base: str, turns: int, rounds: int) -> dict[str, float]:
    """Microseconds a turn of each loop."""
    url = f"{base}/turns/{turns}/v1"
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client())
        over_httpx = stack.enter_context(HttpEndpoint(url))
        over_fast = stack.enter_context(FastEndpoint(url))
        loops: dict[str, Callable[[], None]] = {
            "core": lambda: ours(Scripted(turns)),
            "toolreel": lambda: ours(over_httpx),
            "toolreel fast": lambda: ours(over_fast),
            "raw": lambda: raw(client, f"{url}/chat/completions"),
            "by hand": lambda: by_hand(client, f"{url}/chat/completions"),
        }
        taken = [{name: cpu(loop, turns) for name, loop in loops.items()} for _ in range(rounds)]
    return {name: median(each[name] for each in taken) for name in loops}


def main() -> None:
    """Measure, and print a table."""
    print(f"{'turns':>6} {'':14} {'us of CPU a turn':>17} {'against raw':>12} {'against by hand':>16}")
    with scripted_server() as base:
        for turns, rounds in ROUNDS.items():
            found = measured(base, turns, rounds)
            for name, cost in found.items():
                of_raw, of_hand = cost / found["raw"], cost / found["by hand"]
                print(f"{turns:>6,} {name:14} {cost:>17.0f} {of_raw:>11.2f}x {of_hand:>15.2f}x")


if __name__ == "__main__":
    main()
