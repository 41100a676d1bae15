"""The core in lines of JSON; whole conversations are in tests/kit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.samples import PLAN
from tests.strategies import answers, json_values, member, plans, runs
from toolreel_core import CodecError, dump, load_state, pending
from toolreel_core.__main__ import SCHEMA as PRINTED
from toolreel_core._host_session import HostSession
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import Event, Note, Outcome, decode, encode, type_name

SCHEMA = json.loads(PRINTED.read_text("utf-8"))
REPLY = '{"choices":[{"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}'
STREAM = (
    'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n',
    'data: {"choices":[{"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
)


KINDS = [*get_args(Event), *get_args(Note), *get_args(Outcome)]


def fits(kind: str, value: Any) -> bool:  # noqa: ANN401 - parsed JSON
    return Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{kind}"}).is_valid(value)


def plain(value: object) -> Any:  # noqa: ANN401 - parsed JSON
    """A stored form as a host sees it: with lists, not tuples."""
    return json.loads(json.dumps(encode(value)))


class Host:
    """Writes messages, and reads the answers."""

    def __init__(self) -> None:
        self.session = HostSession()

    def says(self, **message: Json) -> Any:  # noqa: ANN401 - parsed JSON
        answer = json.loads(self.session.answer(canonical({"toolreel": 1, **message})))
        assert fits("answer", answer)
        return answer


def start() -> Json:
    return encode(PLAN)


def test_every_class_that_is_stored_has_a_definition() -> None:
    defs = SCHEMA["$defs"]
    assert isinstance(defs, Mapping)
    assert {type_name(kind) for kind in KINDS} <= set(defs)


@given(st.one_of([member(kind) for kind in KINDS]))
def test_a_stored_form_fits_its_schema_and_is_read_back(value: object) -> None:
    assert fits(type_name(type(value)), plain(value))
    assert decode(type(value), plain(value), "value") == value


# What the codec refuses by annotations alone. Of all else, a schema accepts what only the class checks,
# text that is not canonical JSON, and 1.0 where a whole number is expected.
BY_ANNOTATION = re.compile(
    r"\S+: (is missing|is unknown|expected (?!canonical|int, got -?\d+\.0$|int, got .*e)"
    r"(an object|a list|one of|[a-z_]+( or [a-z_]+)*)[^:]*, got )"
)


def _places(tree: Json, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a tree."""
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for key, item in items for place in ((*way, key), *_places(item, (*way, key)))]


@given(plans | st.one_of([member(kind) for kind in (*get_args(Event), *get_args(Note))]), st.data())
def test_what_a_schema_refuses_the_reader_refuses_too_and_what_only_that_refuses_is_listed(
    value: object, data: st.DataObject
) -> None:
    tree = plain(value)
    *way, last = data.draw(st.sampled_from(_places(tree)))
    at = tree
    for key in way:
        at = at[key]
    match data.draw(st.sampled_from(["other", "gone", "more"])):
        case "gone" if isinstance(at, dict):
            del at[last]
        case "more" if isinstance(at, dict):
            at["more"] = 1
        case _:
            at[last] = data.draw(json_values)
    try:
        decode(type(value), tree, "value")
        why = ""
    except CodecError as error:
        why = str(error)
    if fits(type_name(type(value)), tree):
        assert not BY_ANNOTATION.match(why)
    else:
        assert why


def test_a_run_is_kept_under_its_name_until_it_is_closed() -> None:
    host = Host()
    begun = host.says(run="a", start=start())
    assert host.says(run="a")["effects"] == begun["effects"]
    assert host.says(run="a", close=True) == {"toolreel": 1, "run": "a", "closed": True}
    assert host.says(run="a", start=start()) == begun


def test_a_state_is_the_document_that_python_stores() -> None:
    host = Host()
    sent = host.says(run="a", start=start(), **{"with": ["state"]})
    state = load_state(json.dumps(sent["state"]))
    assert json.loads(dump(state)) == sent["state"]
    assert [effect.ref for effect in pending(state)] == [effect["ref"] for effect in sent["effects"]]
    assert host.says(run="b", state=sent["state"])["effects"] == sent["effects"]
    done = host.says(run="b", event={"type": "http_response", "ref": 1, "status": 200, "body": REPLY})
    assert done["outcome"] == {"type": "completed", "content": "Hello."}
    assert host.says(run="a")["outcome"] is None


def test_a_body_that_came_in_chunks_may_be_left_out() -> None:
    host = Host()
    host.says(run="a", start=start())
    shown = [host.says(run="a", event={"type": "http_chunk", "ref": 1, "text": text}) for text in STREAM]
    assert [[delta["text"] for delta in answer["deltas"]] for answer in shown] == [["Hel"], ["lo."]]
    assert [answer["done"] for answer in shown] == [False, True]
    state = host.says(run="a", **{"with": ["state"]})["state"]
    left_out = host.says(run="a", event={"type": "http_response", "ref": 1, "status": 200})
    whole: Json = {"type": "http_response", "ref": 1, "status": 200, "body": "".join(STREAM)}
    assert host.says(run="b", state=state, event=whole) == {**left_out, "run": "b"}
    refused = host.says(state=state, event={"type": "http_chunk", "ref": 1, "text": "data"})
    assert refused["error"]["message"] == "event: chunks are gathered in a run that has a name"


def test_a_message_of_the_user_leaves_a_response_that_is_arriving() -> None:
    host = Host()
    host.says(run="a", start=start())
    host.says(run="a", event={"type": "http_chunk", "ref": 1, "text": STREAM[0]})
    host.says(run="a", event={"type": "user_spoke", "content": "Be brief."})
    host.says(run="a", event={"type": "http_chunk", "ref": 1, "text": STREAM[1]})
    answer = host.says(run="a", event={"type": "http_response", "ref": 1, "status": 200})
    sent = json.loads(answer["effects"][0]["request"]["body"])["messages"]
    assert [message["content"] for message in sent] == ["hi", "Hello.", "Be brief."]


@given(st.data())
def test_no_line_ends_a_session(data: st.DataObject) -> None:
    host, state = Host(), data.draw(runs())[-1].state
    tree: Any = {"toolreel": 1, "run": "a", "state": json.loads(dump(state)), "with": ["journal"]}
    tree["event"] = plain(data.draw(answers(state)))
    *way, last = data.draw(st.sampled_from(_places(tree)))
    at = tree
    for key in way:
        at = at[key]
    at[last] = data.draw(json_values)
    answer = json.loads(host.session.answer(json.dumps(tree)))
    assert fits("answer", answer)
    assert host.session.answer(data.draw(st.text())).startswith('{"toolreel":1,"error"')
