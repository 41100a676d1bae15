"""Requests of Responses and Messages: read, passed on as they are, or said in another form without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._client_requests import (
    SHAPES,
    WHAT_TO_DO,
    ClientRequest,
    Loss,
    client_request,
    wrong_shapes,
)
from toolreel_core._jsontext import Json, canonical
from toolreel_core._plan import Preset
from toolreel_core._proxy import Outbound, Profile, build_upstream_request
from toolreel_core._settings import WireForm

Loose = Mapping[str, Any]
FORMS: tuple[WireForm, ...] = ("chat_completions", "responses", "messages")
SCHEMA: Loose = {"type": "object", "properties": {"part": {"type": "string"}}}


def profile(form: WireForm, preset: Loose | None = None, **settings: Any) -> Profile:  # noqa: ANN401
    return Profile.of(Preset.of("mine", dict(preset or {})), {"wire_form": form, **settings})


def asked(form: WireForm, body: Loose) -> ClientRequest:
    request = client_request(canonical(dict(body)), form)
    assert isinstance(request, ClientRequest), request
    return request


def sent(form: WireForm, to: WireForm | Profile, body: Loose, model: str = "") -> tuple[Any, tuple[str, ...]]:
    out = build_upstream_request(
        asked(form, body), to if isinstance(to, Profile) else profile(to), model=model
    )
    assert isinstance(out, Outbound), out
    return json.loads(out.body), out.repairs


def lost(form: WireForm, to: WireForm, body: Loose) -> tuple[str, str]:
    out = build_upstream_request(asked(form, body), profile(to))
    assert isinstance(out, Loss), out
    return out.code, out.param


def chat(*messages: Loose, **further: Any) -> Loose:  # noqa: ANN401
    return {"model": "m", "messages": messages or ({"role": "user", "content": "Hi."},), **further}


def messages(*given: Loose, **further: Any) -> Loose:  # noqa: ANN401
    said = given or ({"role": "user", "content": "Hi."},)
    return {"model": "m", "max_tokens": 9, "messages": said, **further}


def responses(*items: Loose, **further: Any) -> Loose:  # noqa: ANN401
    return {"model": "m", "input": items or "Hi.", **further}


WEATHER: Mapping[WireForm, Loose] = {
    "chat_completions": {"type": "function", "function": {"name": "stock", "parameters": SCHEMA}},
    "responses": {"type": "function", "name": "stock", "parameters": SCHEMA},
    "messages": {"name": "stock", "input_schema": SCHEMA},
}
TURN: Mapping[WireForm, Loose] = dict(worked("one conversation in each form", "requests"))


@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_means_the_same_in_each_form(form: WireForm) -> None:
    assert asked(form, TURN[form]).messages == asked("chat_completions", TURN["chat_completions"]).messages
    assert asked(form, {**TURN[form], "tools": [WEATHER[form]]}).tools.names == ("stock",)


@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("form", FORMS)
def test_it_is_said_in_each_other_form(form: WireForm, to: WireForm) -> None:
    body, repairs = sent(form, to, {**TURN[form], "tools": [WEATHER[form]]}, model="theirs")
    assert body["model"] == "theirs"
    assert asked(to, body).messages == asked(form, TURN[form]).messages
    assert asked(to, body).tools.names == ("stock",)
    assert repairs == ()


@pytest.mark.parametrize(("form", "body"), worked("in its own form everything passes", "requests"))
def test_in_its_own_form_everything_passes(form: WireForm, body: Loose) -> None:
    assert sent(form, form, body) == (json.loads(canonical(dict(body))), ())


def test_in_its_own_form_only_what_is_wrong_changes() -> None:
    first, second, *_ = TURN["messages"]["messages"]
    result = {"type": "tool_result", "tool_use_id": "call_2", "content": "0"}
    marked = {"role": "user", "content": [{"type": "text", "text": "How many?", "cache_control": {}}]}
    body, repairs = sent(
        "messages",
        "messages",
        messages(marked, second, {"role": "user", "content": [result]}, first, system="S"),
    )
    assert repairs == ("history",)
    assert (body["system"], body["messages"][0], body["messages"][3]) == ("S", marked, first)
    results = [block["tool_use_id"] for block in body["messages"][2]["content"]]
    assert results == ["call_2", "call_1"]

    items = TURN["responses"]["input"]
    body, repairs = sent("responses", "responses", responses(*items[:-1], instructions="S"))
    assert repairs == ("history",)
    assert body["input"][:-1] == [*items[:-1]]
    assert (body["instructions"], body["input"][-1]["call_id"]) == ("S", "call_2")
    dropped, repairs = sent("messages", "messages", messages(first, {"role": "assistant", "content": ""}))
    assert (dropped["messages"], repairs) == ([first], ("history",))


@pytest.mark.parametrize("to", ["responses", "messages"])
def test_a_result_that_no_call_asked_for_is_left_out_of_another_form_and_named(to: WireForm) -> None:
    hello, lone = {"role": "user", "content": "Hi."}, {"role": "tool", "tool_call_id": "a", "content": "4"}
    body, repairs = sent("chat_completions", to, chat(hello, lone))
    assert (body["input" if to == "responses" else "messages"], repairs) == ([hello], ("history",))


def test_a_system_message_may_be_joined() -> None:
    late = {"role": "system", "content": "Now."}
    body, repairs = sent("chat_completions", "messages", chat(*TURN["chat_completions"]["messages"], late))
    assert (body["system"], repairs) == ("Be brief.\n\nNow.", ("single_leading_system",))
    body, repairs = sent(
        "responses",
        profile("responses", single_leading_system=True),
        responses({"role": "user", "content": "Hi."}, late, instructions="Be brief."),
    )
    assert "instructions" not in body
    assert body["input"][0] == {"role": "system", "content": "Be brief.\n\nNow."}
    assert repairs == ("single_leading_system",)


@pytest.mark.parametrize(
    ("form", "to", "body", "out", "repairs"),
    worked("a request is said in the words of the upstream", "requests"),
)
def test_a_request_is_said_in_the_words_of_the_upstream(
    form: WireForm, to: WireForm, body: Loose, out: Json, repairs: list[str]
) -> None:
    got, names = sent(form, to, body)
    assert (got, sorted(names)) == (out, repairs)


def test_a_stream_is_not_asked_for_its_usage_where_that_is_refused() -> None:
    quiet = profile("chat_completions", supports_stream_options="no")
    assert "stream_options" not in sent("messages", quiet, messages(stream=True))[0]


def test_a_preset_says_its_options_in_each_form() -> None:
    preset = {
        "request": {"max_completion_tokens": 50, "temperature": 0.5},
        "request_overrides": {"top_p": 0.5, "input": [], "parallel_tool_calls": False},
    }
    body, _ = sent("responses", profile("responses", preset), responses(temperature=0.1))
    assert body == {
        "model": "m",
        "input": "Hi.",
        "temperature": 0.1,
        "max_output_tokens": 50,
        "top_p": 0.5,
        "parallel_tool_calls": False,
    }
    body, repairs = sent(
        "messages", profile("messages", temperature_rule="drop"), messages(temperature=0.1, top_k=4)
    )
    assert (body["top_k"], "temperature" in body, repairs) == (4, False, ("temperature_rule",))


def test_schemas_are_rewritten_in_each_form() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string"}},
    }
    cases: tuple[tuple[WireForm, Loose, str], ...] = (
        ("messages", {"name": "f", "input_schema": schema, "cache_control": {}}, "input_schema"),
        ("responses", {"type": "function", "name": "f", "parameters": schema}, "parameters"),
    )
    for form, tool, key in cases:
        body: Any = messages(tools=[tool, {"type": "x"}]) if form == "messages" else responses(tools=[tool])
        inlined = profile(form, schema_transform="inline_defs")
        out, repairs = sent(form, inlined, body)
        assert out["tools"][0][key]["properties"] == {"a": {"type": "string"}}
        assert {**out["tools"][0], key: schema} == tool
        assert repairs == ("schema_inline_defs",)
        assert out["tools"][1:] == body["tools"][1:]
        without, repairs = sent(form, profile(form, supports_tools="no"), body)
        assert ("tools" in without, repairs) == (False, ("without_tools",))


def part(**given: Any) -> Loose:  # noqa: ANN401
    return responses({"role": "user", "content": [given]})


LOSSES = worked("what would be lost is named", "requests")


@pytest.mark.parametrize(("form", "body", "code", "param"), LOSSES)
def test_what_would_be_lost_is_named(form: WireForm, body: Loose, code: str, param: str) -> None:
    for to in FORMS:
        if to == form:
            assert isinstance(build_upstream_request(asked(form, body), profile(to)), Outbound)
        else:
            assert lost(form, to, body) == (code, param)


def test_what_only_one_form_lacks_is_lost_there_alone() -> None:
    assert lost("chat_completions", "responses", chat(stop=["END"])) == ("stop", "stop")
    assert lost("messages", "responses", messages(top_k=4)) == ("sampling", "top_k")
    sound = part(type="input_audio", input_audio={"data": "AAAA", "format": "wav"})
    assert lost("responses", "messages", sound) == ("audio", "messages[0]")


def test_every_loss_happens() -> None:
    """The sentences are for those that do."""
    assert {code for _, _, code, _ in LOSSES} | {"stop"} == {*WHAT_TO_DO}


@pytest.mark.parametrize("form", FORMS)
def test_what_has_its_shape_or_is_null_is_not_lost(form: WireForm) -> None:
    assert not [*wrong_shapes(TURN[form], form)]
    paths = [path for each in SHAPES[form].values() for path in each]
    assert not [*wrong_shapes(dict.fromkeys(path.partition(".")[0] for path in paths), form)]


def test_a_loss_says_what_to_do() -> None:
    assert Loss("stored_file", "input[0].file_id").message("messages", "responses") == (
        "input[0].file_id: the upstream speaks Messages: it names a file that another server has stored; "
        "send the file itself, or use an upstream that speaks Responses."
    )
