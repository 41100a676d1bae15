"""Replies to clients of Responses and Messages: repaired, and the same whether they are streamed or not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.domain.proxy.asked import HEAD, Loose
from tests.samples import worked
from tests.wire_forms import events_of
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._proxy import (
    Profile,
    Repaired,
    ReplyStream,
    error_body_in_form,
    repair_reply,
    stream_error_event,
)
from toolreel_core._settings import WireForm

FORMS: tuple[WireForm, ...] = ("responses", "messages")
ALL: tuple[WireForm, ...] = ("chat_completions", *FORMS)
IN_TEXT = 'Looking.\n<tool_call>{"name": "stock", "arguments": {"part": "pin"}}</tool_call>'
TOOLS: Mapping[WireForm, Loose] = {
    "responses": {"type": "function", "name": "stock", "parameters": {"type": "object"}},
    "messages": {"name": "stock", "input_schema": {"type": "object"}},
}


def asked(form: WireForm, **further: Any) -> ClientRequest:  # noqa: ANN401
    said: Loose = (
        {"input": "Hi."}
        if form == "responses"
        else {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}
    )
    request = client_request(canonical({"model": "m", **said, "tools": [TOOLS[form]], **further}), form)
    assert isinstance(request, ClientRequest)
    return request


def by(form: WireForm) -> Profile:
    return Profile.of(settings={"wire_form": form})


def plain(form: WireForm, upstream: WireForm, body: Loose | str, **further: Any) -> tuple[Any, Repaired]:  # noqa: ANN401
    request = asked(form, **further)
    text = body if isinstance(body, str) else canonical(dict(body))
    reply = repair_reply(text, request, by(upstream), HEAD)
    assert reply.problem is None
    return json.loads(canonical(reply.answer(request))), reply


def streamed(
    form: WireForm,
    upstream: WireForm,
    text: Iterable[str],
    **further: Any,  # noqa: ANN401
) -> tuple[list[Any], list[Any], Repaired]:
    """The events that pass at once, those at the end, and the reply."""
    stream, early = ReplyStream(asked(form, **further), by(upstream), HEAD), list[Tree]()
    for piece in text:
        early += stream.feed(piece)
    late, reply = stream.close()
    return json.loads(canonical(early)), json.loads(canonical([*late])), reply


def chat(content: Any, finish: str = "stop", **further: Any) -> Loose:  # noqa: ANN401
    choice = {"message": {"role": "assistant", "content": content, **further}, "finish_reason": finish}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
    return {"id": "gen-1", "created": 7, "model": "m-2", "choices": [choice], "usage": usage}


def frames(*deltas: Loose, finish: str = "stop") -> list[str]:
    head = {"id": "gen-1", "created": 7, "model": "m-2"}
    given: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    given.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    given.append({**head, "choices": [], "usage": chat("")["usage"]})
    return [*(f"data: {canonical(frame)}\n\n" for frame in given), "data: [DONE]\n\n"]


CALL = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"part": "pin"}'}}
CUT = {**CALL, "function": {"name": "stock", "arguments": '{"part": "pi'}}


def message(*content: Loose, stop: str = "end_turn", **further: Any) -> dict[str, Any]:  # noqa: ANN401
    usage = {"input_tokens": 3, "output_tokens": 2, "service_tier": "standard"}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-2", "stop_sequence": None}
    return {**head, "content": content, "stop_reason": stop, "usage": usage, **further}


def response(*output: Loose, status: str = "completed", **further: Any) -> dict[str, Any]:  # noqa: ANN401
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    head = {"id": "resp_1", "object": "response", "created_at": 7, "model": "m-2", "billing": {"payer": "p"}}
    return {**head, "output": output, "status": status, "usage": usage, **further}


TEXT = {"type": "text", "text": "Look."}
USE = {"type": "tool_use", "id": "toolu_1", "name": "stock", "input": {"part": "pin"}}
THOUGHT = {"type": "thinking", "thinking": "Hm. Ho.", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "a"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]}
CITED = {"type": "text", "text": "It is so.", "citations": [{"type": "x", "url": "u"}]}


def item(text: str, id_: str = "msg_a") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": id_, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


SEARCHED = {"id": "ws_a", "type": "web_search_call", "status": "completed"}


@pytest.mark.parametrize(
    ("form", "further", "body", "reply"),
    worked("a chat completion is a reply in the form of the client", "requests"),
)
def test_a_chat_completion_is_a_reply_in_the_form_of_the_client(
    form: WireForm, further: Loose, body: Loose, reply: Loose
) -> None:
    got, _ = plain(form, "chat_completions", body, **further)
    assert {key: got[key] for key in got if key != "tools" or form == "messages"} == reply


@pytest.mark.parametrize("said", [{"content": "Lo"}, {"tool_calls": [{"index": 0, **CUT}]}])
def test_what_was_cut_is_incomplete_in_a_stream_too(said: Loose) -> None:
    early, late, _ = streamed("responses", "chat_completions", frames(said, finish="length"))
    built = rebuilt("responses", [*early, *late])
    assert [built["status"], built["output"][-1]["status"]] == ["incomplete", "incomplete"]


def test_a_refusal_is_streamed_as_one() -> None:
    early, late, _ = streamed("responses", "chat_completions", [canonical(dict(chat(None, refusal="No.")))])
    kinds = [event["type"] for event in (*early, *late)]
    assert kinds[4:6] == ["response.refusal.delta", "response.refusal.done"]


def rebuilt(form: WireForm, events: Iterable[Any]) -> Any:  # noqa: ANN401 - a body
    """What a client makes of the events; it fails where they contradict each other."""
    return _message_of([*events]) if form == "messages" else _response_of([*events])


def _message_of(events: list[Any]) -> Any:  # noqa: ANN401
    first, *rest = events
    assert first["type"] == "message_start"
    body, inputs = first["message"], dict[int, str]()
    for event in rest:
        match event:
            case {"type": "content_block_start", "index": index, "content_block": block}:
                assert index == len(body["content"])
                body["content"].append(dict(block))
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                kind = str(delta["type"])
                assert index == len(body["content"]) - 1
                block = body["content"][index]
                match kind:
                    case "input_json_delta":
                        inputs[index] = inputs.get(index, "") + delta["partial_json"]
                        block["input"] = json.loads(inputs[index])
                    case "citations_delta":
                        block["citations"] = [*block.get("citations", []), delta["citation"]]
                    case "signature_delta":
                        block["signature"] = delta["signature"]
                    case _:
                        key = kind.removesuffix("_delta")
                        block[key] += delta[key]
            case {"type": "message_delta", "delta": ends, "usage": usage}:
                body |= {**ends, "usage": usage}
            case _:
                pass
    assert [event["type"] for event in events].count("content_block_stop") == len(body["content"])
    assert events[-1] == {"type": "message_stop"}
    return body


def _response_of(events: list[Any]) -> Any:  # noqa: ANN401
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert [event["response"]["incomplete_details"] for event in events[:2]] == [None, None]
    ids, texts, done = list[str](), dict[str, str](), list[Any]()
    for event in events[2:-1]:
        match event:
            case {"type": "response.output_item.added", "output_index": index, "item": {"id": id_}}:
                assert index == len(ids)
                ids.append(id_)
            case {"type": "response.output_item.done", "item": item}:
                assert item["id"] == ids[-1]
                done.append(item)
            case {"delta": delta, "item_id": id_}:
                assert id_ == ids[-1]
                texts[id_] = texts.get(id_, "") + delta
            case _:
                pass
    body = events[-1]["response"]
    assert events[-1]["type"] == f"response.{body['status']}"
    assert events[0]["response"]["id"] == body["id"]
    assert done == body["output"]
    for item in done:
        parts = [*item.get("content", []), *item.get("summary", [])]
        text = item.get("arguments") or "".join(part.get("text", "") for part in parts)
        assert texts.get(item["id"], "") == text
    return body


OWN = worked("a reply that is right in its own form", "requests")


@pytest.mark.parametrize(("form", "body"), OWN)
def test_in_its_own_form_what_is_right_stays(form: WireForm, body: dict[str, Any]) -> None:
    got, reply = plain(form, form, body)
    assert {key: got[key] for key in body} == {**json.loads(canonical(body)), "usage": got["usage"]}
    assert body["usage"].items() <= got["usage"].items()
    assert reply.repairs == ()


@pytest.mark.parametrize("size", [1, 7, 400, 100_000])
@pytest.mark.parametrize(("form", "body"), OWN)
def test_streamed_it_says_the_same(form: WireForm, body: dict[str, Any], size: int) -> None:
    text = "".join(events_of(form, body))
    early, late, _ = streamed(form, form, [text[at : at + size] for at in range(0, len(text), size)])
    assert rebuilt(form, [*early, *late]) == plain(form, form, body)[0]


def test_in_its_own_form_text_thoughts_and_what_the_server_did_pass_at_once() -> None:
    body = message(THOUGHT, SEARCH, FOUND, CITED, TEXT, USE, stop="tool_use")
    early, late, _ = streamed("messages", "messages", events_of("messages", body))
    begun = [event["content_block"]["type"] for event in early if event["type"] == "content_block_start"]
    assert begun == ["thinking", "server_tool_use", "web_search_tool_result", "text", "text"]
    rest = [event["content_block"]["type"] for event in late if event["type"] == "content_block_start"]
    assert rest == ["tool_use"]


@pytest.mark.parametrize("upstream", ALL)
@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_was_text_is_a_call(form: WireForm, upstream: WireForm) -> None:
    """Text passes at once until the call; what comes after it waits."""
    given = {"messages": message({"type": "text", "text": IN_TEXT}), "responses": response(item(IN_TEXT))}
    body = given.get(upstream, chat(IN_TEXT))
    events: Iterable[str] = frames({"content": IN_TEXT[:20]}, {"content": IN_TEXT[20:]})
    events = events_of(upstream, given[upstream]) if upstream in given else events
    whole, reply = plain(form, upstream, body)
    early, late, again = streamed(form, upstream, events)
    assert reply.repairs == again.repairs == ("TEXT_CALL_READ",)
    built = rebuilt(form, [*early, *late])
    key = "content" if form == "messages" else "output"
    assert [one["type"] for one in built[key]] == [one["type"] for one in whole[key]]
    assert built[key][-1] == whole[key][-1]
    assert whole[key][-1]["name"] == "stock"
    assert any("delta" in event for event in early)


def test_thoughts_and_text_of_a_chat_pass_at_once() -> None:
    events = frames({"reasoning": "H"}, {"reasoning": "m."}, {"content": "Lo"}, {"content": "ok."})
    for form in FORMS:
        early, late, _ = streamed(form, "chat_completions", events)
        kinds = [event["type"] for event in early]
        assert sum(kind.endswith("delta") for kind in kinds) == 4
        body = rebuilt(form, [*early, *late])
        whole, _ = plain(form, "chat_completions", chat("Look.", reasoning="Hm."))
        assert body == whole


def test_a_gateway_that_streams_chat_completions_is_read() -> None:
    for form in FORMS:
        early, late, _ = streamed(form, form, frames({"content": "Four."}))
        body = rebuilt(form, [*early, *late])
        assert plain(form, form, chat("Four."))[0] == body
        assert "Four." in canonical(body)


def test_a_reply_that_begins_again_goes_on_after_what_has_passed() -> None:
    for form in FORMS:
        stream = ReplyStream(asked(form), by("chat_completions"), HEAD)
        early = stream.feed("".join(frames({"content": " "}, {"reasoning": "Hm."})))
        stream.restart()
        more = stream.feed("".join(frames({"content": "Four."})))
        late, _ = stream.close()
        kinds = [event["type"] for event in (*early, *more, *late)]
        assert kinds.count("message_start") + kinds.count("response.created") == 1
        assert "Four." in canonical([*more])


def test_errors_are_in_the_form_of_the_client() -> None:
    error: Tree = {"message": "Busy.", "type": "server_error", "code": "busy", "param": None}
    assert error_body_in_form("responses", 503, error) == {"error": error}
    kinds = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}
    for status, kind in kinds.items():
        assert error_body_in_form("messages", status, error) == {
            "type": "error",
            "error": {**error, "type": kind},
        }
    assert stream_error_event("messages", 429, error, 4) == error_body_in_form("messages", 429, error)
    told = {"type": "error", "code": "busy", "message": "Busy.", "param": None, "sequence_number": 4}
    assert stream_error_event("responses", 503, error, 4) == told


def test_an_upstream_without_ids_gets_ours() -> None:
    bare = {"status": "completed", "output": [{"role": "assistant", "content": "Hi."}]}
    body, _ = plain("responses", "responses", bare)
    assert (body["id"], body["output"][0]["id"], body["created_at"]) == (
        HEAD.id,
        f"msg_{HEAD.id}_0",
        HEAD.created,
    )
    text = "".join(events_of("responses", response({**item("Hi."), "id": ""})))
    early, late, _ = streamed("responses", "responses", [text])
    assert rebuilt("responses", [*early, *late])["output"][0]["id"] == "msg_resp_1_0"


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("deltas", worked("nothing is lost or said twice whatever the order", "requests"))
@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_lost_or_said_twice_whatever_the_order(
    form: WireForm, deltas: tuple[Loose, ...], called: bool
) -> None:
    calls: tuple[Loose, ...] = ({"tool_calls": [{**CALL, "index": 0}]},) if called else ()
    early, late, reply = streamed(form, "chat_completions", frames(*deltas, *calls))
    body = rebuilt(form, [*early, *late])
    blocks = body["content"] if form == "messages" else body["output"]
    parts = blocks if form == "messages" else [part for one in blocks for part in one.get("content", [])]
    said = [part.get("text", "") for part in parts if part["type"] in {"text", "output_text"}]
    assert "".join(said) == "".join(delta.get("content", "") for delta in deltas)
    assert [one["name"] for one in blocks if "name" in one] == ["stock"] * called
    assert reply.noticed == ()


def test_an_item_without_an_id_gets_one_before_the_text_behind_it() -> None:
    searched = {key: value for key, value in SEARCHED.items() if key != "id"}
    body = response(searched, item("Look."))
    events = events_of("responses", response({**SEARCHED, "id": ""}, item("Look.")))
    early, late, _ = streamed("responses", "responses", events)
    assert (
        rebuilt("responses", [*early, *late])["output"] == plain("responses", "responses", body)[0]["output"]
    )
