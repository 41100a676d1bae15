"""New scenario files, from a template or a recorded session; and the proof of their checks by their scripts.

A check that cannot fail finds nothing; so every check is also asked whether some script fails it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, TypeAlias

from toolreel._driver import Run
from toolreel._internal import EvalPlanError, count_with_noun
from toolreel._journal import load_recorded_run
from toolreel._replay import retrace
from toolreel.evals._runner.trial import (
    ScenarioEndpoint,
    TrialContext,
    real_tool_host_opener,
    run_conversation,
)
from toolreel_core._conversation import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, parse, read_json
from toolreel_core._protocol import CallRejected, Completed, Event, UserSpoke
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals import (
    ANSWERED,
    Result,
    Scenario,
    ScriptKind,
    Verdict,
    check_scenario_name,
    escape_braces,
    judge,
)


def scenario_template(name: str) -> str:
    """A scenario file: complete, commented, and its oracle holds."""
    check_scenario_name(name)
    return (files("toolreel.evals") / "scenarios/template.toml").read_text("utf-8").replace("NAME", name, 1)


def write_new_file(path: Path, text: str) -> None:
    try:
        if path.exists():
            raise EvalPlanError(f"{path}: exists already; choose another file (--out)")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvalPlanError(f"{path}: cannot be written: {error.strerror}") from None


_WANTED: Mapping[ScriptKind, Result] = {"good": "pass", "skipping": "pass_unexercised", "bad": "fail"}


@dataclass(frozen=True, slots=True)
class ScriptProof:
    """The verdicts of one script."""

    kind: ScriptKind
    wanted: Result
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdicts of a scenario's scripts."""

    scenario: str
    scripts: tuple[ScriptProof, ...]
    never_failed: tuple[str, ...]
    """Checks that no script fails: nothing shows that they can."""

    @property
    def holds(self) -> bool:
        """Whether every script got the expected verdict."""
        return all(found.result == each.wanted for each in self.scripts for found in each.verdicts)


def proof_of(scenario: Scenario, seeds: int | None = None) -> Proof:
    """Run the scripts of a scenario under several seeds; its real tools, if it has any, run for real.

    :param seeds: by default 20, or 2 where tools are real
    :raises ConfigError: if it has no scripts
    """
    first = scenario.begin("1")
    if first.scripts is None:
        raise ConfigError(
            f"{scenario.name} has no scripts, so nothing proves its checks; write [script] with good and bad"
        )
    # Real tools act for real, in each trial of each script.
    trials = seeds or (2 if first.outside else 20)
    verdicts, failed = dict[ScriptKind, list[Verdict]](), set[str]()
    for seed in map(str, range(1, trials + 1)):
        case = scenario.begin(seed)
        tools = real_tool_host_opener(scenario, case)
        scripts = case.scripts or first.scripts
        for kind in _WANTED:
            if kind == "skipping" and scripts.skipping is None:
                continue
            plan = scenario.changes.plan(model=f"scripted:{kind}", messages=case.messages, tools=case.tools)
            context = TrialContext(ScenarioEndpoint(kind, scripts).send, tools)
            seen = run_conversation(case, plan, context).evidence
            verdicts.setdefault(kind, []).append(judge(case, seen))
            failed.update(check.name for check in case.checks if check.finding(seen))
    names = (check.name for check in first.checks if check.name != ANSWERED)
    proofs = (ScriptProof(kind, _WANTED[kind], tuple(found)) for kind, found in verdicts.items())
    return Proof(scenario.name, tuple(proofs), tuple(name for name in names if name not in failed))


def proof_sentences(proof: Proof) -> Iterator[str]:
    """What a person reads: a line a script, and what to write where one is wrong."""
    for each in proof.scripts:
        trials = len(each.verdicts)
        wrong = [verdict for verdict in each.verdicts if verdict.result != each.wanted]
        if not wrong:
            yield f"{each.kind}: {each.wanted} in all {trials} trials"
            continue
        found = wrong[0]
        yield f"{each.kind}: {found.result} in {len(wrong)} of {trials} trials, where {each.wanted} is wanted"
        yield from (f"  {reason}" for reason in (found.category, *found.reasons) if reason)
        exercised = each.kind == "skipping" and found.result == "pass"
        yield f"  {_REMEDIES['exercised' if exercised else each.kind]}"
    for name in proof.never_failed:
        yield f"note: no script fails the check {name!r}; a bad or skipping script that does would prove it"


