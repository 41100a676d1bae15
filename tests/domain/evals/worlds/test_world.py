from __future__ import annotations

from toolreel_core._tools import envelope_of
from toolreel_core.evals import failure, success


def test_what_a_world_returns_is_an_envelope_already() -> None:
    worked, failed = success("add", {"sum": 3}), failure("add", "ARGUMENT_ERROR", "b is missing.")
    assert envelope_of("add", worked, limit=1_000).text() == worked
    assert envelope_of("add", failed, limit=1_000).text() == failed
