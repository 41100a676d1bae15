from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyrsistent import pmap

from tests.samples import IF_YOUR_OWN, ROOT, complaint, worked
from tests.strategies import member, plans, states, transcripts
from toolreel_core._conversation import (
    Blob,
    Image,
    Message,
    Transcript,
    UserMessage,
    user_message,
)
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AwaitingReply,
    CancelRequested,
    Effect,
    Event,
    Memory,
    Note,
    Outcome,
    Phase,
    RunStarted,
    State,
    Stored,
    Tally,
    decode_plan,
    dump,
    encode,
    from_json,
    load_effect,
    load_event,
    load_note,
    load_plan,
    load_state,
    to_json,
    type_name,
    user_spoke_event,
)
from toolreel_core._settings import LoopConfig

HI = Transcript.of([UserMessage("hi")])
ASKED = AwaitingReply(1)
WAITING = State(Plan("m", (UserMessage("hi"),)), ASKED, HI, Tally(turns=1), Memory(), 2)

PICTURE = Image(Blob("image/png", "AAAA"), "low")
RECORDS = (ROOT / "tests" / "corpora" / "stored.jsonl").read_text("utf-8").splitlines()
"""The stored form of each kind; messages stand in a plan, outcomes in an effect, phases in a state."""


def kept_as_json(tree: object) -> Tree:
    """What a database returns that stores JSON, and sorts its keys."""
    return cast("Tree", json.loads(json.dumps(tree, sort_keys=True)))


@pytest.mark.parametrize("stored", RECORDS, ids=[json.loads(line)["type"] for line in RECORDS])
def test_the_stored_form_of_each_kind_is_this(stored: str) -> None:
    value = from_json(f'{{"toolreel":1,"value":{stored}}}')
    assert canonical(encode(value)) == stored
    assert canonical(to_json(value)) == dump(value)
    assert from_json(kept_as_json(to_json(value))) == from_json(dump(value)) == value


def test_the_form_of_every_member_of_every_union_is_pinned() -> None:
    unions: tuple[Any, ...] = (Message, Event, Effect, Note, Outcome, Phase)
    named = {name for line in RECORDS for name in re.findall(r'"type":"(\w+)"', line)}
    assert {type_name(kind) for union in unions for kind in get_args(union)} - named == set()


@given(states())
def test_a_state_is_read_back_from_a_tree_as_from_its_text(state: State) -> None:
    assert canonical(to_json(state)) == dump(state)
    tree = kept_as_json(to_json(state))
    assert load_state(tree) == from_json(tree) == load_state(dump(state)) == state
    assert load_plan(kept_as_json(to_json(state.plan))) == state.plan


def test_a_tree_of_another_kind_is_rejected() -> None:
    tree = to_json(RunStarted())
    assert complaint(CodecError, lambda: load_state(tree)).startswith(
        "value: expected an object of type state"
    )
    assert complaint(CodecError, lambda: from_json({"value": {}})).startswith("not a stored value")


def test_a_plan_with_a_transform_that_nobody_registered_says_how_to_register_it() -> None:
    known = "user_special_tokens_neutralized"
    config = LoopConfig(message_transforms=(known,))
    stored = dump(start(Plan.of(model="m", messages="hi", config=config)).state)
    why = complaint(CodecError, lambda: load_state(stored.replace(known, "our_names")))
    assert why.startswith(
        "value.plan.config: message_transforms: there is no message transform 'our_names'; "
    )
    assert why.endswith(IF_YOUR_OWN)


@pytest.mark.parametrize("kind", [*get_args(Event), *get_args(Effect), *get_args(Note)])
@given(data=st.data())
def test_every_event_effect_and_note_is_read_back_as_itself(kind: type[Stored], data: st.DataObject) -> None:
    value = data.draw(member(kind))
    load: Callable[[str], object] = load_event if kind in get_args(Event) else load_effect
    assert (load_note if kind in get_args(Note) else load)(dump(value)) == from_json(dump(value)) == value


