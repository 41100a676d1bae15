"""The tasks of tau2 as scenarios: a model plays the user, and assertions in words become judges.

A task says who the user is, which actions are right, and what has to be true. Its tools and its database are
Python code of the benchmark, which is not carried over: the tools take note of their calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import EvalPlanError
from toolreel.evals._authoring.public_formats.imported import (
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
_KNOWN: Final = frozenset({"id", "description", "user_scenario", "evaluation_criteria", "annotations"})
_CRITERIA: Final = frozenset({"actions", "communicate_info", "nl_assertions", "reward_basis"})


@dataclass(frozen=True, slots=True)
class Tau2Options:
    """What the tasks don't say."""

    user_model: str
    judge_model: str = ""
    """Judges what stands in words; without it, that is left out."""
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
    tools = _given_tools(options.tools) if options.tools else _guessed_tools(rows)
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
    calls = [*_right_calls(criteria, draft)]
    checks = [*wanted_calls(((name, compared) for name, _, compared in calls), draft)]
    if not checks:
        raise NotCarriedOver("it has no action of the assistant, and without one no script proves the checks")
    checks += _judges(criteria, options, draft)
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
        "tool": [*tools],
        "check": checks,
        "script": {
            "good": [*(scripted_call(name, given) for name, given, _ in calls), _DONE],
            "bad": [_DONE],
        },
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


def _judges(criteria: Mapping[str, Any], options: Tau2Options, draft: CaseDraft) -> list[Json]:
    """Judges of what has to be said, and of assertions in words."""
    told = [
        ("told", f'Did the assistant tell the user "{text}"?')
        for text in criteria.get("communicate_info") or ()
    ]
    asserted = [
        ("assertion", f"Is this true of the conversation: {text}")
        for text in criteria.get("nl_assertions") or ()
    ]
    if not options.judge_model:
        for kind, question in (*told, *asserted):
            draft.lacks(f"{kind} ({question}): it needs --judge-model")
        return []
    return [
        {"judge": escaped(question), "model": options.judge_model, "name": f"{kind}_{number}"}
        for number, (kind, question) in enumerate((*told, *asserted), 1)
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
    draft.lacks(f"what {', '.join(dict.fromkeys(called))} returned: calls are noted and work")
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
        draft.lacks("the comparison of the database at the end: the actions are checked instead")
