"""The cost of reading a reply is in proportion to its length, wherever a run of blanks or tags is in it."""

from __future__ import annotations

import re
import sys
from functools import partial
from itertools import islice
from random import Random

import pytest

from benchmarks.hostile_replies import CONFIGS, PIECES, PLACES, cost
from tests.properties.growth import RUNS, superlinear
from tests.properties.growth import cost as cpu
from tests.samples import corpus_rows
from toolreel_core._jsontext import Json, read_json
from toolreel_core._text_calls import DIALECTS
from toolreel_core.replies import text_calls

TOOLS = ("ping", "search_docs", "stock_lookup", "get_weather", "read_file")
STRING: Json = {"type": "string"}
SCHEMAS: dict[str, Json] = {
    name: {"type": "object", "properties": {"query": STRING, "part": STRING}} for name in TOOLS
}
_BORDER = re.compile(r"[>\](){}:=,\"\n|`]|\w(?=\W)")
"""Where one part of a call ends and the next begins."""
HOSTILE = 16 * 1024
MOST_CALLS = 10
"""A character, of a text that is made to be slow: 256 KiB of it take at most 0.4 s on a quiet machine."""


def examples() -> list[tuple[str, str]]:
    """The texts of all corpora of calls in text, with their finish reasons."""
    found = []
    for case in corpus_rows("dialects/*") + corpus_rows("text-calls"):
        text = case.get("text", case.get("content"))
        if isinstance(text, str) and 3 < len(text) < 2_000:
            found.append((text, case.get("finish", "stop")))
    return found


def pumped(text: str, finish: str, seed: str, places: int) -> list[str]:
    """What grows out of proportion when runs are put between the parts of a text, or it is repeated."""
    random = Random(seed)
    cuts = [0, len(text), *(border.end() for border in _BORDER.finditer(text))]
    found = []
    for cut in random.sample(cuts, min(places, len(cuts))):
        for run in (" ", "\n", random.choice(RUNS)):

            def read(size: int, cut: int = cut, run: str = run) -> object:
                return _read(text[:cut] + run * (size // len(run)) + text[cut:], finish)

            if growth := superlinear(read):
                found.append(f"{run!r} behind {text[:cut]!r}: {growth}")
    if growth := superlinear(lambda size: _read(f"{text}\n" * (size // len(text)), finish)):
        found.append(f"{text!r} repeated: {growth}")
    return found


def _read(text: str, finish: str) -> object:
    return text_calls(text, tools=TOOLS, dialects=DIALECTS, finish=finish, schemas=SCHEMAS)


@pytest.mark.parametrize(("text", "finish"), list(islice(examples(), 0, None, 10)))
def test_a_run_in_a_reply_costs_in_proportion(text: str, finish: str) -> None:
    assert pumped(text, finish, seed=text, places=3) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("text", "finish"), examples())
def test_runs_anywhere_in_replies_cost_in_proportion(text: str, finish: str, seed: int) -> None:
    assert pumped(text, finish, f"{seed} {text}", places=8) == []


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize("run", RUNS)
def test_a_reply_of_one_run_costs_in_proportion(run: str, finish: str) -> None:
    assert superlinear(lambda size: _read(run * (size // len(run)), finish)) == ""


def test_broken_calls_that_open_a_fence_cost_in_proportion() -> None:
    run = '<tool_call>{"name":\n```x\n</tool_call>\n'
    assert superlinear(lambda size: _read(run * (size // len(run)), "stop"), 32_000) == ""


@pytest.mark.parametrize("place", ["content", "arguments", "lines of a stream"])
def test_a_hostile_reply_takes_few_calls_for_its_length(place: str) -> None:
    bodies = {name: PLACES[place](piece * (HOSTILE // len(piece))) for name, piece in PIECES.items()}
    assert {name: made for name, body in bodies.items() if (made := calls(body) / HOSTILE) > MOST_CALLS} == {}


def calls(body: str) -> int:
    """Python and C calls for one reading, which are the same on any machine."""
    cost(body)  # what is imported, compiled and cached once
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        cost(body)
    finally:
        sys.setprofile(before)
    return made // len(CONFIGS)


@pytest.mark.parametrize("unit", ["[" * 100 + "]" * 100, '{"a":' * 100 + "1" + "}" * 100])
def test_nested_json_costs_no_more_than_flat_json(unit: str) -> None:
    nested, flat = (f"[{','.join([each] * (256 * 1024 // len(each)))}]" for each in (unit, "[]"))
    took, expected = (min(cpu(partial(read_json, text)) for _ in range(3)) for text in (nested, flat))
    assert took < 8 * expected  # parsing what nests costs more, too; a pass a level costs 15 times as much
