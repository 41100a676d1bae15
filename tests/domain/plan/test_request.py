from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from tests.strategies import json_objects, transcripts
from toolreel_core._conversation import BLOCK, Transcript, UserMessage
from toolreel_core._jsontext import Json, Tree, canonical, chained_digest, digest, parse
from toolreel_core._plan import Bodies, IgnoredWhy, Request, RequestOptions, build_request_bodies
from toolreel_core._settings import LoopConfig, Provider, StreamMode

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


@given(transcripts)
def test_no_request_has_a_call_without_a_result(messages: Transcript) -> None:
    request = Request("m", messages, NO_OPTIONS)
    assert request.messages == messages.complete()
    assert request == Request("m", request.messages, NO_OPTIONS)


def test_the_digest_is_a_chain_over_parts_that_are_digested_already() -> None:
    options = RequestOptions(canonical({"n": 1}))
    assert options.digest == digest('{"n":1}')
    assert Request("m", HI, options).digest == chained_digest("", "m", HI.chain, options.digest)


@pytest.mark.parametrize(
    ("options", "streamed"),
    [({"stream": True}, True), ({"stream": False}, False), ({"stream": 1}, False), ({}, False), ([], False)],
)
def test_a_request_knows_whether_its_reply_is_to_be_streamed(options: Json, streamed: bool) -> None:
    assert Request("m", HI, RequestOptions(canonical(options))).streamed is streamed


def test_a_request_copies_only_the_end_of_what_the_request_before_it_has_sent() -> None:
    told = Transcript.of([UserMessage("x" * 1_000)] * 1_000)
    was, now = (Request("m", said, NO_OPTIONS) for said in (told, told.append(UserMessage("y"))))
    old = {id(piece): piece for piece in was.pieces()}
    fresh = [piece for piece in now.pieces() if id(piece) not in old]
    assert len(now.body) > 1_000_000
    assert sum(map(len, fresh)) < BLOCK + 200


TOOLS: tuple[Json, ...] = ({"type": "function", "function": {"name": "ping"}},)
SENT: dict[str, Json] = {"tools": [TOOLS[0]]}
ABOUT_TOOLS: dict[str, Json] = {"tool_choice": "auto", "parallel_tool_calls": False}
STREAMED: dict[str, Json] = {"stream": True, "stream_options": {"include_usage": True}}


def bodies(
    options: Tree | None = None,
    overrides: Tree | None = None,
    tools: tuple[Json, ...] = TOOLS,
    *,
    stream: StreamMode = "never",
    known: Tree | None = None,
) -> Bodies:
    """The bodies of a run at an endpoint of which this is known."""
    config = LoopConfig(stream=stream)
    return build_request_bodies(options or {}, overrides or {}, tools, Provider.of(known or {}), config)


def trees(made: Bodies) -> tuple[Tree, ...]:
    """What follows the messages: with tools, with the demand for a call, and without tools."""
    options = (made.with_tools, made.requiring, made.without_tools)
    return tuple(cast("Tree", parse(each.text)) for each in options)


def ignored(made: Bodies) -> list[tuple[str, IgnoredWhy]]:
    return [(one.key, one.why) for one in made.ignored]


def test_tools_stand_before_the_options_and_what_is_about_them_goes_with_them() -> None:
    made = bodies({"temperature": 0, **ABOUT_TOOLS})
    assert made.with_tools.text == canonical({**SENT, "temperature": 0, **ABOUT_TOOLS})
    assert made.requiring.text == canonical(
        {**SENT, "temperature": 0, **ABOUT_TOOLS, "tool_choice": "required"}
    )
    assert made.without_tools.text == canonical({"temperature": 0})
    assert (made.quirks, made.ignored) == ((), ())


@pytest.mark.parametrize(
    ("setting", "key", "value"), worked("what a provider does not take is left out", "runs-and-plans")
)
def test_what_a_provider_does_not_take_is_left_out(setting: str, key: str, value: Json) -> None:
    made = bodies({key: value, "n": 1}, known={setting: "no"})
    assert trees(made) == ({**SENT, "n": 1}, {**SENT, "n": 1, "tool_choice": "required"}, {"n": 1})
    assert ignored(made) == [(key, "unsupported")]
    overridden = bodies({}, {key: value}, tools=(), known={setting: "no"})
    assert trees(overridden)[0] == {}
    for known in ("yes", "unknown"):
        left = bodies({key: value}, known={setting: known})
        assert key in {**trees(left)[0], **trees(left)[2]}
        assert (key, "unsupported") not in ignored(left)


@pytest.mark.parametrize(
    ("options", "field", "renamed", "cap"),
    worked("the output limit goes out under the name that the provider reads", "runs-and-plans"),
)
def test_the_output_limit_goes_out_under_the_name_that_the_provider_reads(
    options: Tree, field: str, renamed: Tree, cap: int | None
) -> None:
    made = bodies(options, known={"max_tokens_field": field})
    assert trees(made)[2] == renamed
    assert made.output_cap == cap
    assert made.quirks == (("max_tokens_field",) if renamed != options else ())


@pytest.mark.parametrize("key", ["max_completion_tokens", "max_tokens", "max_output_tokens"])
def test_the_output_limit_of_a_request_is_read_in_each_form(key: str) -> None:
    assert RequestOptions(canonical({key: 9})).output_cap == 9
    assert bodies({key: 9}).output_cap == 9
    assert NO_OPTIONS.output_cap is None


@pytest.mark.parametrize("cap", [None, True, "9", 0, -1, 2.5])
def test_a_limit_that_is_none_cuts_nothing(cap: Json) -> None:
    assert bodies({"max_tokens": cap}).output_cap is None
    assert bodies({"max_completion_tokens": cap, "max_tokens": 9}).output_cap == 9


@pytest.mark.parametrize(
    ("rule", "options", "sent"), worked("the temperature is what the provider takes", "runs-and-plans")
)
def test_the_temperature_is_what_the_provider_takes(rule: str, options: Tree, sent: Tree) -> None:
    made = bodies(options, known={"temperature_rule": rule})
    assert trees(made)[2] == sent
    assert made.quirks == (("temperature_rule",) if sent != options else ())


def test_every_reply_is_streamed_where_that_is_wanted() -> None:
    made = bodies({"n": 1}, stream="always")
    assert trees(made) == (
        {**SENT, "n": 1, **STREAMED},
        {**SENT, "n": 1, **STREAMED, "tool_choice": "required"},
        {"n": 1, **STREAMED},
    )
    bare: Tree = {"stream_options": {"include_usage": False}}
    assert trees(bodies(bare, stream="always"))[0] == {**SENT, **STREAMED, **bare}
    unasked = trees(bodies(stream="always", known={"supports_stream_options": "no"}))
    assert [one["stream"] for one in unasked] == [True] * 3
    assert not any("stream_options" in one for one in unasked)