_REMEDIES = {
    "good": "mend the script, or the check that it does not meet",
    "bad": "no check notices what it does wrong: add a [[check]] that does, or let it do something wrong",
    "skipping": 'it has to do the task; give what it may skip layer = "exercise"',
    "exercised": 'give the check of the hard part layer = "exercise", or leave the script out',
}


# Whole words of a name: `get_user` and `users.list`, but not `forget_user`.
_READING = re.compile(
    r"(?:^|[_.])(?:get|list|read|find|search|look|lookup|fetch|show|count|check|query|view|describe|status"
    r"|current|now|convert)(?:[_.]|$)"
)
"""Names of tools that only read, as far as a name can say it."""


class _Call(NamedTuple):
    name: str
    arguments: Tree
    result: Tree

    @property
    def ok(self) -> bool:
        return self.result.get("ok") is True


_Exchange: TypeAlias = tuple[str, list[tuple[str, list[_Call]]]]
"""What the user says, and the replies of the model, each a text and its calls."""


def scenario_of_session(path: Path, name: str = "") -> tuple[Tree, list[str]]:
    """The scenario of a session that has a journal, and what a person has to decide about it.

    :param path: the journal, or its cassette
    :param name: of the scenario; made of the recording's name by default
    """
    stem = path.name.removesuffix(".jsonl").removesuffix(".journal").removesuffix(".yaml")
    name = name or re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")
    check_scenario_name(name)
    recorded = load_recorded_run(path)
    run = retrace(recorded).run
    tools = [tool for tool in run.state.plan.tools.definitions if tool.exposed]
    if not tools:
        raise EvalPlanError(f"{path}: the session has no tools, so there is nothing to check")
    acts = {tool.outward: not tool.read_only and not _READING.search(tool.name.lower()) for tool in tools}
    exchanges = _exchanges_of_run(run, recorded.events, acts)
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
        decisions.append(f"{count_with_noun(failed, 'call')} failed in the recording; {remedy}")
    if not isinstance(run.outcome, Completed):
        ended = f"the session ended without an answer ({run.outcome.name})"
        decisions.append(f"{ended}; say what the right one would have been")
    return as_tree(tree), decisions


def _exchanges_of_run(run: Run, events: Sequence[Event], names: Container[str]) -> list[_Exchange]:
    """The exchanges of a run, without messages that toolreel wrote as the user, such as a nudge."""
    said = {message.content for message in run.state.plan.opening if isinstance(message, UserMessage)}
    said |= {event.content for event in events if isinstance(event, UserSpoke)}
    results = {one.call_id: one.content for one in run.messages if isinstance(one, ToolMessage)}
    rejected = {note.call_id for note in run.notes if isinstance(note, CallRejected)}
    exchanges = list[_Exchange]()
    for message in run.messages:
        if isinstance(message, UserMessage) and message.content in said:
            # The user spoke twice before the model replied: one message of the scenario.
            before = f"{exchanges.pop()[0]}\n\n" if exchanges and not exchanges[-1][1] else ""
            exchanges.append((before + message.content, []))
        elif isinstance(message, AssistantMessage) and exchanges:
            calls = [
                _Call(one.name, as_tree(arguments), as_tree(read_json(results.get(one.id, "")).value_or({})))
                for one in message.calls
                if one.name in names
                and one.id not in rejected
                and isinstance(arguments := read_json(one.arguments).value_or(None), dict)
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
    rows = dict[str, list[Tree]]()
    for call in calls:
        if call.name == tool.outward:
            result: Tree
            match call.result:
                case {"ok": True}:
                    result = {"then": call.result.get("data", {})}
                case {"errors": [{"code": str(code), "message": str(message)}, *_]}:
                    result = {"error": {"code": code, "message": message}}
                case _:
                    result = {"error": {"code": "FAILED", "message": ""}}
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
