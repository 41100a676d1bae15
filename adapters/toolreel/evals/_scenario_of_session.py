"""A recorded session as a scenario: texts, tools and results, and checks and scripts from what happened."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from toolreel._driver import Run
from toolreel._internal import EvalPlanError, counted
from toolreel._journal import open_recorded
from toolreel._replay import retrace
from toolreel_core._conversation import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, parse, read
from toolreel_core._protocol import CallRejected, Completed, Event, UserSpoke
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals import check_scenario_name, escape_braces

_READING: Final = re.compile(
    r"(?:^|[_.])(?:get|list|read|find|search|look|lookup|fetch|show|count|check|query|view|describe|status"
    r"|current|now|convert)(?:[_.]|$)"
)
"""Names of tools that only read, as far as a name can say it."""
_UNFIT: Final = re.compile(r"[^a-z0-9]+")


class _Call(NamedTuple):
    """A call of the session and its result; the loop let it through."""

    name: str
    arguments: Tree
    result: Tree

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.result.get("ok") is True


_Exchange: TypeAlias = tuple[str, list[tuple[str, list[_Call]]]]
"""What the user says, and the replies of the model, each a text and its calls."""


def scenario_of_session(path: Path, name: str = "") -> tuple[Tree, list[str]]:
    """The scenario of a session that has a journal, and what a person has to decide about it.

    :param path: the journal, or its cassette
    :param name: of the scenario; made of the recording's name by default
    :raises EvalPlanError: if the session has no tools, or the user said nothing
    :raises ConfigError: if the name is none
    :raises AdapterError: if there is no recording or journal, or it cannot be read
    """
    stem = path.name.removesuffix(".jsonl").removesuffix(".journal").removesuffix(".yaml")
    name = name or _UNFIT.sub("_", stem.lower()).strip("_")
    check_scenario_name(name)
    recorded = open_recorded(path)
    run = retrace(recorded).run
    tools = [tool for tool in run.state.plan.tools.definitions if tool.exposed]
    if not tools:
        raise EvalPlanError(f"{path}: the session has no tools, so there is nothing to check")
    acts = {tool.outward: not tool.read_only and not _READING.search(tool.name.lower()) for tool in tools}
    exchanges = _exchanges_of(run, recorded.events, acts)
    if not exchanges:
        raise EvalPlanError(f"{path}: the user said nothing in the session")
    calls = [call for _, replies in exchanges for _, made in replies for call in made]
    tree = escape_braces({"name": name, **_scenario_tree(run, tools, exchanges, calls, acts)})
    kinds = (
        f"{tool.outward} {'does something' if acts[tool.outward] else 'only reads'}"
        for tool in tools
        if not tool.read_only
    )
    guesses = ", ".join(kinds)
    decisions = [f"by their names, {guesses} (effect = true)"] if guesses else []
    worked = sum(call.ok for call in calls)
    failed = sum(len(one.calls) for one in run.messages if isinstance(one, AssistantMessage)) - worked
    if failed:
        remedy = "the good script lacks them" if worked else "say with a [[check]] what has to happen"
        decisions.append(f"{counted(failed, 'call')} failed in the recording; {remedy}")
    if not isinstance(run.outcome, Completed):
        ended = f"the session ended without an answer ({run.outcome.name})"
        decisions.append(f"{ended}; say what the right one would have been")
    return as_tree(tree), decisions


def _exchanges_of(run: Run, events: Sequence[Event], names: Container[str]) -> list[_Exchange]:
    """The exchanges of a run, with calls of these tools.

    toolreel wrote messages of the user that the user did not say, such as a nudge.
    """
    said = {message.content for message in run.state.plan.opening if isinstance(message, UserMessage)}
    said |= {event.content for event in events if isinstance(event, UserSpoke)}
    results = {one.call_id: one.content for one in run.messages if isinstance(one, ToolMessage)}
    rejected = {note.call_id for note in run.notes if isinstance(note, CallRejected)}
    exchanges = list[_Exchange]()
    for message in run.messages:
        if isinstance(message, UserMessage) and message.content in said:
            before = f"{exchanges.pop()[0]}\n\n" if exchanges and not exchanges[-1][1] else ""
            exchanges.append((before + message.content, []))
        elif isinstance(message, AssistantMessage) and exchanges:
            calls = [
                _Call(one.name, as_tree(arguments), as_tree(read(results.get(one.id, "")).value_or({})))
                for one in message.calls
                if one.name in names
                and one.id not in rejected
                and isinstance(arguments := read(one.arguments).value_or(None), dict)
            ]
            # Of an answer only: the text beside a call that was refused ends no exchange.
            exchanges[-1][1].append(("" if message.calls else message.content, calls))
    return exchanges


def _scenario_tree(
    run: Run,
    tools: Sequence[ToolDefinition],
    exchanges: Sequence[_Exchange],
    calls: Sequence[_Call],
    acts: Mapping[str, bool],
) -> dict[str, Json]:
    """The file's tables: tools with their results, what the calls that worked did, and scripts of them."""
    worked = [call for call in calls if call.ok]
    done: list[Json] = [{"tool": call.name, "with": call.arguments} for call in worked if acts[call.name]]
    checks: list[Json] = [{"effects": done}] if done else []
    # Where nothing was done, the calls that read are the task itself.
    layer: Tree = {"layer": "exercise"} if done else {}
    reading = dict.fromkeys(call.name for call in worked if not acts[call.name])
    checks += ({"called": called, **layer} for called in reading)
    checks, good = checks or [{"at_most": 0}], list[Json]()
    for _, replies in exchanges:
        for _, made in replies:
            of_reply: list[Json] = [{"call": one.name, "with": one.arguments} for one in made if one.ok]
            good += of_reply if len(of_reply) < 2 else [of_reply]
        answer = replies[-1][0].strip() if replies else ""
        good.append(answer or "Done.")
    system = "\n\n".join(message.content for message in run.messages if isinstance(message, SystemMessage))
    # A script that calls nothing could be right where no call worked.
    call: list[Json] = [] if worked else [{"call": tools[0].outward, "with": {}}]
    return {
        "about": f"A recorded session: {' '.join(exchanges[0][0].split())[:80]}",
        **({"system": system} if system else {}),
        "user": [user for user, _ in exchanges],
        "tool": [_tool_tree(tool, calls, acts=acts[tool.outward]) for tool in tools],
        "check": checks,
        "script": {"good": good, "bad": [*call, *["I don't know."] * len(exchanges)]},
    }


def _tool_tree(tool: ToolDefinition, calls: Sequence[_Call], *, acts: bool) -> Json:
    """A tool with the results that it had in the session; of the same call, one after the other."""
    rows = dict[str, list[Tree]]()
    for call in calls:
        if call.name == tool.outward:
            result: Tree = {"then": call.result.get("data", {})}
            if not call.ok:
                errors = call.result.get("errors")
                error = as_tree(errors[0]) if isinstance(errors, list) and errors else {}
                said: Tree = {key: str(error.get(key, "")) for key in ("code", "message")}
                result = {"error": {**said, "code": said["code"] or "FAILED"}}
            rows.setdefault(canonical(call.arguments), []).append({"when": call.arguments, **result})
    answers: list[Json] = [
        {**one, "times": 1} if place < len(results) else one
        for results in rows.values()
        for place, one in enumerate(results, 1)
    ]
    if not answers and not acts:
        answers = [{"error": {"code": "NOT_FOUND", "message": "The recording has no result for it."}}]
    return {
        "name": tool.outward,
        **({"description": tool.description} if tool.description else {}),
        "parameters": parse(tool.parameters),
        **({"effect": True} if acts else {}),
        "answers": answers,
    }
