"""Malformed replies of public threads, played through the loop: what ran, what was told, what ended silently.

``python -m benchmarks.malformed_replies`` prints a row for each setting; ``--cases`` says which cases are not
right. The cases are in ``tests/corpora/threads.jsonl``, each with its thread and with an expectation that
was written before the case was run.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolreel import LoopConfig, Plan
from toolreel_core import (
    Completed,
    Event,
    Finish,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolDefinition,
    ToolReturned,
    ToolSurface,
    Wait,
    WaitElapsed,
    start,
    step,
)
from toolreel_core._text_calls import DIALECTS

__all__ = ["CASES", "SETTINGS", "Played", "Verdict", "judge", "main", "play"]

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "tests/corpora/threads.jsonl").read_text("utf-8").splitlines()
]
SETTINGS = {
    "defaults": LoopConfig(),
    "marked": LoopConfig.of({"text_dialects": ["marked"], "nudge_no_tool_calls": 1}),
    "everything": LoopConfig.of(
        {"text_dialects": DIALECTS, "nudge_no_tool_calls": 1, "dialects_in_reasoning": True}
    ),
}

Verdict: TypeAlias = Literal["right", "told", "silent", "wrong"]
"""As expected; told to the model where a reading was expected; ended as an answer; another call ran."""


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one reply."""

    calls: list[tuple[str, Any]]
    """Name and arguments of each call that ran."""
    settled: bool
    """The reply ended the run as an answer."""
    content: str = ""


def play(case: dict[str, Any], config: LoopConfig) -> Played:
    """Give a reply to the loop as the first of a run, and an answer in words to whatever it asks then."""
    tools = ToolSurface(
        tuple(ToolDefinition.of(name, f"Tool {name}.", schema) for name, schema in case["tools"].items())
    )
    first = start(Plan.of(model="m", messages="Do the task.", tools=tools, config=config))
    state, effects = first.state, [*first.effects]
    calls: list[tuple[str, Any]] = []
    replies = [body(case)]
    asked = 0
    while effects:
        effect, *effects = effects
        match effect:
            case SendRequest(ref=ref):
                asked += 1
                reply = replies.pop() if replies else said("That is all.")
                event: Event = ReplyReceived(ref, 200, reply)
            case RunTool(ref=ref):
                calls.append((effect.name, json.loads(effect.arguments)))
                event = ToolReturned(ref, '{"ok": true}')
            case Wait(ref=ref):
                event = WaitElapsed(ref)
            case Finish(outcome=Completed(content=content)):
                return Played(calls, asked == 1, content)
            case _:
                return Played(calls, settled=False)
        after = step(state, event)
        state, effects = after.state, [*effects, *after.effects]
    raise AssertionError("a run ends with Finish")


def body(case: dict[str, Any]) -> str:
    """The reply as the server sends it: JSON, or server-sent events."""
    match case["kind"]:
        case "stream":
            frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in case["chunks"]]
            return "".join([*frames, "data: [DONE]\n\n"])
        case "body":
            return json.dumps(case["body"])
        case "message":
            return _choice(case["message"], case["finish"])
        case _:
            reasoning = {"reasoning_content": case["reasoning"]} if "reasoning" in case else {}
            return _choice({"role": "assistant", "content": case["content"], **reasoning}, case["finish"])


def said(text: str) -> str:
    """A reply in words."""
    return _choice({"role": "assistant", "content": text}, "stop")


def _choice(message: dict[str, Any], finish: str) -> str:
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


def judge(case: dict[str, Any], config: LoopConfig) -> Verdict:
    """Compare what a reply led to with what was expected.

    A case may say that a further reading is as good (``also``), or why telling the model is (``told``).
    """
    played = play(case, config)
    expect = case["expect"]
    readings = [
        [(call["name"], call["arguments"]) for call in one["calls"]]
        for one in (expect, case.get("also", {}))
        if "calls" in one
    ]
    if played.calls:
        return "right" if played.calls in readings else "wrong"
    if [] in readings:
        return (
            "right" if played.settled and played.content == expect.get("content", played.content) else "told"
        )
    if played.settled:
        return "silent"
    return "right" if "told" in expect or "told" in case else "told"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", action="store_true", help="name the cases that are not right")
    options = parser.parse_args()
    print(f"{len(CASES)} replies      right  told  silent  wrong")
    for name, config in SETTINGS.items():
        verdicts = {case["id"]: judge(case, config) for case in CASES}
        counts = Counter(verdicts.values())
        print(f"{name:16}" + "".join(f"{counts[v]:7}" for v in ("right", "told", "silent", "wrong")))
        if options.cases:
            for case in CASES:
                if (verdict := verdicts[case["id"]]) != "right":
                    print(f"  {case['id']} {verdict:6} {case['kind']:7} {case['what']}")


if __name__ == "__main__":
    main()