@given(plans)
def test_a_plan_is_read_back_as_itself_and_so_is_all_that_is_computed(plan: Plan) -> None:
    loaded = load_plan(dump(plan))
    assert loaded == decode_plan(encode(plan)) == plan
    assert (loaded.digest, loaded.bodies.with_tools) == (plan.digest, plan.bodies.with_tools)


@given(states(), transcripts)
def test_a_state_is_read_back_with_any_form_and_any_shortened_history(
    state: State, history: Transcript
) -> None:
    odd = replace(state, messages=history)
    loaded = load_state(dump(odd))
    assert loaded == odd
    assert dump(loaded) == dump(odd)


def test_what_has_its_default_value_is_not_stored_but_may_be() -> None:
    stored = '{"toolreel":1,"value":{"type":"cancel_requested"}}'
    assert dump(CancelRequested("")) == stored
    assert load_event(stored) == CancelRequested("")
    assert load_event('{"toolreel":1,"value":{"type":"cancel_requested","reason":""}}') == CancelRequested("")


def test_what_a_run_remembers_is_written_in_the_same_order_however_it_was_filled() -> None:
    names = [f"tool_{number}" for number in range(20)]
    orders = (pmap(dict.fromkeys(names, True)), pmap(dict.fromkeys(reversed(names), True)))
    one, other = (replace(WAITING, memory=Memory(last_ok=last_ok)) for last_ok in orders)
    assert dump(one) == dump(other)
    assert load_state(dump(one)) == one


@pytest.mark.parametrize("value", [{1}, [RunStarted()], {"a": 1}, object])
def test_what_is_no_value_of_the_core_has_no_stored_form(value: object) -> None:
    assert complaint(CodecError, lambda: encode(value)) == f"{value!r} has no stored form"


@pytest.mark.parametrize(
    ("text", "why"), worked("what is no record of this version is refused", "runs-and-plans")
)
@pytest.mark.parametrize("load", [load_plan, load_state, load_event, load_effect, load_note])
def test_what_is_no_record_of_this_version_is_refused(
    load: Callable[[str], object], text: str, why: str
) -> None:
    assert complaint(CodecError, lambda: load(text)) == why


LOADS: dict[str, Callable[[Tree], object]] = {
    "event": load_event,
    "effect": load_effect,
    "note": load_note,
    "plan": load_plan,
    "state": load_state,
}
DAMAGED = (ROOT / "tests" / "corpora" / "damaged.jsonl").read_text("utf-8").splitlines()
"""Records in which one place holds something else, each with what it is loaded as and what the error says."""


@pytest.mark.parametrize("line", DAMAGED)
def test_a_damaged_record_is_an_error_that_names_the_place(line: str) -> None:
    row: dict[str, Any] = json.loads(line)
    records: tuple[Any, ...] = (row["record"], canonical(row["record"]))
    for record in records:
        assert complaint(CodecError, partial(LOADS[row["load"]], record)) == row["why"]


ONCE = user_message(["Look:", PICTURE, "and", PICTURE])
DIGEST = "sha256:709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c"


def test_a_stored_state_has_each_blob_once() -> None:
    state = start(Plan("m", (ONCE,))).state
    text = dump(state)
    assert text.count("AAAA") == 1
    assert text.endswith(f'"blobs":{{"{DIGEST}":"AAAA"}}}}')
    assert load_state(text) == state


@pytest.mark.parametrize(
    ("change", "why"), worked("a state whose blobs are damaged is refused", "runs-and-plans")
)
def test_a_state_whose_blobs_are_damaged_is_refused(change: tuple[str, str], why: str) -> None:
    text = dump(start(Plan("m", (ONCE,))).state).replace(*change)
    with pytest.raises(CodecError, match=re.escape(why)):
        load_state(text)


def test_a_blob_that_stands_where_it_is_used_is_read_too() -> None:
    event = user_spoke_event(ONCE.parts)
    assert load_event(canonical({"toolreel": 1, "value": encode(event)})) == event
