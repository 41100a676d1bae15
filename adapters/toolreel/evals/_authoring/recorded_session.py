"""A recorded session: what the user said, the calls with their results, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, assert_never

from toolreel._driver.run_result import Run, retold
from toolreel._internal.errors import CassetteError, EvalPlanError
from toolreel._journal.format import companion, read_journal
from toolreel._replay.from_cassette.journals import recover_runs
from toolreel.cassette._open_cassette import Recording
from toolreel_core._conversation.content.part import Text
from toolreel_core._conversation.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, Tree, read
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._protocol.events import Event, UserSpoke
from toolreel_core._protocol.notes import CallRejected
from toolreel_core._protocol.outcome import Completed
from toolreel_core._tools.surface import ToolSurface

_NO_PRESET: Final = Preset()


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A call of the session and its result."""

    name: str
    """As the model wrote it."""
    arguments: str
    ok: bool
    data: Json
    code: str = ""
    """Of the first error, if it failed."""
    message: str = ""
    rejected: bool = False
    """Whether the loop refused it, so that no tool ran."""


@dataclass(frozen=True, slots=True)
class SessionReply:
    """One reply of the model."""

    text: str
    calls: tuple[SessionCall, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A conversation with tools, from its beginning."""

    source: str
    system: str
    user: tuple[str, ...]
    replies: tuple[tuple[SessionReply, ...], ...]
    """Those of each exchange."""
    tools: ToolSurface
    outcome: str
    """How it ended."""
    completed: bool
    parts: int = 0
    """Images and files that the user sent."""
    other_runs: int = 0
    """Other runs with tools in the recording, of which nobody asked for one."""


def read_session(
    path: Path, number: int = 0, *, preset: Preset = _NO_PRESET, settings: Mapping[str, Any] | None = None
) -> RecordedSession:
    """The session in a cassette or a journal.

    :param number: which run of the recording, from 1 on; by default the last one that has tools
    :param preset: how the replies of a cassette without a journal are read, such as calls in text
    :param settings: loop and provider settings for that, which override the preset
    :raises EvalPlanError: if the recording has no such run
    :raises AdapterError: if it cannot be read
    """
    runs = _runs(path, preset, settings)
    if number > len(runs):
        raise EvalPlanError(f"{path}: has {len(runs)} runs, so there is no run {number}")
    with_tools = [one for one in runs if one[0].state.plan.tools.names]
    run, events = runs[number - 1] if number else (with_tools or runs)[-1]
    session = _session(str(path), run, events)
    return session if number else replace(session, other_runs=max(0, len(with_tools) - 1))


def _runs(
    path: Path, preset: Preset, settings: Mapping[str, Any] | None
) -> list[tuple[Run, Sequence[Event]]]:
    journal = path if path.name.endswith(".jsonl") else companion(_cassette(path))
    if journal.exists():
        recorded = read_journal(journal)
        return [(retold(recorded.plan, recorded.events), recorded.events)]
    if path.name.endswith(".jsonl"):
        raise CassetteError(f"{path}: there is no such recording")
    recovered = recover_runs(Recording.load(_cassette(path)), preset=preset, settings=settings)
    return [(one.run, one.recorded.events) for one in recovered]


def _cassette(path: Path) -> Path:
    return path if path.name.endswith(".yaml") else path.with_name(f"{path.name}.yaml")


def _session(source: str, run: Run, events: Sequence[Event]) -> RecordedSession:
    plan = run.state.plan
    spoken = [UserMessage(event.content, event.parts) for event in events if isinstance(event, UserSpoke)]
    # Messages of the user that toolreel wrote itself, such as a nudge, are no turns.
    opening = [message for message in plan.opening if isinstance(message, UserMessage)]
    said = {message.content for message in (*opening, *spoken)}
    rejected = {note.call_id for note in run.notes if isinstance(note, CallRejected)}
    turns, replies, system = list[str](), list[list[SessionReply]](), list[str]()
    results = {one.call_id: one.content for one in run.messages if isinstance(one, ToolMessage)}
    for message in run.messages:
        match message:
            case SystemMessage():
                system.append(message.content)
            case UserMessage():
                own = message.content in said
                if own and replies and not replies[-1]:
                    turns[-1] += f"\n\n{message.content}"
                elif own:
                    turns.append(message.content)
                    replies.append([])
            case AssistantMessage() if replies:
                replies[-1].append(_reply(message, results, rejected))
            case AssistantMessage() | ToolMessage():
                pass
            case _:
                assert_never(message)
    return RecordedSession(
        source,
        "\n\n".join(system),
        tuple(turns),
        tuple(map(tuple, replies)),
        plan.tools,
        run.outcome.name,
        isinstance(run.outcome, Completed),
        sum(not isinstance(part, Text) for each in (*opening, *spoken) for part in each.parts),
    )


def _reply(message: AssistantMessage, results: dict[str, str], rejected: set[str]) -> SessionReply:
    calls = tuple(
        _call(one.name, one.arguments, results.get(one.id, ""), one.id in rejected) for one in message.calls
    )
    return SessionReply(message.content, calls)


def _call(name: str, arguments: str, result: str, rejected: bool) -> SessionCall:
    envelope = read(result).value_or(None)
    tree: Tree = envelope if isinstance(envelope, dict) else {}
    errors = tree.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else {}
    error: Tree = first if isinstance(first, dict) else {}
    return SessionCall(
        name,
        arguments,
        tree.get("ok") is True,
        tree.get("data", {}),
        str(error.get("code", "")),
        str(error.get("message", "")),
        rejected,
    )
