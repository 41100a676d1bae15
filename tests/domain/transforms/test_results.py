from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._transforms.results import compact_envelope

FULL: Tree = {
    "ok": False,
    "tool_name": "fetch",
    "data": {"n": 0},
    "warnings": ["slow"],
    "errors": [{"code": "ARGUMENT_ERROR", "message": "no"}],
}


def with_data(data: Json) -> Tree:
    return {"ok": True, "tool_name": "fetch", "data": data, "warnings": [], "errors": []}


def test_what_is_empty_is_left_out_of_an_envelope() -> None:
    assert compact_envelope(with_data({})) == {"ok": True, "tool_name": "fetch"}
    assert compact_envelope(with_data({"n": 0})) == {"ok": True, "tool_name": "fetch", "data": {"n": 0}}
    assert compact_envelope({**FULL, "data": {}, "warnings": []}) == {
        key: FULL[key] for key in ("ok", "tool_name", "errors")
    }


@pytest.mark.parametrize("envelope", [FULL, {}, {"ok": False, "tool_name": ""}])
def test_an_envelope_with_nothing_empty_stays(envelope: Tree) -> None:
    assert compact_envelope(envelope) is envelope
