"""A recorded session as a scenario: texts, tools and results, and checks and scripts from what happened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolreel._driver import Run, retold
from toolreel._internal import CassetteError, EvalPlanError, counted
from toolreel._journal import companion, read_journal
from toolreel._replay import recover_runs
from toolreel.cassette import Recording
from toolreel.evals._scenario_proof import Proof, proof_of
from toolreel_core._conversation import AssistantMessage, SystemMessage, Text, ToolMessage, UserMessage
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, parse, read
from toolreel_core._plan import Preset
from toolreel_core._protocol import CallRejected, Completed, Event, UserSpoke
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals import check_scenario_name, escaped, scenario_of

_NO_PRESET: Final = Preset()

_READING: Final = re.compile(
    r"(?:^|[_.])(?:get|list|read|find|search|look|lookup|fetch|show|count|check|query|view|describe|status"
    r"|current|now|convert)(?:[_.]|$)"
)
"""Names of tools that only read, as far as a name can say it."""
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?!\w)")
"""A number on its own, which an answer may have taken from a result."""
_UNFIT: Final = re.compile(r"[^a-z0-9]+")
"""Characters that a scenario's name cannot have."""


class _Call(NamedTuple):
    """A call of the session and its result."""

    name: str
    """As the model wrote it."""
    arguments: Tree | None
    """``None`` if they are no JSON object."""
    result: Tree
    rejected: bool
    """Whether the loop refused it, so that no tool ran."""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.result.get("ok") is True


class _Exchange(NamedTuple):
    """What the user says, and the replies of the model, each a text and its calls."""

    user: str
    replies: list[tuple[str, list[_Call]]]

    @property
    def calls(self) -> list[_Call]:
        """All of them."""
        return [call for _, made in self.replies for call in made]

    @property
    def answer(self) -> str:
        """The text that ends it; empty if calls do."""
        text, calls = self.replies[-1] if self.replies else ("", [])
        return "" if calls else text


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario that was made of a recording."""

    name: str
    tree: Tree
    decisions: tuple[str, ...]
    """What a person has to decide."""
    proof: Proof

    def text(self, source: str) -> str:
        """The TOML file."""
        prove = "Prove it with: toolreel eval scenario check FILE"
        comments = (f"Made of {source}.", prove, *(f"Decide: {each}" for each in self.decisions))
        return scenario_text(self.tree, comments)


def draft_of(
    path: Path,
    name: str = "",
    number: int = 0,
    *,
    preset: Preset = _NO_PRESET,
    settings: Mapping[str, Any] | None = None,
) -> Draft:
    """The scenario of a session in a cassette or a journal, a conversation with tools from its beginning.

    :param name: of the scenario; made of the recording's name by default
    :param number: which run of the recording, from 1 on; by default the last one that has tools
    :param preset: how the replies of a cassette without a journal are read, such as calls in text
    :param settings: loop and provider settings for that, which override the preset
    :raises EvalPlanError: if the recording has no such run, or the run no tools, or the user said nothing
    :raises ConfigError: if the name is none
    :raises AdapterError: if the recording cannot be read
    """
    runs = _runs(path, preset, settings)
    if number > len(runs):
        raise EvalPlanError(f"{path}: has {len(runs)} runs, so there is no run {number}")
    with_tools = [one for one in runs if one[0].state.plan.tools.names]
    run, events = runs[number - 1] if number else (with_tools or runs)[-1]
    name = name or name_of(str(path))
    check_scenario_name(name)
    plan = run.state.plan
    if not plan.tools.names:
        raise EvalPlanError(f"{path}: the session has no tools, so there is nothing to check")
    spoken = [
        *(message for message in plan.opening if isinstance(message, UserMessage)),
        *(UserMessage(event.content, event.parts) for event in events if isinstance(event, UserSpoke)),
    ]
    exchanges = _exchanges(run, {message.content for message in spoken})
    if not exchanges:
        raise EvalPlanError(f"{path}: the user said nothing in the session")
    acts = {
        tool.outward: not tool.read_only and not _READING.search(tool.name.lower())
        for tool in plan.tools.definitions
    }
    whole = escaped({"name": name, **_scenario(run, exchanges, acts)})
    tree = as_tree(_without_null(whole))
    proof = proof_of(scenario_of(tree), 1)
    decisions = [*_left_out(run, spoken, exchanges)]
    if whole != tree:
        decisions.append("null is left out, in schemas, arguments and results: TOML has none")
    if not number and len(with_tools) > 1:
        others = counted(len(with_tools) - 1, "other run")
        decisions.append(
            f"the recording has {others} with tools; this is the last one, and --run N takes another"
        )
    guessed = (tool.outward for tool in plan.tools.definitions if tool.exposed and not tool.read_only)
    if kinds := [f"{one} {'does something' if acts[one] else 'only reads'}" for one in guessed]:
        decisions.append(f"by their names, {', '.join(kinds)}; effect = true is for one that does something")
    for each in proof.scripts:
        if (wrong := each.contrary) is not None:
            reasons = "; ".join((wrong.category, *wrong.reasons))
            decisions.append(f"the {each.kind} script results in {wrong.result} ({reasons})")
    return Draft(name, tree, tuple(decisions), proof)


def _scenario(run: Run, exchanges: Sequence[_Exchange], acts: Mapping[str, bool]) -> dict[str, Json]:
    """The file's tables: tools with their results, what the calls that worked did, and scripts of them."""
    calls = [call for each in exchanges for call in each.calls]
    worked = [call for call in calls if call.ok and call.name in acts]
    done: list[Json] = [
        {"tool": call.name, "with": call.arguments or {}} for call in worked if acts[call.name]
    ]
    checks: list[Json] = [{"effects": done}] if done else []
    # Where nothing was done, the calls that read are the task itself.
    layer: Tree = {"layer": "exercise"} if checks else {}
    reading = dict.fromkeys(call.name for call in worked if not acts[call.name])
    checks += ({"called": called, **layer} for called in reading)
    system = "\n\n".join(message.content for message in run.messages if isinstance(message, SystemMessage))
    user: list[Json] = [each.user for each in exchanges]
    offered = [tool for tool in run.state.plan.tools.definitions if tool.exposed]
    # A script that calls nothing could be right where no call worked.
    call: list[Json] = [] if worked else [{"call": offered[0].outward, "with": {}}]
    return {
        "about": f"A recorded session: {' '.join(exchanges[0].user.split())[:80]}",
        **({"system": system} if system else {}),
        "user": user[0] if len(user) == 1 else user,
        "tool": [_tool(tool, calls, acts=acts[tool.outward]) for tool in offered],
        "check": [*(checks or [{"at_most": 0}]), *_said(exchanges)],
        "script": {"good": _good(exchanges, acts), "bad": [*call, *(["I don't know."] * len(user))]},
    }


