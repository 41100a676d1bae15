from __future__ import annotations

import re

from toolreel_core._tools import envelope_of
from toolreel_core.evals import failure, identifier, success


def test_an_identifier_follows_from_seed_and_kind() -> None:
    one = identifier("1", "workspace")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", one)
    assert one == identifier("1", "workspace")
    assert one not in {identifier("2", "workspace"), identifier("1", "order")}


def test_what_a_world_returns_is_an_envelope_already() -> None:
    worked, failed = success("add", {"sum": 3}), failure("add", "ARGUMENT_ERROR", "b is missing.")
    assert envelope_of("add", worked, limit=1_000).text() == worked
    assert envelope_of("add", failed, limit=1_000).text() == failed
