"""The multi-turn cases of the Berkeley function-calling leaderboard as scenarios.

A case has the user's turns, the classes whose methods are tools, and the right calls of each turn. Its world
is Python code of the leaderboard, which is not carried over: the tools take note of their calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
from toolreel.evals._authoring.public_formats.python_calls import CallTextError, read_call
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._own_scenarios.placeholders import escaped

_DOCUMENTS: Final = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""Files of the leaderboard's functions by class; of others, the name of the class in small letters."""
_MAX_TURNS: Final = 20
"""Requests for one turn of the user, as in the leaderboard."""
_DONE: Final = "Done."


def bfcl_cases(path: Path, answers: Path | None, functions: Path | None) -> Iterator[ImportedCase]:
    """The cases of a file, in its order.

    :param answers: the right calls by id; without it, they are in the cases as ``ground_truth``
    :param functions: a folder with a file of functions for each class; without it, they are in the cases
    :raises EvalPlanError: if a file cannot be read
    """
    right = {str(row.get("id")): row.get("ground_truth") for row in rows_of(answers)} if answers else {}
    for row in rows_of(path):
        case = str(row.get("id", ""))
        if not case or not isinstance(row.get("question"), list):
            raise EvalPlanError(f"{path}: a case of this format has id and question; choose another --format")
        try:
            yield _case(CaseDraft(case), row, right.get(case, row.get("ground_truth")), functions)
        except (NotCarriedOver, CallTextError) as error:
            yield ImportedCase(case, None, (str(error),))


def _case(draft: CaseDraft, row: Mapping[str, Any], right: object, functions: Path | None) -> ImportedCase:
    if joins := row.get("missed_function"):
        turns = ", ".join(f"{', '.join(names)} before turn {int(at) + 1}" for at, names in joins.items())
        raise NotCarriedOver(f"tools join in the middle ({turns}), which a scenario cannot say")
    if not isinstance(right, list) or not all(isinstance(calls, list) for calls in right):
        raise NotCarriedOver("there are no right calls for it; name their file with --answers")
    documents = _documents(row, functions)
    parameters: dict[str, Sequence[str]] = {
        name: [*_properties(document)] for name, document in documents.items()
    }
    wanted = [[read_call(str(text), parameters) for text in calls] for calls in right]
    if not any(wanted):
        raise NotCarriedOver("no turn wants a call, so nothing can be checked")
    system, user = _said(row["question"], draft)
    if len(wanted) != len(user):
        raise NotCarriedOver(f"it has {len(user)} turns, and right calls for {len(wanted)}")
    draft.tree |= {
        "name": scenario_name(draft.case, "bfcl"),
        "about": f"{draft.case} of the Berkeley function-calling leaderboard.",
        **({"system": escaped(system)} if system else {}),
        "user": [escaped(text) for text in user],
        "tool": [
            noting_tool(name, str(document.get("description", "")), schema_of(document.get("parameters")))
            for name, document in documents.items()
        ],
        "check": [*wanted_calls((call for calls in wanted for call in calls), draft)],
        "script": {"good": _good(wanted), "bad": [_DONE]},
        "config": {"max_turns": _MAX_TURNS},
    }
    _tell_losses(draft, row, wanted)
    return draft.imported()


def _good(wanted: Sequence[Sequence[tuple[str, dict[str, Json]]]]) -> list[Json]:
    lines = list[Json]()
    for calls in wanted:
        lines += [*(scripted_call(*call) for call in calls), _DONE]
    return lines


def _said(question: Sequence[Sequence[Mapping[str, Any]]], draft: CaseDraft) -> tuple[str, list[str]]:
    """The system message, and what the user says turn by turn."""
    system, user = list[str](), list[str]()
    for number, messages in enumerate(question, 1):
        of_user = [str(one.get("content", "")) for one in messages if one.get("role") == "user"]
        system += [str(one.get("content", "")) for one in messages if one.get("role") == "system"]
        for role in sorted({str(one.get("role")) for one in messages} - {"user", "system"}):
            draft.lacks(f"the messages of {role} in turn {number}")
        if not "".join(of_user).strip():
            raise NotCarriedOver(f"the user says nothing in turn {number}")
        user.append("\n".join(of_user))
    return "\n".join(system), user


def _documents(row: Mapping[str, Any], functions: Path | None) -> dict[str, Mapping[str, Any]]:
    """The functions of a case by name, without those that it excludes."""
    inline = row.get("function")
    rows = list(inline) if isinstance(inline, list) else []
    if not rows and functions is None:
        classes = ", ".join(map(str, row.get("involved_classes", ())))
        raise NotCarriedOver(f"the functions of {classes} are missing; name their folder with --functions")
    if not rows and functions is not None:
        for name in row.get("involved_classes", ()):
            rows += rows_of(functions / f"{_DOCUMENTS.get(name, _snake(str(name)))}.json")
    excluded = row.get("excluded_function", ())
    return {str(each["name"]): each for each in rows if "name" in each and each["name"] not in excluded}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _properties(document: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = document.get("parameters")
    found = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _tell_losses(
    draft: CaseDraft, row: Mapping[str, Any], wanted: Sequence[Sequence[tuple[str, dict[str, Json]]]]
) -> None:
    states = [name for name, state in (row.get("initial_config") or {}).items() if state]
    if states:
        draft.lacks(f"the world of {', '.join(states)}, and the comparison of its end")
    called = dict.fromkeys(name for calls in wanted for name, _ in calls)
    draft.lacks(f"what {', '.join(called)} returned: calls are noted and work")
    for number, calls in enumerate(wanted, 1):
        if not calls:
            draft.lacks(f"that turn {number} wants no call")
    if sum(map(bool, wanted)) > 1:
        draft.lacks("in which turn each call has to be made")
