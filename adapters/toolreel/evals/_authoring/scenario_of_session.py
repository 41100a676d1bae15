"""A recorded session as a scenario: texts, tools and results, and checks and scripts from what happened."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, assert_never

from toolreel._driver import Run, retold
from toolreel._internal import CassetteError, EvalPlanError
from toolreel._journal import companion, read_journal
from toolreel._replay import recover_runs
from toolreel.cassette import Recording
from toolreel.evals._authoring.proof import Proof, proof_of
from toolreel.evals._authoring.toml_text import has_null, scenario_text
from toolreel_core._conversation import AssistantMessage, SystemMessage, Text, ToolMessage, UserMessage
from toolreel_core._jsontext import Json, Tree, canonical, parse, read
from toolreel_core._plan import Preset
from toolreel_core._protocol import CallRejected, Completed, Event, UserSpoke
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals import check_scenario_name, escaped, own_scenario

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


_READING: Final = re.compile(
    r"(?:^|[_.])(?:get|list|read|find|search|look|lookup|fetch|show|count|check|query|view|describe|status"
    r"|current|now|convert)(?:[_.]|$)"
)
"""Names of tools that only read, as far as a name can say it."""
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?!\w)")
"""A number on its own, which an answer may have taken from a result."""
_UNFIT: Final = re.compile(r"[^a-z0-9]+")
"""Characters that a scenario's name cannot have."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario that was made of a recording."""

    name: str
    tree: Tree
    decisions: tuple[str, ...]
    """What a person has to decide."""
    notes: Mapping[str, Sequence[str]]
    """Comments by key."""
    proof: Proof

    def text(self, source: str) -> str:
        """The TOML file."""
        decide = [f"Decide: {each}" for each in self.decisions]
        prove = "Prove it with: toolreel eval scenario check FILE"
        return scenario_text(self.tree, (f"Made of {source}.", prove, *decide), self.notes)


def draft_of(session: RecordedSession, name: str = "") -> Draft:
    """The scenario of a session.

    :param name: of the scenario; made of the recording's name by default
    :raises EvalPlanError: if the session has no tools, or the user said nothing
    :raises ConfigError: if the name is none
    """
    name = name or name_of(session.source)
    check_scenario_name(name)
    if not session.tools.names:
        raise EvalPlanError(f"{session.source}: the session has no tools, so there is nothing to check")
    if not session.user:
        raise EvalPlanError(f"{session.source}: the user said nothing in the session")
    return _Author(session, name).draft()


def name_of(source: str) -> str:
    """A name for the scenario of a recording: that of its folder and its file.

    >>> name_of("cassettes/mcp-time/local--qwen.yaml")
    'mcp_time_local_qwen'
    """
    path = Path(source)
    stem = path.name.removesuffix(".jsonl").removesuffix(".journal").removesuffix(".yaml")
    word = _UNFIT.sub("_", f"{path.parent.name} {stem}".lower()).strip("_")
    return (word if word[:1].isalpha() else f"session_{word}".rstrip("_"))[:64].rstrip("_")