def name_of(source: str) -> str:
    """A name for the scenario of a recording: that of its folder and its file.

    >>> name_of("cassettes/mcp-time/local--qwen.yaml")
    'mcp_time_local_qwen'
    """
    path = Path(source)
    stem = path.name.removesuffix(".jsonl").removesuffix(".journal").removesuffix(".yaml")
    word = _UNFIT.sub("_", f"{path.parent.name} {stem}".lower()).strip("_")
    return (word if word[:1].isalpha() else f"session_{word}".rstrip("_"))[:64].rstrip("_")


def _runs(
    path: Path, preset: Preset, settings: Mapping[str, Any] | None
) -> list[tuple[Run, Sequence[Event]]]:
    is_journal = path.name.endswith(".jsonl")
    cassette = path if path.name.endswith(".yaml") else path.with_name(f"{path.name}.yaml")
    journal = path if is_journal else companion(cassette)
    if journal.exists():
        recorded = read_journal(journal)
        return [(retold(recorded.plan, recorded.events), recorded.events)]
    if is_journal:
        raise CassetteError(f"{path}: there is no such recording")
    recovered = recover_runs(Recording.load(cassette), preset=preset, settings=settings)
    return [(one.run, one.recorded.events) for one in recovered]


def _exchanges(run: Run, said: set[str]) -> list[_Exchange]:
    """The exchanges of a run.

    :param said: what the user said; toolreel wrote other messages of the user, such as a nudge
    """
    results = {one.call_id: one.content for one in run.messages if isinstance(one, ToolMessage)}
    rejected = {note.call_id for note in run.notes if isinstance(note, CallRejected)}
    exchanges = list[_Exchange]()
    for message in run.messages:
        if isinstance(message, UserMessage) and message.content in said:
            before = exchanges.pop().user if exchanges and not exchanges[-1].replies else ""
            exchanges.append(_Exchange(f"{before}\n\n{message.content}" if before else message.content, []))
        elif isinstance(message, AssistantMessage) and exchanges:
            calls = [
                _Call(
                    one.name,
                    arguments if isinstance(arguments := read(one.arguments).value_or(None), dict) else None,
                    as_tree(read(results.get(one.id, "")).value_or({})),
                    one.id in rejected,
                )
                for one in message.calls
            ]
            exchanges[-1].replies.append((message.content, calls))
    return exchanges


