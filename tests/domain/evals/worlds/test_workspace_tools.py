from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._schema.validation import violations
from toolreel_core.evals._worlds.workspace_tools import FACTS_COMMIT, STATE_GET, STATE_PATCH, WORKSPACE_TOOLS

SET: Json = {"op": "set", "path": "/draft/foo", "value": "bar"}


def test_two_tools_are_sent_and_the_third_is_hidden() -> None:
    assert WORKSPACE_TOOLS.names == ("state_get", "state_patch")
    assert FACTS_COMMIT.name not in WORKSPACE_TOOLS.text
    assert FACTS_COMMIT.name in WORKSPACE_TOOLS.known


@pytest.mark.parametrize(
    "arguments",
    [
        {"request_id": "r1", "ops": [SET]},
        {"request_id": "r1", "ops": [], "workspace_id": "w"},
        {"request_id": "r1", "ops": [{"op": "insert", "path": "/draft/a", "value": None, "index": 1}]},
    ],
)
def test_a_patch_needs_a_name_and_a_list(arguments: Json) -> None:
    assert violations(STATE_PATCH.parameters, canonical(arguments)) == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"ops": [SET]},
        {"request_id": "r1"},
        {"request_id": "r1", "ops": SET},
        {"request_id": "r1", "ops": [{}]},
    ],
)
def test_anything_else_is_no_patch(arguments: Json) -> None:
    assert violations(STATE_PATCH.parameters, canonical(arguments))


def test_a_read_needs_nothing_and_takes_nothing_else() -> None:
    assert violations(STATE_GET.parameters, canonical({})) == ()
    assert violations(STATE_GET.parameters, canonical({"select": ["/draft"], "workspace_id": "w"})) == ()
    assert violations(STATE_GET.parameters, canonical({"path": "/draft"}))