@dataclass(slots=True)
class _Author:
    """What is being gathered."""

    session: RecordedSession
    name: str
    decisions: list[str] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def draft(self) -> Draft:
        """The scenario, with its proof."""
        session = self.session
        tools: list[Json] = [self._tool(tool) for tool in session.tools.definitions if tool.exposed]
        checks = self._checks()
        good, bad = self._scripts()
        user = [*map(escaped, session.user)]
        tree: dict[str, Json] = {
            "name": self.name,
            "about": f"A recorded session: {' '.join(session.user[0].split())[:80]}",
            **({"system": escaped(session.system)} if session.system else {}),
            "user": user[0] if len(user) == 1 else user,
            "tool": tools,
            "check": checks,
            "script": {"good": good, "bad": bad},
        }
        self._note_what_is_lost()
        proof = proof_of(own_scenario(tree).scenario(), 1)
        if not proof.holds:  # a recorded answer may look like a call that is written as text
            plain: list[Json] = ["Done." if isinstance(line, str) else line for line in good]
            said = [check for check in checks if not (isinstance(check, dict) and "says" in check)]
            plainer: dict[str, Json] = {**tree, "check": said, "script": {"good": plain, "bad": bad}}
            if (again := proof_of(own_scenario(plainer).scenario(), 1)).holds:
                tree, proof = plainer, again
                self.decisions.append(
                    "the recorded answer does not end a run, so the good script says Done.; write a right one"
                )
        for each in proof.scripts:
            if (wrong := each.contrary) is not None:
                reasons = "; ".join((wrong.category, *wrong.reasons))
                self.decisions.append(f"the {each.kind} script results in {wrong.result} ({reasons})")
        return Draft(self.name, tree, tuple(self.decisions), self.notes, proof)

    def _note_what_is_lost(self) -> None:
        session = self.session
        if others := session.other_runs:
            self.decisions.append(
                f"the recording has {_counted(others, 'other run')} with tools; this is the last one, and "
                "--run N takes another"
            )
        if parts := session.parts:
            self.decisions.append(
                f"{_counted(parts, 'image or file', 'images or files')} of the user "
                f"{'is' if parts == 1 else 'are'} left out; say in words what "
                f"{'it shows' if parts == 1 else 'they show'}"
            )
        if not session.completed:
            self.decisions.append(
                f"the session ended without an answer ({session.outcome}); "
                "say what the right one would have been"
            )
        if lost := sum(not call.ok for call in self._calls()):
            self.decisions.append(
                f"{_counted(lost, 'call')} failed in the recording, so the good script leaves "
                f"{'it' if lost == 1 else 'them'} out"
            )

    def _calls(self) -> list[SessionCall]:
        return [call for exchange in self.session.replies for reply in exchange for call in reply.calls]

    def _does_something(self, tool: ToolDefinition) -> bool:
        return not tool.read_only and not _READING.search(tool.name.lower())

    def _tool(self, tool: ToolDefinition) -> Json:
        effect = self._does_something(tool)
        if not tool.read_only:
            guess = "does something" if effect else "only reads"
            self.notes[f"tool.{tool.outward}"] = [
                f"Decide: by its name, this tool {guess}; effect = true is for one that does something."
            ]
        schema = parse(tool.parameters)
        if has_null(schema):
            self.decisions.append(f"null in the schema of {tool.outward} is left out: TOML has none")
            schema = _without_null(schema)
        return {
            "name": tool.outward,
            **({"description": tool.description} if tool.description else {}),
            "parameters": schema,
            **({"effect": True} if effect else {}),
            "answers": self._answers(tool.outward) or ([] if effect else [_KNOWS_NOTHING]),
        }

    def _answers(self, name: str) -> list[Json]:
        rows = dict[str, tuple[Tree, list[Tree]]]()
        for call in self._calls():
            arguments = _object(call)
            if call.name == name and not call.rejected and arguments is not None:
                rows.setdefault(canonical(arguments), (arguments, []))[1].append(_row(call))
        answers = list[Json]()
        for arguments, results in rows.values():
            when: Tree = {} if has_null(arguments) else {"when": escaped(arguments)}
            distinct = [one for place, one in enumerate(results) if not place or one != results[place - 1]]
            for place, result in enumerate(distinct):
                times: Tree = {"times": 1} if place < len(distinct) - 1 else {}
                answers.append({**when, **result, **times})
        return answers

    def _checks(self) -> list[Json]:
        definitions = {tool.outward: tool for tool in self.session.tools.definitions}
        done = [
            {"tool": call.name, "with": escaped(_object(call) or {})}
            for call in self._calls()
            if call.ok and call.name in definitions and self._does_something(definitions[call.name])
        ]
        names = dict.fromkeys(call.name for call in self._calls() if call.ok and call.name in definitions)
        reading = [name for name in names if not self._does_something(definitions[name])]
        checks: list[Json] = []
        if done and not has_null(done):
            checks.append({"effects": done})
        # Where nothing was done, the calls that read are the task itself.
        layer: Tree = {"layer": "exercise"} if checks else {}
        checks += [{"called": name, **layer} for name in reading]
        if not checks:
            self.decisions.append("no call of the recording worked; say with a [[check]] what has to happen")
            checks.append({"at_most": 0})
        return [*checks, *self._said()]

    def _said(self) -> list[Json]:
        """Numbers of an answer that a tool has told."""
        found = list[Json]()
        for place, exchange in enumerate(self.session.replies, 1):
            told = {
                number
                for reply in exchange
                for call in reply.calls
                if call.ok
                for number in _numbers(canonical(call.data))
            }
            said = [number for number in _numbers(_answer(exchange)) if number in told]
            if said:
                which: Tree = {"exchange": place} if len(self.session.replies) > 1 else {}
                found.append({"says": [_as_number(number) for number in dict.fromkeys(said)], **which})
        return found

    def _scripts(self) -> tuple[list[Json], list[Json]]:
        good, bad = list[Json](), list[Json]()
        for exchange in self.session.replies:
            for reply in exchange:
                calls: list[Json] = [
                    {"call": call.name, "with": escaped(_object(call) or {})}
                    for call in reply.calls
                    if call.ok and call.name in {tool.outward for tool in self.session.tools.definitions}
                ]
                if calls:
                    good.append(calls[0] if len(calls) == 1 else calls)
            answer = _answer(exchange)
            good.append(escaped(answer) if answer.strip() else "Done.")
            bad.append("I don't know.")
        if not any(call.ok for call in self._calls()):
            first = next(tool.outward for tool in self.session.tools.definitions if tool.exposed)
            bad.insert(0, {"call": first, "with": {}})
        return good, bad


_KNOWS_NOTHING: Final[Tree] = {
    "error": {"code": "NOT_FOUND", "message": "The recording has no result for it."}
}


def _answer(exchange: Sequence[SessionReply]) -> str:
    last = exchange[-1] if exchange else SessionReply("")
    return "" if last.calls else last.text


def _row(call: SessionCall) -> Tree:
    if not call.ok:
        return {"error": {"code": call.code or "FAILED", "message": call.message}}
    if has_null(call.data):
        return {"json": json.dumps(escaped(call.data), ensure_ascii=False)}
    return {"then": escaped(call.data)}


def _object(call: SessionCall) -> Tree | None:
    tree = read(call.arguments).value_or(None)
    return tree if isinstance(tree, dict) else None


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def _as_number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _without_null(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_null(item) for item in value if item is not None]
    return value


def _counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> _counted(1, "call"), _counted(2, "call")
    ('1 call', '2 calls')
    """
    return f"{number} {one if number == 1 else several or f'{one}s'}"
