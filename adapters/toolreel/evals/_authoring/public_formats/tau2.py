"""The tasks of tau2 as scenarios: a model plays the user, and assertions in words become judges.

A task says who the user is, which actions are right, what has to be said, and which of these count
(``reward_basis``). Its tools and its database are Python code of the benchmark, which is not carried over:
the tools take note of their calls. Where the database decides, another way of looking things up is as right,
so calls that only read are the exercise there, and those that change something are the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import EvalPlanError
from toolreel.evals._authoring.public_formats.cases import (
    CaseDraft,
    ImportedCase,
    NotCarriedOver,
    noting_tool,
    rows_of,
    scenario_name,
    schema_of,
    scripted_call,
    wanted_calls,
)
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._own_scenarios.placeholders import escaped

_SAYS: Final = "Hello, I need your help."
"""How the user begins; who they are and what they want is in their instructions."""
_TURNS: Final = 12
_DONE: Final = "Done."
_OF_USER: Final = ("persona", "reason_for_call", "known_info", "unknown_info", "task_instructions", "domain")
"""Parts of the user's instructions, in the order in which the model that plays the user gets them."""
_KNOWN: Final = frozenset(
    {"id", "description", "user_scenario", "evaluation_criteria", "annotations", "issues"}
)
_BASIS: Final = ("DB", "COMMUNICATE")
"""What counts in a task that doesn't say so."""
_READING: Final = re.compile(
    r"^(?:get|list|read|find|search|look|lookup|fetch|show|count|check|query|view|calculate|think|log"
    r"|kb_search|transfer)(?:_|$)"
)
"""Names of tools that leave the database as it is, as far as names tell."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
"""A number, which is compared as one."""
_LEAST_TURNS: Final = 30
_NOTED: Final[Json] = [{"then": {"ok": True}}]
_CRITERIA: Final = frozenset({"actions", "communicate_info", "nl_assertions", "reward_basis"})


@dataclass(frozen=True, slots=True)
class Tau2Options:
    """What the tasks don't say."""

    user_model: str
    judge_model: str = ""
    """Judges statements in words; without it, they are left out."""
    policy: str = ""
    """The system message."""
    tools: Path | None = None
    """Definitions as chat completions take them; without it, arguments are guessed from the actions."""


def tau2_cases(path: Path, options: Tau2Options) -> Iterator[ImportedCase]:
    """The tasks of a file, in its order.

    :raises EvalPlanError: if a file cannot be read, or has other things than tasks
    """
    rows = rows_of(path)
    for row in rows:
        if "id" not in row or not isinstance(row.get("user_scenario"), Mapping):
            raise EvalPlanError(
                f"{path}: a task of this format has id and user_scenario; choose another --format"
            )
    listed = _given_tools(options.tools) if options.tools else _guessed_tools(rows)
    tools = [*_with_examples(listed, rows)]
    for row in rows:
        draft = CaseDraft(str(row["id"]))
        try:
            yield _task(draft, row, tools, options)
        except NotCarriedOver as error:
            yield ImportedCase(draft.case, None, (str(error), *draft.left_out))


def _task(
    draft: CaseDraft, row: Mapping[str, Any], tools: Sequence[Tree], options: Tau2Options
) -> ImportedCase:
    criteria = row.get("evaluation_criteria") or {}
    basis = criteria.get("reward_basis") or _BASIS
    calls = [*_right_calls(criteria, draft)]
    if not calls and (criteria.get("actions") or criteria.get("env_assertions")):
        raise NotCarriedOver("what is right is done by the user, who has no tools here")
    bad: list[Json] = [_DONE]
    checks = _calls_wanted(calls, basis, draft)
    if not any(check.get("layer") != "exercise" for check in checks):
        checks = [{"effects": []}, *checks]
        bad = [_change_of_another_task(tools), _DONE]
    told = [*_told(criteria, basis, draft)]
    purpose = (row.get("description") or {}).get("purpose") or ""
    draft.tree |= {
        "name": scenario_name(draft.case, "tau2"),
        "about": " ".join(f"{draft.case} of tau2. {purpose}".split()),
        **({"system": escaped(options.policy)} if options.policy else {}),
        "user": {
            "model": options.user_model,
            "instructions": escaped(_instructions(row["user_scenario"])),
            "says": _SAYS,
            "turns": _TURNS,
        },
        "tool": [{key: value for key, value in tool.items() if key != _EXAMPLE} for tool in tools],
        "check": [
            *checks,
            *({"says": each, "exchange": "any"} for each in told),
            *_judges(criteria, basis, options, draft),
        ],
        "script": {
            "good": [
                *(scripted_call(name, given) for name, given, _ in calls),
                " ".join((_DONE, *(f"{each}." for each in told))),
            ],
            "bad": bad,
        },
        "config": {"max_turns": max(_LEAST_TURNS, len(calls) + 10)},
    }
    _tell_losses(draft, row, criteria, options, [name for name, *_ in calls])
    return draft.imported()


def _right_calls(criteria: Mapping[str, Any], draft: CaseDraft) -> Iterator[tuple[str, Tree, Tree]]:
    """The assistant's actions: name, arguments, and those of them that are compared."""
    for action in criteria.get("actions") or ():
        name, given = str(action.get("name")), action.get("arguments") or {}
        if action.get("requestor", "assistant") != "assistant":
            draft.lacks(f"the user's own action {name}: a user that a model plays has no tools here")
            continue
        chosen = action.get("compare_args")
        compared = given if chosen is None else {key: given[key] for key in chosen if key in given}
        yield name, given, compared


