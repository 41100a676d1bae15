"""What the worst bodies take to be read: texts of 256 KiB that are made to be slow.

An attack is a piece over and over inside of something that a reader looks into: a body, a content, the
arguments of a call, a stream. Each is read with the settings that cost most. Times are of the CPU.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time

from toolreel import LoopConfig
from toolreel_core import ToolDefinition, ToolSurface
from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import as_chat
from toolreel_core.replies import normalize_reply

MOST = 256 * 1024
LIMIT = 500.0
TOOLS = ToolSurface((ToolDefinition.of("ping"),))
CONFIGS = (LoopConfig(), LoopConfig(argument_repairs="lenient", text_dialects=("marked",)))
CALL: Json = {"id": "a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
PART: Json = {"type": "text", "text": "x"}
DELTA: Json = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{"}}]}
PIECES = {
    "lists": "[",
    "objects": '{"a":',
    "closed objects": "{}",
    "rows": '{"a":[{"b":1}]},',
    "quotation marks": '"',
    "apostrophes": "'",
    "backslashes": "\\",
    "escapes": "\\u00e9",
    "halves of characters": "\\ud83d",
    "digits": "9",
    "exponents": "1e9,",
    "commas": ",",
    "comments": "/*",
    "remarks": "//\n",
    "fences": "```json\n",
    "tildes": "~~~x\n",
    "broken calls with fences": '<tool_call>{"name":\n```x\n</tool_call>\n',
    "two objects in turn": '{}{"a":1}',
    "blanks": " \n",
    "words": "None,True,",
    "tokens": "<|im_end|>",
    "openers": "<tool_call>{",
    "thoughts": "<think>",
    "keys": '"a":1,',
}


def with_message(message: Json) -> str:
    """A body around a message."""
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})


def with_arguments(text: str) -> str:
    """A body around the arguments of a call."""
    function: Json = {"name": "ping", "arguments": text}
    return with_message({"role": "assistant", "tool_calls": [{"id": "a", "function": function}]})


def stream(frame: str) -> str:
    """Frames without an end."""
    return f"data: {frame}\n\n" * (MOST // (len(frame) + 8))


PLACES: dict[str, Callable[[str], str]] = {
    "body": lambda text: text,
    "field": lambda text: f'{{"choices":[{{"message":{{"content":{text}',
    "content": lambda text: with_message({"role": "assistant", "content": text}),
    "arguments": with_arguments,
    "object of arguments": lambda text: with_arguments(f'{{"a":{text}}}'),
    "string of arguments": lambda text: with_arguments(f'{{"a":"{text}"}}'),
    "single line of a stream": lambda text: f"data: {text}",
    "lines of a stream": lambda text: f"data: {text}".replace(text[:8], f"{text[:8]}\ndata: "),
}
LONG: dict[str, Callable[[], str]] = {
    "calls": lambda: with_message({"role": "assistant", "tool_calls": [CALL] * (MOST // 90)}),
    "choices": lambda: canonical({"choices": [{"message": {"content": "x"}}] * (MOST // 30)}),
    "nested calls": lambda: (
        f'{{"choices":[{{"message":{{"tool_calls":{"[" * 100}{"{}" * 9}{"]" * 100}}}}}]}}'
    ),
    "parts": lambda: with_message({"role": "assistant", "content": [PART] * (MOST // 30)}),
    "deltas": lambda: stream('{"choices":[{"delta":{"content":"x"}}]}'),
    "deltas of calls": lambda: stream(canonical({"choices": [{"delta": DELTA}]})),
    "frames that are cut": lambda: stream('{"choices":[{"delta":'),
    "frames in one line": lambda: "data: {" * (MOST // 7),
    "events without an end": lambda: "data: {\n" * (MOST // 8),
    "comments of a stream": lambda: ": ping\n\n" * (MOST // 8),
    "line ends": lambda: "data:" + "\r" * MOST,
}


def cost(body: str) -> float:
    """Milliseconds for one reading, as the loop reads it, with the settings that take longest."""
    spent = []
    for config in CONFIGS:
        before = process_time()
        whole = as_chat(body).body
        normalize_reply(whole, tools=TOOLS, config=config)
        spent.append(process_time() - before)
    return max(spent) * 1e3


def main() -> None:
    """Measure, and print a table; the worst comes last."""
    found = {
        f"{name} in the {place}": cost(wrap(piece * (MOST // len(piece))))
        for place, wrap in PLACES.items()
        for name, piece in PIECES.items()
    }
    found |= {f"many {name}": cost(make()) for name, make in LONG.items()}
    print(f"{'256 KiB of':44} {'ms':>9} {'of the limit':>13}")
    for name, spent in sorted(found.items(), key=lambda item: item[1])[-12:]:
        print(f"{name:44} {spent:>9.1f} {spent / LIMIT:>12.0%}")
    print(f"{len(found)} attacks, {sum(spent > LIMIT for spent in found.values())} above the limit")


if __name__ == "__main__":
    main()
