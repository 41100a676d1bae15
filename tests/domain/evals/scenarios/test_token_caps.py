from __future__ import annotations

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.reference import LONG_ARGUMENTS_GUARD
from toolreel_core.evals._scenarios.scripts import script
from toolreel_core.evals._scenarios.token_caps import CAPPED


def test_the_references_caps_are_there_to_be_compared_with() -> None:
    caps = {one.name: rehearse(one, script("Done.")).bodies[0]["max_tokens"] for one in CAPPED}
    assert caps == {"long_arguments_guard_capped": 256, "chat_only_capped": 32}


def test_nothing_else_is_different() -> None:
    guard = CAPPED[0]
    assert guard.begin("1") == LONG_ARGUMENTS_GUARD.begin("1")
    assert guard.checks == LONG_ARGUMENTS_GUARD.checks
    assert guard.changes.config == LONG_ARGUMENTS_GUARD.changes.config
    assert guard.changes.names == (guard.name,)
    assert (guard.pack, guard.groups) == ("capped", ())
