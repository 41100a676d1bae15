"""What a turn costs over HTTP, beside loops written by hand on the same client.

    python -m benchmarks.endpoints [--check]

A scripted server in a process of its own calls one tool a turn. ``raw`` keeps each message as text, encoded
once, and posts it with ``httpx.Client``; ``by hand`` keeps a list and posts it as ``json=``, as most do.
``core`` is the reducer with its driver and no HTTP at all; ``raw connection`` posts by the connection of
httpcore on which a client stands, and is what an exchange costs at least. CPU time of this process, the least
of interleaved rounds, after one that does not count. One round costs more than the same turns one after
another: each loop finds the caches full of the others.

On two shared cores of an AMD EPYC, Python 3.11, us of CPU a turn (with httpx's transports, before 2026-11-22,
toolreel took 688, 709 and 931, raw 608, 626 and 610):

    turns   core   toolreel    raw   raw connection   by hand
       10    141        408    432              191       413
      200    108        398    464              240       900
    1,000    127        703    734              394     3,619

Budgets: at most 1.15x raw at 10 and 200 turns, and 1.05x, 0.70x, 0.35x by hand at 10, 200 and 1,000. They
are ratios within one job: ``make nightly`` holds them by ``--check``, which ends with status 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from time import process_time
from typing import Final

import httpcore
import httpx

from benchmarks.servers.scripted import scripted_server
from benchmarks.servers.session import PLAN, RESULT, TOOLS, Scripted, Stock
from toolreel import Endpoint, Ports, run
from toolreel.http import HttpEndpoint
from toolreel.http._pyreqwest.endpoint import FastEndpoint

ROUNDS: Final = {10: 100, 200: 8, 1_000: 4}
"""By the number of turns; one more comes before them, and does not count."""
BUDGETS: Final = {
    10: {"raw": 1.15, "by hand": 1.05},
    200: {"raw": 1.15, "by hand": 0.70},
    1_000: {"by hand": 0.35},
}
"""How often the cost of another loop toolreel may take at most, by the number of turns."""
QUESTION: Final = "How many pins are in stock?"
_HEADERS: Final = {"content-type": "application/json"}


def ours(endpoint: Endpoint) -> None:
    """A run of toolreel."""
    run(PLAN, Ports(endpoint, Stock()))


def raw(post: Callable[[bytes], bytes]) -> None:
    """A loop that encodes every message once.

    :param post: gives the body of the answer to a body
    """
    parts = [json.dumps({"role": "user", "content": QUESTION})]
    calls: list[dict[str, dict[str, str]]] = [{}]
    while calls:
        body = f'{{"model":"m","messages":[{",".join(parts)}],"tools":{TOOLS}}}'.encode()
        message = json.loads(post(body))["choices"][0]["message"]
        parts.append(json.dumps(message, separators=(",", ":")))
        calls = message.get("tool_calls") or []
        for call in calls:
            json.loads(call["function"]["arguments"])
            result = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(RESULT)}
            parts.append(json.dumps(result, separators=(",", ":")))


def over_client(client: httpx.Client, url: str) -> Callable[[bytes], bytes]:
    """Posting by a client of httpx."""
    return lambda body: client.post(url, content=body, headers=_HEADERS).content


def over_connection(connection: httpcore.HTTPConnection, url: httpx.URL) -> Callable[[bytes], bytes]:
    """Posting by the connection on which such a client stands, with nothing around it."""
    to = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)

    def post(body: bytes) -> bytes:
        headers = [*_HEADERS.items(), ("host", url.netloc.decode()), ("content-length", str(len(body)))]
        return connection.request("POST", to, headers=headers, content=body).content

    return post


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
        to = httpx.URL(f"{url}/chat/completions")
        origin = httpcore.Origin(to.raw_scheme, to.raw_host, to.port or 80)
        connection = stack.enter_context(httpcore.HTTPConnection(origin))
        over_fast = stack.enter_context(FastEndpoint(url))
        loops: dict[str, Callable[[], None]] = {
            "core": lambda: ours(Scripted(turns)),
            "toolreel": lambda: ours(over_httpx),
            "toolreel fast": lambda: ours(over_fast),
            "raw": lambda: raw(over_client(client, f"{url}/chat/completions")),
            "raw connection": lambda: raw(over_connection(connection, to)),
            "by hand": lambda: by_hand(client, f"{url}/chat/completions"),
        }
        taken = [{name: cpu(loop, turns) for name, loop in loops.items()} for _ in range(1 + rounds)][1:]
    return {name: min(each[name] for each in taken) for name in loops}


def broken(turns: int, found: Mapping[str, float]) -> Iterator[str]:
    """What is said of each budget that is not held."""
    for name, most in BUDGETS[turns].items():
        ratio = found["toolreel"] / found[name]
        if ratio > most:
            yield f"{turns:,} turns take {ratio:.2f} times the CPU of {name}; at most {most:.2f} are allowed"


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="end with status 1 if a budget is not held")
    check, complaints = parser.parse_args().check, list[str]()
    print(f"{'turns':>6} {'':14} {'us of CPU a turn':>17} {'against raw':>12} {'against by hand':>16}")
    with scripted_server() as base:
        for turns, rounds in ROUNDS.items():
            found = measured(base, turns, rounds)
            for name, cost in found.items():
                of_raw, of_hand = cost / found["raw"], cost / found["by hand"]
                print(f"{turns:>6,} {name:14} {cost:>17.0f} {of_raw:>11.2f}x {of_hand:>15.2f}x")
            complaints += broken(turns, found)
    print(*complaints, sep="\n", file=sys.stderr, end="\n" if complaints else "")
    return 1 if check and complaints else 0


if __name__ == "__main__":
    sys.exit(main())
