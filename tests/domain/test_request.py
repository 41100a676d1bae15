from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, transcripts
from toolreel.digest import chain, digest
from toolreel.jsontext import Json, canonical, parse
from toolreel.messages import UserMessage
from toolreel.request import Request, RequestOptions
from toolreel.transcript import Transcript

HI = Transcript.of([UserMessage("hi")])
NO_OPTIONS = RequestOptions(canonical({}))
owned = {"model", "messages"}


@given(st.text(), transcripts, json_objects.filter(lambda tree: not owned & tree.keys()))
def test_the_body_is_the_canonical_text_of_the_whole_tree(
    model: str, messages: Transcript, options: Mapping[str, Json]
) -> None:
    tree: Json = {"model": model, "messages": [parse(text) for text in messages.texts], **options}
    assert Request(model, messages, RequestOptions(canonical(options))).body == canonical(tree)


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ({}, '{"model":"m","messages":[{"role":"user","content":"hi"}]}'),
        ({"n": 1, "b": {}}, '{"model":"m","messages":[{"role":"user","content":"hi"}],"n":1,"b":{}}'),
    ],
)
def test_options_follow_the_messages_in_their_own_order(options: Mapping[str, Json], body: str) -> None:
    assert Request("m", HI, RequestOptions(canonical(options))).body == body


def test_the_digest_is_a_chain_over_parts_that_are_digested_already() -> None:
    options = RequestOptions(canonical({"n": 1}))
    assert options.digest == digest('{"n":1}')
    assert Request("m", HI, options).digest == chain("", "m", HI.chain, options.digest)


def test_the_digest_of_a_history_that_grew_is_that_of_the_whole() -> None:
    whole = Transcript.of([UserMessage("hi"), UserMessage("more")])
    grown = HI.append(UserMessage("more"))
    assert Request("m", grown, NO_OPTIONS).digest == Request("m", whole, NO_OPTIONS).digest


def test_the_digest_differs_with_every_part() -> None:
    requests = [
        Request("m", HI, NO_OPTIONS),
        Request("other", HI, NO_OPTIONS),
        Request("m", Transcript.of([UserMessage("hello")]), NO_OPTIONS),
        Request("m", HI, RequestOptions(canonical({"n": 1}))),
    ]
    assert len({request.digest for request in requests}) == len(requests)


def test_options_are_equal_by_their_text() -> None:
    assert RequestOptions(canonical({})) == NO_OPTIONS
    assert RequestOptions(canonical({"n": 1})) != NO_OPTIONS
