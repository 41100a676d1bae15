"""What reading an ordinary reply costs, compared with ``json.loads`` and picking the fields out by hand.

There are two floors. One does what a loop without any care does: parse the body, take content, calls, finish
reason and usage, parse the arguments of each call and write them down in one form, as toolreel does.
The other leaves the writing out. Rounds are interleaved, so that a drift of the machine touches all
alike. A body is read as bytes, which ``json.loads`` has to decode too, and as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import median
from time import process_time

from toolreel import LoopConfig
from toolreel_core import ToolDefinition, ToolSurface
from toolreel_core._jsontext import Json
from toolreel_core.replies import normalize_reply

ROUNDS = 25
TIMES = 100
TOOLS = ToolSurface((ToolDefinition.of("write_file"), ToolDefinition.of("ping")))
CONFIG = LoopConfig()


def body(content: Json, *arguments: Json) -> bytes:
    """A reply as OpenAI documents it."""
    message: dict[str, Json] = {"role": "assistant", "content": content, "refusal": None}
    if arguments:
        message["tool_calls"] = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {"name": "write_file", "arguments": json.dumps(each)},
            }
            for place, each in enumerate(arguments)
        ]
    finish = "tool_calls" if arguments else "stop"
    tree: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764000000,
        "model": "served/model",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 1100,
            "completion_tokens": 70,
            "total_tokens": 1170,
            "prompt_tokens_details": {"cached_tokens": 1024},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "system_fingerprint": "fp_1",
    }
    return json.dumps(tree).encode()


WORDS = "How many pins are left in the depot, and who took the last ones?\n"
FILES: list[Json] = [{"path": f"{name}.txt", "limit": 3} for name in "abc"]
ROWS: list[Json] = [{"id": row, "name": f"pin {row}"} for row in range(100)]
REPLIES = {
    "a line of text": body("How many pins do you need?"),
    "one small call": body(None, {"path": "a.txt"}),
    "three calls": body(None, *FILES),
    "a page of text": body(WORDS * 60),
    "a call with a file": body(None, {"path": "a.txt", "text": WORDS * 120}),
    "a call with data": body(None, {"rows": ROWS}),
}


def parsed(text: bytes | str) -> object:
    """Parse, and pick the fields out."""
    tree = json.loads(text)
    choice = tree["choices"][0]
    message, usage = choice["message"], tree["usage"]
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    counts = usage["prompt_tokens"], usage["completion_tokens"]
    return calls, message["content"], choice["finish_reason"], counts, tree["model"], tree["id"]


def by_hand(text: bytes | str) -> object:
    """The same, and the arguments written down in one form, so that a repeated call is known again."""
    tree = json.loads(text)
    choice = tree["choices"][0]
    message, usage = choice["message"], tree["usage"]
    calls = [
        (
            call["id"],
            call["function"]["name"],
            json.dumps(json.loads(call["function"]["arguments"]), separators=(",", ":")),
        )
        for call in message.get("tool_calls") or ()
    ]
    counts = usage["prompt_tokens"], usage["completion_tokens"]
    return calls, message["content"], choice["finish_reason"], counts, tree["model"], tree["id"]


def ours(text: bytes | str) -> object:
    """The same, for a reply of any shape."""
    return normalize_reply(text, tools=TOOLS, config=CONFIG)


READERS: tuple[Callable[[bytes | str], object], ...] = (parsed, by_hand, ours)


def cpu(read: Callable[[bytes | str], object], text: bytes | str) -> float:
    """Microseconds of CPU for one reading."""
    before = process_time()
    for _ in range(TIMES):
        read(text)
    return (process_time() - before) / TIMES * 1e6


def main() -> None:
    """Measure, and print a table."""
    head = f"{'reply':20} {'read as':>7} {'bytes':>6} {'parsed, us':>11} {'by hand':>8} {'toolreel':>9}"
    print(f"{head} {'to both':>12}")
    bodies: list[tuple[str, bytes | str]] = [
        (name, form) for name, text in REPLIES.items() for form in (text, text.decode())
    ]
    rounds = [[[cpu(read, form) for read in READERS] for _, form in bodies] for _ in range(ROUNDS)]
    for place, (name, form) in enumerate(bodies):
        loads, floor, cost = (median(each[place][who] for each in rounds) for who in range(len(READERS)))
        strict, fair = (median(each[place][-1] / each[place][who] for each in rounds) for who in (0, 1))
        kind = "bytes" if isinstance(form, bytes) else "text"
        times = f"{loads:>11.1f} {floor:>8.1f} {cost:>9.1f}"
        print(f"{name:20} {kind:>7} {len(form):>6,} {times} {strict:>5.1f}x {fair:>4.1f}x")


if __name__ == "__main__":
    main()
