from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from toolreel_core._jsontext import Json
from toolreel_core._replies import identified


@pytest.mark.parametrize("identity", ["call_a", "functions.add:0", "aB3dE6gH9", "0", " x "])
def test_a_usable_id_is_never_touched(identity: str) -> None:
    assert identified([identity], turn=1) == [(identity, ())]


@pytest.mark.parametrize(
    ("native", "identity", "code"),
    [
        (None, "call_3_0", "CALL_ID_MISSING"),
        ("", "call_3_0", "CALL_ID_MISSING"),
        (" \n", "call_3_0", "CALL_ID_MISSING"),
        (0, "0", "CALL_ID_NOT_STRING"),
        (7, "7", "CALL_ID_NOT_STRING"),
        (True, "call_3_0", "CALL_ID_NOT_STRING"),
        (1.5, "call_3_0", "CALL_ID_NOT_STRING"),
        (["call_a"], "call_3_0", "CALL_ID_NOT_STRING"),
        ({"id": "call_a"}, "call_3_0", "CALL_ID_NOT_STRING"),
    ],
)
def test_every_call_gets_an_id_that_is_text(native: Json, identity: str, code: str) -> None:
    assert identified([native], turn=3) == [(identity, (code,))]


@pytest.mark.parametrize(
    ("natives", "identities"),
    [
        (["x", "x", "x"], ["x", "call_3_1", "call_3_2"]),
        ([None, "call_3_0"], ["call_3_1", "call_3_0"]),
        (["call_3_1", None], ["call_3_1", "call_3_2"]),
        ([None, None], ["call_3_0", "call_3_1"]),
        (["7", 7], ["7", "call_3_1"]),
    ],
)
def test_two_calls_never_share_an_id(natives: list[Json], identities: list[str]) -> None:
    assert [identity for identity, _ in identified(natives, turn=3)] == identities


def test_a_repeated_id_is_reported_with_the_later_call() -> None:
    assert [codes for _, codes in identified(["7", 7], turn=1)] == [
        (),
        ("CALL_ID_NOT_STRING", "CALL_ID_DUPLICATE"),
    ]


@given(st.lists(json_values | st.sampled_from(["call_1_0", "call_1_1", "call_1_2", None])))
def test_ids_are_unique_and_the_same_every_time(natives: list[Json]) -> None:
    found = [identity for identity, _ in identified(natives, turn=1)]
    assert len(set(found)) == len(natives)
    assert found == [identity for identity, _ in identified(natives, turn=1)]
