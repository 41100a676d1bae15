from __future__ import annotations

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._scenarios.packs.tool_failures import FAULTS
from toolreel_core.evals._scenarios.scripts import call, script

SET: Json = [{"op": "set", "path": "/draft/foo", "value": "bar"}]
READ, WRITE = call("state_get"), call("state_patch", request_id="r1", ops=SET)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("patch_fails_once", "UNAVAILABLE"),
        ("first_read_cut", "TOOL_OUTPUT_NOT_JSON"),
        ("first_read_huge", "TOOL_OUTPUT_TOO_LARGE"),
    ],
)
def test_the_world_fails_a_model_that_does_nothing_wrong(name: str, code: str) -> None:
    one = next(one for one in FAULTS if one.name == name)
    found = rehearse(one, script(READ, WRITE, READ, WRITE, "Done."))
    assert [codes for call in found.evidence.calls if (codes := call.codes)] == [(code,)]
    assert found.verdict.result == "pass"


def test_going_on_without_a_read_is_fine_too() -> None:
    for one in FAULTS[1:]:
        assert rehearse(one, script(READ, WRITE, "Done.")).verdict.result == "pass"
