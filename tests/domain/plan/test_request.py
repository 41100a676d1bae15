from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, transcripts
from toolreel_core._conversation.blocks import BLOCK
from toolreel_core._conversation.message import UserMessage
from toolreel_core._conversation.transcript import Transcript
from toolreel_core._jsontext.canonical import Json, canonical, parse
from toolreel_core._jsontext.digest import chain, digest
from toolreel_core._plan.request import Request, RequestOptions

HI = Transcript.of([UserMessage("hi")])
NO_OPTIONS = RequestOptions(canonical({}))
owned = {"model", "messages"}


@given(st.text(), transcripts, json_objects.filter(lambda tree: not owned & tree.keys()))
def test_the_body_is_the_canonical_text_of_the_whole_tree(
    model: str, messages: Transcript, options: Mapping[str, Json]
) -> None:
    texts = messages.complete().texts
    tree: Json = {"model": model, "messages": [parse(text) for text in texts], **options}
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


@given(transcripts)
def test_no_request_has_a_call_without_a_result(messages: Transcript) -> None:
    request = Request("m", messages, NO_OPTIONS)
    assert request.messages == messages.complete()
    assert request == Request("m", request.messages, NO_OPTIONS)


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


@pytest.mark.parametrize(
    ("options", "streamed"),
    [({"stream": True}, True), ({"stream": False}, False), ({"stream": 1}, False), ({}, False), ([], False)],
)
def test_a_request_knows_whether_its_reply_is_to_be_streamed(options: Json, streamed: bool) -> None:
    assert Request("m", HI, RequestOptions(canonical(options))).streamed is streamed


def test_options_are_equal_by_their_text() -> None:
    assert RequestOptions(canonical({})) == NO_OPTIONS
    assert RequestOptions(canonical({"n": 1})) != NO_OPTIONS


def test_a_request_copies_only_the_end_of_what_the_request_before_it_has_sent() -> None:
    told = Transcript.of([UserMessage("x" * 1_000)] * 1_000)
    was, now = (Request("m", said, NO_OPTIONS) for said in (told, told.append(UserMessage("y"))))
    old = {id(piece): piece for piece in was.pieces()}
    fresh = [piece for piece in now.pieces() if id(piece) not in old]
    assert len(now.body) > 1_000_000
    assert sum(map(len, fresh)) < BLOCK + 200
