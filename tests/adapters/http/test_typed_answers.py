"""Typed final answers from a real server, in the shapes in which local models and their servers send them."""

from __future__ import annotations

import json
from typing import Final

import pytest
from pydantic import BaseModel

from tests.servers.chat_server import Answer, replying, serving
from toolreel import LoopConfig, Plan, Ports, PythonTools, Run, output_of, run
from toolreel.http import HttpEndpoint
from toolreel.testing import saying
from toolreel_core._jsontext import Json, canonical
from toolreel_core.outcomes import InvalidOutput


class Stock(BaseModel):
    part: str
    counts: list[int]


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


OUTPUT: Final = output_of(Stock)
RIGHT: Final = Stock(part="pin", counts=[4, 5])
ANSWER: Final = '{"part": "pin", "counts": [4, 5]}'
TOOLS: Final = PythonTools([stock])


def called(arguments: Json) -> Json:
    function: Json = {"name": "final_answer", "arguments": arguments}
    return {"choices": [{"message": {"tool_calls": [{"id": "a", "function": function}]}}]}


ODD: Final[dict[str, Json]] = {
    "plain": saying(ANSWER),
    "fenced": saying(f"```json\n{ANSWER}\n```"),
    "prose around": saying(f"Sure! Here is the answer:\n\n{ANSWER}\n\nLet me know if you need more."),
    "prose and a fence": saying(f"I looked it up.\n\n```json\n{ANSWER}\n```\nDone."),
    "thoughts before": saying(f'<think>Maybe {{"part": "shim", "counts": []}}?</think>\n\n{ANSWER}'),
    "thoughts without an opener": saying(f"So it is a pin.\n</think>\n{ANSWER}"),
    "python": saying("{'part': 'pin', 'counts': [4, 5,],}"),
    "double-encoded": saying(canonical(ANSWER)),
    "inner list as text": saying('{"part": "pin", "counts": "[4, 5]"}'),
    "in an envelope": saying(f'{{"name": "final_answer", "arguments": {ANSWER}}}'),
    "control tokens behind": saying(f"{ANSWER}<|im_end|>"),
    "a call": called(ANSWER),
    "arguments as an object": called(json.loads(ANSWER)),
    "arguments encoded twice": called(canonical(ANSWER)),
    "arguments in a fence": called(f"```json\n{ANSWER}\n```"),
    "arguments in an envelope": called(f'{{"arguments": {ANSWER}}}'),
    "a call in a dialect": saying(
        f'<tool_call>{{"name": "final_answer", "arguments": {ANSWER}}}</tool_call>'
    ),
}


def plan_of(**settings: object) -> Plan:
    config = LoopConfig.of({"text_dialects": ["hermes_json"], "output_retries": 0, **settings})
    return Plan.of(model="m", messages="hi", tools=TOOLS.surface, output=OUTPUT.spec, config=config)


def ran(plan: Plan, *answers: Answer) -> Run:
    with serving(*answers) as server, HttpEndpoint(server.url) as endpoint:
        return run(plan, Ports(endpoint, TOOLS))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_the_value(name: str) -> None:
    done = ran(plan_of(), replying(ODD[name]))
    assert OUTPUT.value(done) == RIGHT


@pytest.mark.parametrize(
    "text",
    [
        '{"part": "pin", "counts": [4',
        f'Either {ANSWER} or {{"part": "shim", "counts": []}}.',
        '{"part": "pin"}',
        'It is {"found": bad, "inner": {"part": "pin", "counts": []}}.',
        "There are 4.",
    ],
)
def test_what_is_cut_ambiguous_or_wrong_never_completes(text: str) -> None:
    assert isinstance(ran(plan_of(), replying(saying(text))).outcome, InvalidOutput)
