"""Playing a case: the scripted model calls, our loop acts on one world, and its twin is driven directly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from benchmarks.bfcl.cases import Case, Turn
from benchmarks.bfcl.comparing import Message, deeds_apart, states_apart, transcript_apart
from benchmarks.bfcl.model import DONE, Line, Script
from benchmarks.bfcl.shapes import Asked
from benchmarks.bfcl.strategies import Strategy, plan
from benchmarks.bfcl.tools import surface
from benchmarks.bfcl.worlds import Deed, World, parameters
from toolreel import Completed, Ports, UserMessage, run
from toolreel.ports import Endpoint
from toolreel_core._conversation import Transcript
from toolreel_core._protocol import CallRejected

__all__ = ["difference", "script"]


def script(cases: Iterable[Case]) -> Script:
    """What the model does in all turns of some cases."""
    return {
        _name(case, at): Line(turn.says, tuple(_asked(case, turn, at)))
        for case in cases
        for at, turn in enumerate(case.turns)
    }


def difference(case: Case, endpoint: Endpoint, strategy: Strategy) -> str:
    """The first thing that is not as in the twin world, with the turn where that shows; empty if all is."""
    ours, twin = World(case), World(case)
    history, used = Transcript.of(), set[str]()
    for at, turn in enumerate(case.turns):
        done = len(ours.deeds)
        asked = plan(
            strategy,
            model=_name(case, at),
            messages=(*history.messages, UserMessage(turn.says)),
            tools=surface(case.backends, case.withheld(at)),
        )
        ended = run(asked, Ports(endpoint, ours))
        expected = _driven(twin, turn)
        history = ended.state.messages
        apart = (
            deeds_apart(ours.deeds[done:], expected)
            or states_apart(ours.state, twin.state)
            or transcript_apart(_since(history, turn.says), expected, DONE, used)
            or ("" if ended.outcome == Completed(DONE) else f"the run ended in {ended.outcome}")
        )
        if apart:
            faults = "".join(f"; {note.code}" for note in ended.notes if isinstance(note, CallRejected))
            return f"turn {at}: {apart}{faults}"
    return ""


def _name(case: Case, at: int) -> str:
    """The name under which the model is asked in a turn."""
    return f"{case.id}/{at}"


def _asked(case: Case, turn: Turn, at: int) -> Iterator[Asked]:
    for number, call in enumerate(turn.calls):
        arguments = call.arguments(parameters(case.backends, call.name))
        yield Asked(f"call_{at}_{number}", call.name, arguments)


def _driven(world: World, turn: Turn) -> list[Deed]:
    """The calls of a turn, made directly."""
    return [world.do(call.name, call.positional, call.named) for call in turn.calls]


def _since(history: Transcript, cue: str) -> list[Message]:
    """What goes out after the user's last words."""
    messages: list[Message] = []
    for text in reversed(history.texts):
        message: Message = json.loads(text)
        if message == {"role": "user", "content": cue}:
            break
        messages.insert(0, message)
    return messages