def _calls_wanted(
    calls: Iterable[tuple[str, Tree, Tree]], basis: Sequence[str], draft: CaseDraft
) -> list[dict[str, Json]]:
    """A check for each action; where only the database counts, those that read are the exercise."""
    checks = wanted_calls(((name, compared) for name, _, compared in calls), draft)
    if "ACTION" in basis:
        return checks
    return [
        {**check, "layer": "exercise"} if _READING.search(str(check["called"])) else check for check in checks
    ]


def _change_of_another_task(tools: Iterable[Tree]) -> Json:
    """The call that fails a task in which nothing may be changed."""
    for tool in tools:
        if tool.get("effect") and isinstance(given := tool.get(_EXAMPLE), Mapping):
            return scripted_call(str(tool["name"]), given)
    raise NotCarriedOver("nothing may be changed, and no task of the file has an action that would")


def _told(criteria: Mapping[str, Any], basis: Sequence[str], draft: CaseDraft) -> Iterator[str | float]:
    """What some answer has to say: numbers however they are written."""
    for text in dict.fromkeys(criteria.get("communicate_info") or ()):
        if "COMMUNICATE" in basis:
            yield (float(text) if "." in text else int(text)) if _NUMBER.fullmatch(text) else _text(text)
        else:
            draft.lacks("communicate_info: it does not count in the benchmark either")


def _text(text: str) -> str:
    """A text whose braces are no placeholders."""
    return str(escaped(text))


def _judges(
    criteria: Mapping[str, Any], basis: Sequence[str], options: Tau2Options, draft: CaseDraft
) -> list[Json]:
    """Judges of assertions in words, if they count."""
    asserted = criteria.get("nl_assertions") or ()
    if asserted and "NL_ASSERTION" not in basis:
        draft.lacks(f"nl_assertions ({len(asserted)}): they do not count in the benchmark either")
        return []
    if not options.judge_model:
        for text in asserted:
            draft.lacks(f"the assertion {text!r}: it needs --judge-model")
        return []
    return [
        {
            "judge": escaped(f"Is this true of the conversation: {text}"),
            "model": options.judge_model,
            "name": f"assertion_{number}",
        }
        for number, text in enumerate(asserted, 1)
    ]


def _instructions(scenario: Mapping[str, Any]) -> str:
    said = scenario.get("instructions")
    parts = {
        "persona": scenario.get("persona"),
        **(said if isinstance(said, Mapping) else {"task_instructions": said}),
    }
    named = [*(key for key in _OF_USER if key in parts), *(key for key in parts if key not in _OF_USER)]
    lines = [f"{key.replace('_', ' ').capitalize()}: {parts[key]}" for key in named if parts[key]]
    if not lines:
        raise NotCarriedOver("its user has no instructions")
    return "\n".join(lines)


def _given_tools(path: Path) -> list[Tree]:
    tools = list[Tree]()
    for row in rows_of(path):
        inner = row.get("function", row)
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise EvalPlanError(f"{path}: expected tools with name, description and parameters")
        tools.append(
            noting_tool(inner["name"], str(inner.get("description", "")), schema_of(inner.get("parameters")))
        )
    return tools


def _guessed_tools(rows: Iterable[Mapping[str, Any]]) -> list[Tree]:
    """A tool for each name of an action, with the arguments that any task gives it."""
    arguments: dict[str, dict[str, Json]] = {}
    for row in rows:
        for action in (row.get("evaluation_criteria") or {}).get("actions") or ():
            if action.get("requestor", "assistant") == "assistant":
                known = arguments.setdefault(str(action.get("name")), {})
                known.update({key: _type(value) for key, value in (action.get("arguments") or {}).items()})
    return [
        noting_tool(name, name.replace("_", " ").capitalize() + ".", {"type": "object", "properties": known})
        for name, known in arguments.items()
    ]


_EXAMPLE: Final = "example"


def _with_examples(tools: Iterable[Tree], rows: Iterable[Mapping[str, Any]]) -> Iterator[Tree]:
    """The tools, each with the arguments of an action of some task; those that only read have no effect."""
    actions = [one for row in rows for one in (row.get("evaluation_criteria") or {}).get("actions") or ()]
    given = {str(one.get("name")): one.get("arguments") or {} for one in reversed(actions)}
    for tool in tools:
        example = {_EXAMPLE: given[str(tool["name"])]} if tool["name"] in given else {}
        reading = {"effect": False, "answers": _NOTED} if _READING.search(str(tool["name"])) else {}
        yield {**tool, **reading, **example}


def _type(value: object) -> Json:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": names[type(value)]} if type(value) in names else {}


def _tell_losses(
    draft: CaseDraft,
    row: Mapping[str, Any],
    criteria: Mapping[str, Any],
    options: Tau2Options,
    called: Iterable[str],
) -> None:
    if names := ", ".join(dict.fromkeys(called)):
        draft.lacks(f"what {names} returned: calls are noted and work")
    if options.tools is None:
        draft.lacks("the schemas of the tools, which are guessed from the actions; name theirs with --tools")
    if not options.policy:
        draft.lacks("the policy of the assistant; name its file with --system")
    for key in sorted(set(row) - _KNOWN):
        if row[key]:
            draft.lacks(f"{key} of the task")
    for key in sorted(set(criteria) - _CRITERIA):
        if criteria[key]:
            draft.lacks(f"{key} ({len(criteria[key])})")
    if "DB" in (criteria.get("reward_basis") or ()):
        draft.lacks("the comparison of the database at the end: calls are checked instead, by their names")
