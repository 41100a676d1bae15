"""Cases of public data sets as scenarios, in the shape of the leaderboard and of tau2; all cases are ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel._internal.errors import EvalPlanError
from toolreel.evals._authoring.proof import proof_of
from toolreel.evals._authoring.public_formats.bfcl import bfcl_cases
from toolreel.evals._authoring.public_formats.cases import ImportedCase, scenario_name, write_imported
from toolreel.evals._authoring.public_formats.python_calls import CallTextError, read_call
from toolreel.evals._authoring.public_formats.tau2 import Tau2Options, tau2_cases
from toolreel.evals._scenario_files.files import read_scenarios

WATER = {
    "name": "water",
    "description": "Water a bed.",
    "parameters": {
        "type": "dict",
        "properties": {"bed": {"type": "string"}, "litres": {"type": "float", "default": None}},
        "required": ["bed"],
    },
    "response": {"type": "dict", "properties": {}},
}
BEDS = {"name": "beds", "description": "All beds.", "parameters": {"type": "dict", "properties": {}}}
CASE: dict[str, Any] = {
    "id": "multi_turn_garden_0",
    "question": [
        [{"role": "user", "content": "Which beds are there? Water {the} roses."}],
        [{"role": "user", "content": "And the beans, twice."}],
        [{"role": "user", "content": "Thanks!"}],
    ],
    "initial_config": {"GardenAPI": {"beds": ["roses", "beans"]}},
    "path": ["GardenAPI.water"],
    "involved_classes": ["GardenAPI"],
}
RIGHT = {
    "id": "multi_turn_garden_0",
    "ground_truth": [
        ["beds()", "water('roses', litres=2.0)"],
        ["water(bed='beans')", "water(bed='beans')"],
        [],
    ],
}


def lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def bfcl(folder: Path, *, right: dict[str, Any] | None = None, **changes: object) -> ImportedCase:
    lines(folder / "docs" / "garden_api.json", WATER, BEDS)
    cases = lines(folder / "cases.json", {**CASE, **changes})
    answers = lines(folder / "answers.json", RIGHT if right is None else right)
    (found,) = bfcl_cases(cases, answers, folder / "docs")
    return found


def test_a_case_of_the_leaderboard_holds_as_a_scenario_and_says_what_it_lacks(tmp_path: Path) -> None:
    case = bfcl(tmp_path)
    assert case.left_out == (
        "that water is called again with the same arguments: one such call is enough here",
        "the world of GardenAPI, and the comparison of its end",
        "what beds, water returned: calls are noted and work",
        "that turn 3 wants no call",
        "in which turn each call has to be made",
    )
    write_imported([case], tmp_path / "set.jsonl")
    (one,) = read_scenarios(tmp_path / "set.jsonl")
    assert one.name == "multi_turn_garden_0"
    posed = one.begin("1")
    assert posed.messages[0].content == "Which beds are there? Water {the} roses."
    assert posed.follow_ups == ("And the beans, twice.", "Thanks!")
    assert [tool.outward for tool in posed.tools.definitions] == ["water", "beds"]
    assert '"type":"number","default":null' in posed.tools.definitions[0].parameters
    assert [check.name for check in posed.checks] == [
        *("call_1_beds", "call_2_water", "call_3_water", "answer"),
    ]
    assert proof_of(one, 2).holds


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"missed_function": {"1": ["water"]}}, r"tools join in the middle \(water before turn 2\)"),
        ({"question": CASE["question"][:2]}, "it has 2 turns, and right calls for 3"),
        ({"question": [[], *CASE["question"][1:]]}, "the user says nothing in turn 1"),
        ({"right": {}}, "there are no right calls for it; name their file with --answers"),
        ({"right": {**RIGHT, "ground_truth": [[], [], []]}}, "no turn wants a call"),
        ({"right": {**RIGHT, "ground_truth": [["dig()"], [], []]}}, "'dig\\(\\)': no function of this case"),
        ({"right": {**RIGHT, "ground_truth": [["water(bed)"], [], []]}}, "an argument is no literal"),
        ({"excluded_function": ["water"]}, "water.*: no function of this case"),
    ],
)
def test_a_case_that_would_be_another_task_is_named_and_not_imported(
    changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    case = bfcl(tmp_path, **changes)
    assert case.tree is None
    (told,) = case.left_out
    assert re.search(why, told), told
    with pytest.raises(EvalPlanError, match="no case could be carried over"):
        write_imported([case], tmp_path / "set.jsonl")


def test_functions_may_stand_in_the_case_and_messages_of_others_are_told(tmp_path: Path) -> None:
    question = [
        [{"role": "system", "content": "A garden."}, {"role": "tool", "content": "x"}, *CASE["question"][0]]
    ]
    row = {**CASE, "question": question, "function": [WATER, BEDS], "ground_truth": [["beds()"]]}
    (case,) = bfcl_cases(lines(tmp_path / "cases.json", row), None, None)
    assert case.tree is not None
    assert case.tree["system"] == "A garden."
    assert "the messages of tool in turn 1" in case.left_out
    (without,) = bfcl_cases(lines(tmp_path / "other.json", {**row, "function": []}), None, None)
    assert without.left_out == ("the functions of GardenAPI are missing; name their folder with --functions",)


TASK: dict[str, Any] = {
    "id": "3",
    "description": {"purpose": "The guest knows the day only roughly."},
    "user_scenario": {
        "persona": "In a hurry.",
        "instructions": {
            "task_instructions": "Insist once.",
            "domain": "hotel",
            "reason_for_call": "You want to move your booking B7.",
            "known_info": "You are {Ada}.",
            "unknown_info": None,
        },
    },
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [
            {"action_id": "3_0", "name": "find_booking", "arguments": {"booking": "B7"}, "compare_args": []},
            {"action_id": "3_1", "name": "move_booking", "arguments": {"booking": "B7", "nights": 2, "n": 1},
             "compare_args": ["booking", "nights"]},
            {"action_id": "3_2", "name": "restart_phone", "arguments": {}, "requestor": "user"},
        ],
        "communicate_info": ["14 March"],
        "nl_assertions": ["The agent names the fee."],
        "env_assertions": [{"func_name": "is_moved"}],
        "reward_basis": ["DB", "COMMUNICATE"],
    },
}  # fmt: skip
OPTIONS = Tau2Options("user-model", "judge-model", "Move bookings once.")


def tau2(folder: Path, options: Tau2Options = OPTIONS, **changes: object) -> ImportedCase:
    (found,) = tau2_cases(lines(folder / "tasks.json", [{**TASK, **changes}]), options)
    return found


def test_a_task_of_tau2_has_a_user_that_a_model_plays_and_judges(tmp_path: Path) -> None:
    case = tau2(tmp_path)
    write_imported([case], tmp_path / "set.jsonl")
    (one,) = read_scenarios(tmp_path / "set.jsonl")
    assert one.name == "tau2_3"
    posed = one.begin("1")
    assert posed.user is not None
    assert posed.user.instructions.splitlines() == [
        "Persona: In a hurry.",
        "Reason for call: You want to move your booking B7.",
        "Known info: You are {Ada}.",
        "Task instructions: Insist once.",
        "Domain: hotel",
    ]
    assert posed.judges == ()
    assert proof_of(one, 2).holds
    assert case.left_out == (
        "the user's own action restart_phone: a user that a model plays has no tools here",
        "nl_assertions (1): they do not count in the benchmark either",
        "what find_booking, move_booking returned: calls are noted and work",
        "the schemas of the tools, which are guessed from the actions; name theirs with --tools",
        "env_assertions (1)",
        "the comparison of the database at the end: calls are checked instead, by their names",
    )
    tree: Any = case.tree
    first, second, told = tree["check"]
    assert "with" not in first, "no argument of it is compared"
    assert first["layer"] == "exercise", "only the database counts, and this one reads"
    assert (second["with"], second.get("layer")) == ({"booking": "B7", "nights": 2}, None)
    assert told == {"says": "14 March", "exchange": "any"}


def criteria(**changes: object) -> dict[str, Any]:
    return {"evaluation_criteria": {**TASK["evaluation_criteria"], **changes}}


def test_assertions_are_judged_where_they_count(tmp_path: Path) -> None:
    (case,) = (tau2(tmp_path, **criteria(reward_basis=["DB", "NL_ASSERTION"])),)
    tree: Any = case.tree
    assert tree["check"][-1] == {
        "judge": "Is this true of the conversation: The agent names the fee.",
        "model": "judge-model",
        "name": "assertion_1",
    }
    assert "communicate_info: it does not count in the benchmark either" in case.left_out
    tree = tau2(tmp_path, **criteria(reward_basis=["ACTION"])).tree
    assert [one.get("layer") for one in tree["check"]] == [None, None], "each action counts"


def test_numbers_that_have_to_be_told_are_found_however_they_are_written(tmp_path: Path) -> None:
    tree: Any = tau2(tmp_path, **criteria(communicate_info=["1286", "12.5", "{x}"])).tree
    assert [one["says"] for one in tree["check"] if "says" in one] == [1286, 12.5, "{{x}}"]
    write_imported([tau2(tmp_path, **criteria(communicate_info=["1286", "{x}"]))], tmp_path / "told.jsonl")
    (one,) = read_scenarios(tmp_path / "told.jsonl")
    assert proof_of(one, 2).holds


@pytest.mark.parametrize("actions", [[], [TASK["evaluation_criteria"]["actions"][0]]])
def test_a_task_in_which_nothing_may_be_changed_is_failed_by_a_change(
    actions: list[Any], tmp_path: Path
) -> None:
    """Of one of the other tasks, since its own actions have none."""
    quiet = {**TASK, "id": "4", **criteria(actions=actions, communicate_info=[], env_assertions=[])}
    _, case = tau2_cases(lines(tmp_path / "tasks.json", [TASK, quiet]), OPTIONS)
    write_imported([case], tmp_path / "set.jsonl")
    (one,) = read_scenarios(tmp_path / "set.jsonl")
    assert proof_of(one, 2).holds
    tree: Any = case.tree
    assert tree["check"][0] == {"effects": []}
    assert tree["script"]["bad"][0]["call"] == "move_booking"


def test_a_task_of_many_actions_has_turns_enough(tmp_path: Path) -> None:
    many = [{"action_id": f"{n}", "name": "move_booking", "arguments": {"nights": n}} for n in range(40)]
    case = tau2(tmp_path, **criteria(actions=many, communicate_info=None))
    write_imported([case], tmp_path / "set.jsonl")
    (one,) = read_scenarios(tmp_path / "set.jsonl")
    assert proof_of(one, 1).holds


def test_without_a_judge_what_stands_in_words_is_named_as_missing(tmp_path: Path) -> None:
    tools = lines(tmp_path / "tools.json", {"type": "function", "function": {"name": "find_booking"}},
                  {"name": "move_booking", "parameters": {"type": "object"}})  # fmt: skip
    case = tau2(
        tmp_path,
        Tau2Options("user-model", tools=tools),
        initial_state={"x": 1},
        **criteria(reward_basis=["NL_ASSERTION"]),
    )
    assert [what for what in case.left_out if "judge" in what or "policy" in what or "state" in what] == [
        "the assertion 'The agent names the fee.': it needs --judge-model",
        "the policy of the assistant; name its file with --system",
        "initial_state of the task",
    ]
    assert not any("guessed" in what for what in case.left_out)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"evaluation_criteria": None}, "nothing may be changed, and no task of the file has an action"),
        (
            {"evaluation_criteria": {"actions": TASK["evaluation_criteria"]["actions"][2:]}},
            "what is right is done by the user, who has no tools here",
        ),
        ({"user_scenario": {"instructions": ""}}, "its user has no instructions"),
    ],
)
def test_a_task_without_what_a_scenario_needs_is_not_imported(
    changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    case = tau2(tmp_path, **changes)
    assert case.tree is None
    assert why in case.left_out[0]


def test_instructions_may_be_one_text(tmp_path: Path) -> None:
    tree: Any = tau2(tmp_path, user_scenario={"instructions": "Move it."}).tree
    assert tree["user"]["instructions"] == "Task instructions: Move it."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1, 2]", "choose another --format"),
        ('{"id": 1}', "choose another --format"),
        ("{", "line 1: neither JSON nor JSON lines"),
        ("", "expected JSON objects"),
    ],
)
def test_a_file_of_another_format_is_refused(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(text)
    readers: list[Callable[[], object]] = [
        lambda: [*bfcl_cases(path, None, None)],
        lambda: [*tau2_cases(path, OPTIONS)],
    ]
    for read in readers:
        with pytest.raises(EvalPlanError, match=told if text[:1] != "[" else "expected JSON objects"):
            read()


@given(st.text(max_size=60))
def test_a_call_in_python_is_data_or_refused(text: str) -> None:
    try:
        name, _ = read_call(text, {"water": ["bed"]})
    except CallTextError:
        return
    assert name == "water"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "water",
            "water(1, 2)",
            "water(1, bed=2)",
            "water(**{'bed': 1})",
            "a.water(1)",
            "water(",
            "water({1})",
        ),
        *("water(__import__('os'))", "water(b'x')", "water(1)(2)"),
    ],
)
def test_a_text_that_is_more_than_a_call_of_literals_is_refused(text: str) -> None:
    with pytest.raises(CallTextError):
        read_call(text, {"water": ["bed"]})


def test_arguments_by_place_have_the_names_of_the_parameters() -> None:
    found = read_call("water(('a', {'b': None}), litres=-2)", {"water": ["bed", "litres"]})
    assert found == ("water", {"bed": ["a", {"b": None}], "litres": -2})


@given(st.text(max_size=80))
def test_every_id_makes_a_name(case: str) -> None:
    name = scenario_name(case, "bfcl")
    assert name[0].isalpha()
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert len(name) <= 64