def _tool(tool: ToolDefinition, calls: Sequence[_Call], *, acts: bool) -> Json:
    """A tool with the results that it had in the session; of the same call, one after the other."""
    rows = dict[str, list[Tree]]()
    for call in calls:
        if call.name == tool.outward and not call.rejected and call.arguments is not None:
            result: Tree = {"then": call.result.get("data", {})}
            if not call.ok:
                errors = call.result.get("errors")
                error = as_tree(errors[0]) if isinstance(errors, list) and errors else {}
                code, message = str(error.get("code", "")), str(error.get("message", ""))
                result = {"error": {"code": code or "FAILED", "message": message}}
            rows.setdefault(canonical(call.arguments), []).append({"when": call.arguments, **result})
    answers = list[Json]()
    for results in rows.values():
        answers += [{**result, "times": 1} for result in results[:-1]]
        answers.append(results[-1])
    if not answers and not acts:
        answers = [{"error": {"code": "NOT_FOUND", "message": "The recording has no result for it."}}]
    return {
        "name": tool.outward,
        **({"description": tool.description} if tool.description else {}),
        "parameters": parse(tool.parameters),
        **({"effect": True} if acts else {}),
        "answers": answers,
    }


def _said(exchanges: Sequence[_Exchange]) -> list[Json]:
    """Checks of the numbers of an answer that a tool has told."""
    checks = list[Json]()
    for place, exchange in enumerate(exchanges, 1):
        calls = [call for _, made in exchange.replies for call in made if call.ok]
        told = {
            number for call in calls for number in _NUMBER.findall(canonical(call.result.get("data", {})))
        }
        said = dict.fromkeys(number for number in _NUMBER.findall(exchange.answer) if number in told)
        if said:
            which: Tree = {"exchange": place} if len(exchanges) > 1 else {}
            checks.append({"says": [float(one) if "." in one else int(one) for one in said], **which})
    return checks


def _good(exchanges: Sequence[_Exchange], acts: Mapping[str, bool]) -> list[Json]:
    """The script that makes the calls that worked, and says what was said."""
    script = list[Json]()
    for exchange in exchanges:
        for _, made in exchange.replies:
            worked = (call for call in made if call.ok and call.name in acts)
            calls: list[Json] = [{"call": call.name, "with": call.arguments or {}} for call in worked]
            script += [calls[0] if len(calls) == 1 else calls] if calls else []
        script.append(exchange.answer.strip() or "Done.")
    return script


def _left_out(run: Run, spoken: Sequence[UserMessage], exchanges: Sequence[_Exchange]) -> Iterator[str]:
    """What of the recording is not in the scenario."""
    calls = [call for each in exchanges for call in each.calls]
    if parts := sum(not isinstance(part, Text) for message in spoken for part in message.parts):
        yield f"images and files of the user ({parts}) are left out; say in words what they show"
    if not isinstance(run.outcome, Completed):
        ended = f"the session ended without an answer ({run.outcome.name})"
        yield f"{ended}; say what the right one would have been"
    if lost := sum(not call.ok for call in calls):
        yield f"{counted(lost, 'call')} failed in the recording, and the good script makes none that failed"
    if lost == len(calls):
        yield "no call of the recording worked; say with a [[check]] what has to happen"


def _without_null(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_null(item) for item in value if item is not None]
    return value


def scenario_text(tree: Tree, comments: Sequence[str]) -> str:
    """The file of a scenario: its values first, then its tables.

    :param comments: at its beginning
    """
    # A comment of TOML takes no control characters.
    plain = ("".join(char if char.isprintable() else " " for char in each) for each in comments)
    lines = [f"# {' '.join(each.split())}" for each in plain]
    tables = list[str]()
    for key, value in tree.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{_key(key)}]", *_pairs(value)]
        elif key in {"tool", "check"} and isinstance(value, Sequence):
            for item in value:
                tables += ["", f"[[{key}]]", *_pairs(as_tree(item))]
        else:
            lines += _pairs({key: value})
    return "\n".join((*lines, *tables)) + "\n"


_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""
_WIDTH: Final = 100
"""Characters of a list in one line."""


def _pairs(tree: Tree) -> Iterator[str]:
    """A line for each value; a long list has one item a line."""
    for key, value in tree.items():
        text = _value(value)
        if len(text) > _WIDTH and isinstance(value, Sequence) and not isinstance(value, str):
            text = "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        yield f"{_key(key)} = {text}"


def _value(value: Json) -> str:
    if isinstance(value, Mapping):
        items = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    # Texts, numbers and booleans of JSON are those of TOML, which escapes DEL too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)
