"""Scenarios: a task, its world, and the checks that decide whether it was done by what they see of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._conversation import AssistantMessage, Message, ToolMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, JsonText, parse
from toolreel_core._plan import Plan, Preset, Request
from toolreel_core._protocol import (
    CallAbandoned,
    CallEnded,
    CallRejected,
    CallSkipped,
    Cancelled,
    Completed,
    ContentStripped,
    Note,
    NoToolCalls,
    Outcome,
    ReplyRead,
    Settled,
    State,
    Truncated,
)
from toolreel_core._replies import Finish
from toolreel_core._tools import ToolSurface
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts
from toolreel_core.evals._scenarios.world import World


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A tool call of a run, and its result."""

    name: str
    """As the model wrote it, or the tool's inner name where it means one."""
    arguments: str
    """The model's own text of them."""
    ok: bool
    codes: tuple[str, ...]
    """Codes of the errors in its result, such as ``ARGUMENTS_TOO_LARGE``."""
    result: str
    """The result as the model read it."""


@dataclass(frozen=True, slots=True)
class ObservedTurn:
    """One reply of the model."""

    finish: Finish
    calls: tuple[ObservedCall, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    request: Request
    reply: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, from its beginning to its end."""

    outcome: Outcome
    final: str
    """The final text, of the last exchange if there are several; empty if there is none."""
    turns: tuple[ObservedTurn, ...]
    world: World
    tools_sent: bool
    """Whether the requests listed any tools."""
    tools_refused: bool = False
    """Whether the server refused tools, and the run went on without them."""
    answers: tuple[str, ...] = ()
    """The final text of each exchange that was begun; the last one is ``final``."""
    sent: tuple[Sent, ...] = ()
    """The model's requests and replies, in order, with those that were asked for again."""
    reasoning_replayed: bool = True
    """Whether the configuration sends reasoning back at all; some providers refuse it."""

    @property
    def calls(self) -> tuple[ObservedCall, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)


_UNFINISHED: Final = Cancelled("the run has not ended")
_RESULTS: Final = (CallEnded, CallRejected, CallSkipped, CallAbandoned)
_Result: TypeAlias = CallEnded | CallRejected | CallSkipped | CallAbandoned


def evidence_of(
    plan: Plan,
    state: State,
    notes: Iterable[Note],
    world: World,
    *,
    earlier: tuple[str, ...] = (),
    sent: tuple[Sent, ...] = (),
) -> Evidence:
    """The evidence of a run.

    :param state: its last; one that has not ended counts as cancelled
    :param earlier: the answers of the exchanges before the last one
    :param sent: its requests, with their replies
    """
    outcome = state.phase.outcome if isinstance(state.phase, Settled) else _UNFINISHED
    all_notes = tuple(notes)
    dropped = state.memory.tools_dropped
    final = outcome.content if isinstance(outcome, Completed | NoToolCalls | Truncated) else ""
    return Evidence(
        outcome,
        final,
        _observed_turns(plan, state.messages.messages[len(plan.opening) :], all_notes),
        world,
        tools_sent=plan.sends_tools and bool(plan.tools.names) and not dropped,
        tools_refused=dropped,
        answers=(*earlier, final),
        sent=sent,
        reasoning_replayed=plan.provider.reasoning_replay != "never",
    )


def _observed_turns(
    plan: Plan, messages: Sequence[Message], notes: Sequence[Note]
) -> tuple[ObservedTurn, ...]:
    """The replies that counted, the last of each turn; those before it were asked for again."""
    replies = {note.turn: note for note in notes if isinstance(note, ReplyRead)}
    results = {(note.turn, note.call_id): note for note in notes if isinstance(note, _RESULTS)}
    stripped_text = {note.turn: note.sample for note in notes if isinstance(note, ContentStripped)}
    turns_with_results = {turn for turn, _ in results}
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    calling = iter([message.calls for message in said if message.calls])
    texts = iter([message.content for message in said if not message.calls])
    outputs = iter([message.content for message in messages if isinstance(message, ToolMessage)])
    turns = list[ObservedTurn]()
    for turn, reply in replies.items():
        calls, text = tuple[ObservedCall, ...](), stripped_text.get(turn, "")
        if turn in turns_with_results:
            calls = tuple(
                ObservedCall(
                    *(plan.tools.inner_name(call.name), call.arguments),
                    *_ok_and_codes(results[turn, call.id]),
                    output,
                )
                # Calls of a run that has not ended may still be without a result.
                for call, output in zip(next(calling), outputs, strict=False)
            )
        elif reply.problem != "EMPTY_RESPONSE":
            text = next(texts, "")
        turns.append(ObservedTurn(reply.finish, calls, text))
    return tuple(turns)


def _ok_and_codes(note: _Result) -> tuple[bool, tuple[str, ...]]:
    match note:
        case CallEnded():
            return note.ok, note.codes
        case CallRejected():
            return False, (note.code,)
        case CallSkipped():
            return True, ()
        case CallAbandoned():
            return False, ("TOOL_CANCELLED",)
        case _:
            assert_never(note)


PACK: Final = "own"
"""The pack of all scenarios that are not built in."""
Layer: TypeAlias = Literal["outcome", "exercise"]
"""``outcome``: whether the task was done; ``exercise``: whether the hard part of it was met at all."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a scenario."""

    name: str
    """Part of the failure's category, such as ``draft`` in ``task.outcome:draft``."""
    layer: Layer
    finding: Callable[[Evidence], str] = field(compare=False)
    """What is wrong, in words for a person; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one trial of a scenario poses: everything in it may be drawn from the trial's seed."""

    messages: tuple[Message, ...]
    """The initial ones."""
    tools: ToolSurface
    world: World
    checks: tuple[Check, ...] = ()
    """Their names are the same for every seed."""
    scripts: ScenarioScripts | None = None
    follow_ups: tuple[str, ...] = ()
    """What the user says after each complete answer, in turn."""
    outside: tuple[str, ...] = ()
    """Tools that are real: they run outside of the world, which takes note of their results."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the catalogue."""

    name: str
    pack: str
    """What it belongs to: a pack of the built-in ones, or ``own``."""
    about: str
    version: int
    """Increased whenever its texts, world or tools change, so that older records are kept apart."""
    begin: Callable[[str], Case] = field(compare=False)
    """The case of one run, from the seed that its identifiers and values are drawn from."""
    changes: Preset = field(default_factory=Preset)
    """What it changes in a configuration, such as a lower limit of argument bytes."""
    tree: JsonText = NOTHING
    """The file that it was read from, as data."""

    @property
    def from_file(self) -> bool:
        """Whether a user's file holds it, so that it is stored whole with results."""
        return self.pack == PACK and self.tree != NOTHING

    @property
    def control(self) -> bool:
        """Whether it is a plain conversation without tools."""
        config = parse(self.changes.config)
        return isinstance(config, Mapping) and config.get("tool_use_mode") == "disabled"

    def scripts(self, seed: str) -> ScenarioScripts:
        """The scripts of one trial.

        :raises ConfigError: if nobody has written a script for the scenario
        """
        scripts = self.begin(seed).scripts
        if scripts is None:
            raise ConfigError(f"scenario {self.name!r} has no scripts; run it with a model")
        return scripts
