from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._internal import PlaceError
from toolreel_core.evals import VOIDS, AcceptedVoids, Options

FORBIDDEN = "transport.forbidden"


def read(**table: object) -> Options:
    return Options.of({"eval": table})


def test_at_their_defaults_they_are_not_stored() -> None:
    """Else the header and the digest of every old plan would change."""
    for options in (Options.of({}), read(accept_void=[], min_coverage=1)):
        stored: Any = options.tree()["eval"]
        assert not {"accept_void", "min_coverage"} & {*stored}
        assert Options.of(options.tree()) == options


def test_what_differs_is_stored_and_read() -> None:
    options = read(accept_void=[FORBIDDEN], min_coverage=0.9)
    assert options.accepted_voids == AcceptedVoids((FORBIDDEN,), 0.9)
    assert Options.of(options.tree()) == options


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"accept_void": ["transport.forbiden"]}, "did you mean 'transport.forbidden'?"),
        ({"accept_void": ["loop.max_turns"]}, "'loop.max_turns' is no void run, so that it counts"),
        ({"min_coverage": 0.5}, "eval.min_coverage: it is about void runs that are accepted"),
        ({"accept_void": [FORBIDDEN], "min_coverage": 1.1}, "expected a number from 0 to 1, got 1.1"),
        ({"accept_void": [FORBIDDEN], "min_coverage": "all"}, "expected a number of at least 0, got 'all'"),
        ({"accept_void": [FORBIDDEN], "min_coverage": None}, "expected a number from 0 to 1, got None"),
    ],
)
def test_what_cannot_be_accepted_is_said(table: dict[str, object], told: str) -> None:
    assert told in complaint(PlaceError, lambda: read(**table))


def test_only_void_runs_of_a_named_category_are_accepted() -> None:
    voids = AcceptedVoids((FORBIDDEN,))
    assert voids.includes("void", FORBIDDEN)
    assert not voids.includes("void", "transport.timeout")
    assert not voids.includes("fail", FORBIDDEN)
    assert not any(AcceptedVoids().includes("void", name) for name in VOIDS)


@given(st.integers(1, 400), st.data())
def test_a_minimum_is_met_by_exactly_so_many_runs(runs: int, data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, runs))
    voids = AcceptedVoids((FORBIDDEN,), kept / runs)
    assert voids.suffice(runs - kept, runs)
    if kept:
        assert not voids.suffice(runs - kept + 1, runs)


def test_they_are_told_with_their_share() -> None:
    assert AcceptedVoids().sentence(0, 4) == ""
    told = AcceptedVoids((FORBIDDEN,)).sentence(0, 0)
    assert (
        told
        == f"0 of 0 runs void and accepted ({FORBIDDEN}): 100.0 % covered, at least min_coverage (100.0 %)"
    )
