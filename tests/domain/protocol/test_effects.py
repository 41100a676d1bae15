from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given

from tests import strategies
from toolreel_core._conversation import Transcript, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Request, RequestOptions
from toolreel_core._protocol import (
    ANSWERS,
    AskApproval,
    Cancelled,
    Effect,
    Event,
    Finish,
    RunTool,
    SendRequest,
    TransportFailed,
    Wait,
    fingerprint,
)

REQUEST = Request("m", Transcript.of([UserMessage("hi")]), RequestOptions(canonical({})))
SEND = SendRequest(1, REQUEST)
RUN = RunTool(1, "a", "echo", canonical({}))
ASK = AskApproval(1, "a", "echo", canonical({}))
WAIT = Wait(1, 500)
FAILED = Finish(TransportFailed("status", 500, "overloaded"))


def test_the_table_is_total_and_names_only_events() -> None:
    assert set(ANSWERS) == set(get_args(Effect))
    assert {kind for kinds in ANSWERS.values() for kind in kinds} <= set(get_args(Event))


@pytest.mark.parametrize(
    ("effect", "change"),
    [
        (SEND, {"ref": 2}),
        (SEND, {"request": replace(REQUEST, model="other")}),
        (SEND, {"request": replace(REQUEST, messages=REQUEST.messages.append(UserMessage("more")))}),
        (SEND, {"request": replace(REQUEST, options=RequestOptions(canonical({"n": 1})))}),
        (RUN, {"ref": 2}),
        (RUN, {"call_id": "b"}),
        (RUN, {"name": "ping"}),
        (RUN, {"arguments": canonical({"text": "hi"})}),
        (ASK, {"ref": 2}),
        (ASK, {"call_id": "b"}),
        (ASK, {"name": "ping"}),
        (ASK, {"arguments": canonical({"text": "hi"})}),
        (WAIT, {"ref": 2}),
        (WAIT, {"ms": 501}),
        (FAILED, {"outcome": Cancelled("")}),
        (FAILED, {"outcome": TransportFailed("broken", 500, "overloaded")}),
        (FAILED, {"outcome": TransportFailed("status", 503, "overloaded")}),
        (FAILED, {"outcome": TransportFailed("status", None, "overloaded")}),
        (FAILED, {"outcome": TransportFailed("status", 500, "gone")}),
    ],
)
def test_the_fingerprint_differs_with_every_field(effect: Effect, change: Mapping[str, Any]) -> None:
    assert fingerprint(replace(effect, **change)) != fingerprint(effect)


def covered(effect: Effect) -> object:
    """What a fingerprint covers: of a request, what goes out and where to."""
    if isinstance(effect, SendRequest):
        return effect.ref, effect.endpoint, effect.request.body
    return effect


@given(strategies.effects, strategies.effects)
def test_equal_effects_and_no_others_have_equal_fingerprints(one: Effect, other: Effect) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (covered(one) == covered(other))
    assert (one == other) <= (covered(one) == covered(other))
    assert fingerprint(replace(one)) == fingerprint(one)


def test_the_key_of_a_call_is_no_part_of_the_effect() -> None:
    """Journals of before there were keys have the same fingerprints."""
    keyed = replace(RUN, key="k")
    assert keyed == RUN
    assert fingerprint(keyed) == fingerprint(RUN)
    assert fingerprint(RUN) == "0ff7ed29bce9ba9a02dbf4f337f84841e6ac32bf8b31c99d61a1a883b44b21a2"
