from __future__ import annotations

import pytest
from returns.result import Failure, Success

from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._worlds.json_patch import patched

DRAFT: Json = {"draft": {"list": ["a", "c"], "text": "x"}}


def op(name: Json, path: Json, value: Json = None, **more: Json) -> Json:
    return {"op": name, "path": path, "value": value, **more}


@pytest.mark.parametrize(
    ("operation", "draft"),
    [
        (op("set", "/draft/new/deep", 1), {"list": ["a", "c"], "text": "x", "new": {"deep": 1}}),
        (op("set", "/draft/list/0", 1), {"list": [1, "c"], "text": "x"}),
        (op("set", "/draft/text"), {"list": ["a", "c"], "text": None}),
        (op("delete", "/draft/text"), {"list": ["a", "c"]}),
        (op("append", "/draft/list", "d"), {"list": ["a", "c", "d"], "text": "x"}),
        (op("append", "/draft/new", "d"), {"list": ["a", "c"], "text": "x", "new": ["d"]}),
        (op("insert", "/draft/list", "b", index=1), {"list": ["a", "b", "c"], "text": "x"}),
        (op("insert", "/draft/new", "b"), {"list": ["a", "c"], "text": "x", "new": ["b"]}),
    ],
)
def test_each_operation_does_its_part(operation: Json, draft: Json) -> None:
    assert patched(DRAFT, [operation], under="/draft/") == Success({"draft": draft})


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ("set", "ops[1]: expected an object with op and path"),
        (op("move", "/draft/a"), "ops[1]: there is no op 'move'; use one of set, delete, append, insert"),
        (op("set", "/facts/a"), "ops[1]: path must begin with /draft/, got '/facts/a'"),
        (op("set", 7), "ops[1]: path must begin with /draft/, got 7"),
        (op("append", "/draft/text", "d"), "ops[1]: only a list can be added to"),
        (op("insert", "/draft/text", "d", index=0), "ops[1]: only a list can be added to"),
        (
            op("insert", "/draft/list", "d", index=9),
            "ops[1]: index must be a whole number from 0 to 2, got 9",
        ),
        (
            op("insert", "/draft/list", "d", index=True),
            "ops[1]: index must be a whole number from 0 to 2, got True",
        ),
        (
            op("set", "/draft/text/deep", 1),
            "ops[1]: there is no place 'deep' inside of a value that is no object and no list",
        ),
    ],
)
def test_one_operation_that_cannot_be_done_undoes_all(operation: Json, why: str) -> None:
    assert patched(DRAFT, [op("set", "/draft/first", 1), operation], under="/draft/") == Failure(why)
    assert DRAFT == {"draft": {"list": ["a", "c"], "text": "x"}}


def test_nothing_to_do_changes_nothing() -> None:
    assert patched(DRAFT, [], under="/draft/") == Success(DRAFT)


def test_a_tree_that_is_taken_away_whole_is_null() -> None:
    assert patched({"a": 1}, [op("delete", "")], under="") == Success(None)
