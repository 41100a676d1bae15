"""What looking for calls in a text costs: plain prose against ``json.loads``, and texts made to be slow.

All dialects are enabled. An attack is a text of the largest size that is searched, 256 KiB, made of
one piece over and over, or of that and an ending that the pieces wait for. Times are of the CPU.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from time import process_time

from toolreel_core._text_calls import DIALECTS, text_calls

PROSE = 200_000
MOST = 256 * 1024
MOST_FOR_PROSE = 20.0
MOST_FOR_ATTACKS = 1_000.0
PING = '{"name": "ping", "arguments": {}}'
WORDS = (
    "the",
    "tool",
    "reads",
    "a",
    "shelf,",
    "so",
    "that",
    "nothing",
    "is",
    "lost;",
    "it",
    "says",
    "(in",
    "words)",
)
PIECES = {
    "backticks": "`` ` ",
    "fences": "~~~\n",
    "unclosed comments": "<!-",
    "unclosed thoughts": "<think>",
    "openers": "<tool_call>",
    "unclosed objects": "<tool_call>{",
    "unclosed strings": '<tool_call>{"a": "',
    "unclosed remarks": "<tool_call>{//",
    "unclosed lists": "[TOOL_CALLS][",
    "nested lists": "[",
    "unclosed parameters": "<function=ping><parameter=a>",
    "unclosed pairs": "<tool_call>ping<arg_key>",
    "unclosed elements": ']<]minimax[>[<invoke name="a">]<]minimax[>[<b>',
    "unclosed calls": '<|tool_call_start|>[ping(a="',
    "backslashes": '<tool_call>{"a": "' + "\\\\" * 2_000,
    "digits": '<tool_call>{"a": ' + "9" * 5_000,
    "all openers": (
        "<tool_call>[TOOL_CALLS]<function=ping><invoke name='ping'><|python_tag|><|tool_call|>functools["
        "<|start_header_id|><|channel|>commentary to=functions.ping<|message|><seed:tool_call><TOOLCALL>"
        "<longcat_tool_call><xai:function_call name='ping'><|tool_calls_section_begin|><function_calls>"
        "<|START_ACTION|><|action_start|><|plugin|><start_function_call>```tool_call\n```json\n"
    ),
    "headers": "<|channel|>analysis<|message|>",
    "envelopes": f"{PING}\n",
    "calls": f"<tool_call>{PING}</tool_call>",
    "blank lines": "\n \n",
}
ENDINGS = ("", '"', "*/", "</tool_call>", "</parameter>", "`")


def prose(size: int) -> str:
    """Sentences of no meaning."""
    chance = random.Random(7)
    return " ".join(chance.choice(WORDS) for _ in range(size // 4))[:size]


def best(run: Callable[[], object], times: int) -> float:
    """The shortest of a few runs, in milliseconds."""
    spent = []
    for _ in range(times):
        begun = process_time()
        run()
        spent.append(process_time() - begun)
    return min(spent) * 1e3


def search(text: str, finish: str = "stop") -> object:
    """Look for calls in every dialect at once."""
    schemas = {"ping": {"properties": {"a": {"type": "string"}}}}
    return text_calls(text, tools=["ping"], dialects=DIALECTS, finish=finish, schemas=schemas)


def attack(piece: str, ending: str) -> float:
    """What a text of one piece over and over takes, in milliseconds."""
    text = piece * ((MOST - len(ending)) // len(piece)) + ending
    return best(lambda: search(text), 1)


def main() -> None:
    """Measure, and print a table."""
    text = prose(PROSE)
    encoded = json.dumps([text[at : at + 40] for at in range(0, PROSE, 40)])
    parsed = best(lambda: json.loads(encoded), 9)
    plain = best(lambda: search(text), 9)
    print(f"{'':22} {'ms':>9} {'of the limit':>13} {'json.loads':>11}")
    print(
        f"{'plain prose, 200 kB':22} {plain:>9.1f} {plain / MOST_FOR_PROSE:>12.0%} {plain / parsed:>10.1f}x"
    )
    for name, piece in PIECES.items():
        worst = max(attack(piece, ending) for ending in ENDINGS)
        print(f"{name:22} {worst:>9.1f} {worst / MOST_FOR_ATTACKS:>12.0%} {worst / parsed:>10.1f}x")


if __name__ == "__main__":
    main()
