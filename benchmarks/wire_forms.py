"""What a turn costs in each wire form: ``python -m benchmarks.wire_forms [--check]``.

A conversation of 40 turns, each a call and its result, once through the reducer alone and once through a run
over httpx (without sockets). CPU time, the forms in turn within each round, and the least of the rounds; and
calls of Python and C, in which a machine's noise does not show, so that --check judges these. Decision 0127
says why a reply in another form is parsed twice.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import logging
import pstats
import time
from collections.abc import Callable, Mapping

import httpx

from toolreel import LoopConfig, Plan, Ports, Provider, PythonTools, run
from toolreel.http import HttpEndpoint
from toolreel_core import ReplyReceived, RunTool, SendRequest, ToolReturned, start, step
from toolreel_core._settings import PATHS, WireForm

TURNS = 40
ROUNDS = 25
MOST = 1.3
"""What a turn may cost in another form: this many times one of chat completions."""


def stock(part: str, note: str) -> int:
    """How many of a part are in stock."""
    return len(part) + len(note)


def reply(form: WireForm, number: int) -> str:
    """A reply with a call, with what servers send next to it."""
    id_, given = f"call_{number}", {"part": "pin", "note": f"{number:040}"}
    text = json.dumps(given)
    bodies: Mapping[WireForm, object] = {
        "chat_completions": {
            "id": f"gen-{number}", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [
                {"id": id_, "type": "function", "function": {"name": "stock", "arguments": text}}
            ]}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        },
        "responses": {
            "id": f"resp_{number}", "object": "response", "created_at": 1, "model": "m",
            "status": "completed",
            "output": [{"type": "function_call", "id": f"fc_{number}", "call_id": id_, "name": "stock",
                        "arguments": text, "status": "completed"}],
            "usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
        },
        "messages": {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "tool_use", "id": id_, "name": "stock", "input": given}],
            "stop_reason": "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        },
    }  # fmt: skip
    return json.dumps(bodies[form])


def plan_of(form: WireForm) -> Plan:
    """The plan of the conversation."""
    return Plan.of(
        model="m",
        messages="How many?",
        tools=PythonTools([stock]).surface,
        provider=Provider(wire_form=form),
        config=LoopConfig(max_turns=TURNS),
    )


def by_the_reducer(form: WireForm) -> Callable[[], None]:
    """The conversation without I/O; every body is joined as it would be sent."""
    plan, replies = plan_of(form), [reply(form, number) for number in range(TURNS)]

    def play() -> None:
        at, said = start(plan), iter(replies)
        while at.state.outcome is None:
            (effect,) = at.effects
            match effect:
                case SendRequest():
                    b"".join(effect.request.pieces())
                    at = step(at.state, ReplyReceived(effect.ref, 200, next(said)))
                case RunTool():
                    at = step(at.state, ToolReturned(effect.ref, "43"))
                case _:
                    raise AssertionError(effect)

    return play


def over_httpx(form: WireForm) -> Callable[[], None]:
    """The conversation over the default endpoint, with a transport that has the replies."""
    plan, replies = plan_of(form), [reply(form, number) for number in range(TURNS)]
    headers = {"content-type": "application/json"}

    def play() -> None:
        said = iter(replies)

        def serve(request: httpx.Request) -> httpx.Response:
            known = request.url.path == f"/v1{PATHS[form]}"
            return httpx.Response(200 if known else 404, text=next(said), headers=headers)

        with HttpEndpoint("http://m.invalid/v1", transport=httpx.MockTransport(serve)) as endpoint:
            run(plan, Ports(endpoint, PythonTools([stock])))

    return play


def costs(making: Callable[[WireForm], Callable[[], None]]) -> dict[WireForm, float]:
    """Milliseconds of CPU a turn in each form, the least of some rounds."""
    plays: dict[WireForm, Callable[[], None]] = {form: making(form) for form in PATHS}
    least: dict[WireForm, float] = {form: float("inf") for form in plays}
    for _ in range(ROUNDS):
        for form, play in plays.items():
            began = time.process_time()
            play()
            least[form] = min(least[form], (time.process_time() - began) * 1_000 / TURNS)
    return least


def calls(making: Callable[[WireForm], Callable[[], None]]) -> dict[WireForm, float]:
    """Calls a turn in each form."""
    found: dict[WireForm, float] = {}
    for form in PATHS:
        play = making(form)
        play()  # imports and caches
        profile = cProfile.Profile()
        profile.runcall(play)
        functions = pstats.Stats(profile).get_stats_profile().func_profiles.values()
        found[form] = sum(int(function.ncalls.partition("/")[0]) for function in functions) / TURNS
    return found


def main() -> int:
    """Print the costs; with --check, fail where a form costs too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help=f"exit with 1 above {MOST}x the calls")
    check = parser.parse_args().check
    logging.getLogger("toolreel").setLevel(logging.ERROR)  # the runs end at their limit of turns
    dear = False
    for name, making in (("reducer", by_the_reducer), ("over httpx", over_httpx)):
        spent, made = costs(making), calls(making)
        for form in PATHS:
            times, ratio = (found[form] / found["chat_completions"] for found in (spent, made))
            dear = dear or ratio > MOST
            cost = f"{spent[form]:.3f} ms a turn, {times:.2f}x"
            print(f"{name:10}  {form:16}  {cost}  {made[form]:.0f} calls, {ratio:.2f}x")
    return 1 if check and dear else 0


if __name__ == "__main__":
    raise SystemExit(main())
