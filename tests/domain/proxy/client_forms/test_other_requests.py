"""Requests of Responses and Messages: read, passed on as they are, or said in another form without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from toolreel_core._client_requests import WHAT_TO_DO, ClientRequest, Loss, Refusal, client_request
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Preset
from toolreel_core._proxy import Outbound, Profile, outbound
from toolreel_core._settings import WireForm

Loose = Mapping[str, Any]
FORMS: Final[tuple[WireForm, ...]] = ("chat_completions", "responses", "messages")
SCHEMA: Final[Loose] = {"type": "object", "properties": {"part": {"type": "string"}}}
PNG: Final = "data:image/png;base64,AAAA"
PDF: Final = "data:application/pdf;base64,AAAA"


def profile(form: WireForm, preset: Loose | None = None, **settings: Any) -> Profile:  # noqa: ANN401
    return Profile.of(Preset.of("mine", dict(preset or {})), {"wire_form": form, **settings})


def asked(form: WireForm, body: Loose) -> ClientRequest:
    request = client_request(canonical(dict(body)), form)
    assert isinstance(request, ClientRequest), request
    return request


def sent(form: WireForm, to: WireForm | Profile, body: Loose, model: str = "") -> tuple[Any, tuple[str, ...]]:
    out = outbound(asked(form, body), to if isinstance(to, Profile) else profile(to), model=model)
    assert isinstance(out, Outbound), out
    return json.loads(out.body), out.repairs


def lost(form: WireForm, to: WireForm, body: Loose) -> tuple[str, str]:
    out = outbound(asked(form, body), profile(to))
    assert isinstance(out, Loss), out
    return out.code, out.param


def chat(*messages: Loose, **further: Any) -> Loose:  # noqa: ANN401
    return {"model": "m", "messages": messages or ({"role": "user", "content": "Hi."},), **further}


def messages(*given: Loose, **further: Any) -> Loose:  # noqa: ANN401
    said = given or ({"role": "user", "content": "Hi."},)
    return {"model": "m", "max_tokens": 9, "messages": said, **further}


def responses(*items: Loose, **further: Any) -> Loose:  # noqa: ANN401
    return {"model": "m", "input": items or "Hi.", **further}


WEATHER: Final[Mapping[WireForm, Loose]] = {
    "chat_completions": {"type": "function", "function": {"name": "stock", "parameters": SCHEMA}},
    "responses": {"type": "function", "name": "stock", "parameters": SCHEMA},
    "messages": {"name": "stock", "input_schema": SCHEMA},
}
TURN: Final[Mapping[WireForm, Loose]] = {
    "chat_completions": chat(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "stock", "arguments": '{"part":"pin"}'},
                },
                {"id": "call_2", "type": "function", "function": {"name": "stock", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "4"},
        {"role": "tool", "tool_call_id": "call_2", "content": "0"},
    ),
    "responses": responses(
        {"role": "user", "content": "How many?"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Look."}],
        },
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "stock",
            "arguments": '{"part":"pin"}',
        },
        {"type": "function_call", "call_id": "call_2", "name": "stock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "4"},
        {"type": "function_call_output", "call_id": "call_2", "output": "0"},
        instructions="Be brief.",
    ),
    "messages": messages(
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "tool_use", "id": "call_1", "name": "stock", "input": {"part": "pin"}},
                {"type": "tool_use", "id": "call_2", "name": "stock", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "4"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "0"}]},
            ],
        },
        system="Be brief.",
    ),
}


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


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (
            "messages",
            messages(
                {"role": "user", "content": [{"type": "text", "text": "Hi.", "cache_control": {"x": 1}}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                        {"type": "made_up"},
                        {"type": "text", "text": "Look.", "citations": [{"url": "u"}]},
                    ],
                },
                {"role": "user", "content": [{"type": "made_up", "of": 4}]},
                thinking={"type": "enabled"},
                container="c",
                made_up=[1],
                tools=[{"type": "web_search_2026", "name": "web_search"}],
                system=[{"type": "text", "text": "Be brief.", "cache_control": {}}],
            ),
        ),
        (
            "responses",
            responses(
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                {"type": "web_search_call", "id": "ws_1"},
                {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "x"},
                {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
                {"type": "item_reference", "id": "msg_1"},
                previous_response_id="resp_1",
                instructions="Be brief.",
                store=True,
                made_up=[1],
                tools=[{"type": "web_search"}],
            ),
        ),
        ("responses", responses(prompt={"id": "p1"})),
        ("responses", {"model": "m", "prompt": {"id": "p1"}}),
        ("messages", TURN["messages"]),
        ("responses", TURN["responses"]),
    ],
)
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


def test_options_are_said_in_the_words_of_the_upstream() -> None:
    json_schema = {"name": "output", "schema": SCHEMA, "strict": True}
    body, repairs = sent(
        "messages",
        "chat_completions",
        messages(
            stop_sequences=["END"],
            temperature=0,
            top_k=4,
            metadata={"user_id": "u", "x": 1},
            thinking={"type": "adaptive"},
            output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            tools=[{**WEATHER["messages"], "type": "custom", "cache_control": {"type": "ephemeral"}}],
            context_management={"edits": [1]},
            stream=True,
        ),
    )
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi."}],
        "tools": [WEATHER["chat_completions"]],
        "max_tokens": 9,
        "temperature": 0,
        "top_k": 4,
        "stream": True,
        "stop": ["END"],
        "user": "u",
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": json_schema},
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "stream_options": {"include_usage": True},
    }
    hints = {"context_management", "metadata", "thinking", "cache_control"}
    assert {*repairs} == {f"without_{hint}" for hint in hints}
    quiet = profile("chat_completions", supports_stream_options="no")
    assert "stream_options" not in sent("messages", quiet, messages(stream=True))[0]
    assert sent("messages", "chat_completions", messages(thinking={"type": "disabled"}))[1] == ()

    body, repairs = sent(
        "responses",
        "messages",
        responses(
            max_output_tokens=7,
            parallel_tool_calls=False,
            reasoning={"effort": "high", "summary": "auto"},
            text={"verbosity": "low", "format": {"type": "json_schema", "schema": SCHEMA, "name": "o"}},
            include=["reasoning.encrypted_content"],
            truncation="auto",
            store=True,
            tool_choice={"type": "function", "name": "stock"},
            tools=[{**WEATHER["responses"], "strict": None, "defer_loading": True}],
            prompt_cache_key="k",
        ),
    )
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi."}],
        "tools": [WEATHER["messages"]],
        "max_tokens": 7,
        "tool_choice": {"type": "tool", "name": "stock", "disable_parallel_tool_use": True},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
    }
    hints = {"summary", "verbosity", "encrypted_content", "truncation", "store", "defer_loading"}
    assert {*repairs} == {f"without_{hint}" for hint in (*hints, "prompt_cache_key")}
    plain = responses(text={"format": {"type": "json_object"}}, tool_choice="required")
    assert sent("responses", "chat_completions", plain)[0]["response_format"] == {"type": "json_object"}
    text = responses(text={"format": {"type": "text"}})
    assert "response_format" not in sent("responses", "chat_completions", text)[0]
    forced = messages(tool_choice={"type": "tool", "name": "stock"}, tools=[WEATHER["messages"]])
    chosen = {"type": "function", "name": "stock"}
    assert sent("messages", "responses", forced)[0]["tool_choice"] == chosen
    assert sent("messages", "responses", messages(tools=[{"name": "f"}]))[0]["tools"][0]["name"] == "f"


def test_thoughts_go_back_where_they_came_from() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    said = messages(
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Ho."}]},
        {"role": "user", "content": "And?"},
    )
    assert sent("messages", "chat_completions", said)[0]["messages"][1]["reasoning_content"] == "Hm."
    for key in ("content", "summary"):
        item = {"type": "reasoning", "summary": [], key: [{"type": "x", "text": "Hm."}]}
        body, _ = sent(
            "responses", "chat_completions", responses(USER, item, {"role": "assistant", "content": "Ho."})
        )
        assert body["messages"][1]["reasoning_content"] == "Hm."


def test_thoughts_as_text_stay_behind_where_they_would_be_refused() -> None:
    said = chat(USER, {"role": "assistant", "content": "Ho.", "reasoning_content": "Hm."})
    for form in ("responses", "messages"):
        body, repairs = sent("chat_completions", form, said)
        assert "Hm." not in canonical(body)
        assert repairs == ("without_reasoning",)


def test_pictures_and_files_are_said_in_each_form() -> None:
    cases: tuple[tuple[WireForm, list[Loose]], ...] = (
        (
            "messages",
            [
                {"type": "text", "text": "See:"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                },
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                    "title": "a.pdf",
                },
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Hi."},
                },
            ],
        ),
        (
            "responses",
            [
                {"type": "input_text", "text": "See:"},
                {"type": "input_image", "image_url": PNG, "detail": "low"},
                {"type": "input_image", "image_url": "https://example.org/a.png"},
                {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                {"type": "input_file", "file_url": "data:text/plain;base64,SGku"},
            ],
        ),
    )
    for form, parts in cases:
        user = {"role": "user", "content": parts}
        body = messages(user) if form == "messages" else responses(user)
        out = sent(form, "chat_completions", body)[0]["messages"][0]["content"]
        assert [part["type"] for part in out] == ["text", "image_url", "image_url", "file", "file"]
        assert out[1]["image_url"]["url"] == PNG
        assert out[3]["file"] == {"filename": "a.pdf", "file_data": PDF}
        assert out[4]["file"]["file_data"] == "data:text/plain;base64,SGku"


def block(**given: Any) -> Loose:  # noqa: ANN401
    return messages({"role": "user", "content": [given]})


def said(**given: Any) -> Loose:  # noqa: ANN401
    return messages({"role": "user", "content": "Hi."}, {"role": "assistant", "content": [given]})


def part(**given: Any) -> Loose:  # noqa: ANN401
    return responses({"role": "user", "content": [given]})


USER: Final[Loose] = {"role": "user", "content": "Hi."}
AT: Final = "messages[0].content[0]"
LOSSES: Final[list[tuple[WireForm, Loose, str, str]]] = [
    ("messages", block(type="image", source={"type": "file", "file_id": "f"}), "stored_file", AT),
    ("messages", block(type="made_up"), "unknown", AT),
    ("messages", block(type="tool_use"), "unknown", AT),
    ("messages", block(type="text", text="a", made_up=1), "unknown", "messages[0].content[0].made_up"),
    (
        "messages",
        block(type="document", source={"type": "content", "content": ["a"]}),
        "unknown",
        "messages[0].content[0].source.content",
    ),
    (
        "messages",
        block(type="document", source={"type": "url", "url": "u"}, citations={"enabled": True}),
        "citations",
        "messages[0].content[0].citations",
    ),
    ("messages", said(type="redacted_thinking", data="x"), "encrypted_reasoning", "messages[1].content[0]"),
    ("messages", said(type="server_tool_use", id="s"), "server_tool", "messages[1].content[0]"),
    ("messages", said(type="made_up"), "unknown", "messages[1].content[0]"),
    ("messages", messages(container="c"), "server_tool", "container"),
    ("messages", messages(mcp_servers=[{"url": "u"}]), "server_tool", "mcp_servers"),
    ("messages", messages(tools=[{"type": "bash_2026", "name": "bash"}]), "server_tool", "tools[0]"),
    ("messages", messages(tool_choice={"type": "made_up"}), "unknown", "tool_choice"),
    ("messages", messages(output_config={"made_up": 1}), "unknown", "output_config.made_up"),
    ("messages", messages(made_up=1), "unknown", "made_up"),
    ("messages", messages({"role": "made_up", "content": "x"}), "unknown", "messages[0].role"),
    ("responses", responses(previous_response_id="r"), "stored_response", "previous_response_id"),
    ("responses", responses(conversation="c"), "stored_response", "conversation"),
    ("responses", responses({"type": "item_reference", "id": "i"}), "stored_response", "input[0]"),
    ("responses", responses(prompt={"id": "p"}), "stored_prompt", "prompt"),
    ("responses", responses(background=True), "background", "background"),
    ("responses", responses(top_logprobs=2), "logprobs", "top_logprobs"),
    ("responses", responses(include=["x.logprobs"]), "logprobs", "include: x.logprobs"),
    ("responses", responses(include=["search.results"]), "server_tool", "include: search.results"),
    ("responses", responses(tools=[{"type": "web_search"}]), "server_tool", "tools[0]"),
    ("responses", responses(tools=[{"type": "custom", "name": "p"}]), "custom_tool", "tools[0]"),
    ("responses", responses(tool_choice={"type": "web_search"}), "unknown", "tool_choice"),
    ("responses", responses(text={"format": {"type": "grammar"}}), "unknown", "text.format"),
    ("responses", responses(reasoning={"made_up": 1}), "unknown", "reasoning.made_up"),
    ("responses", responses(made_up=1), "unknown", "made_up"),
    ("responses", responses(USER, {"type": "web_search_call"}), "server_tool", "input[1]"),
    ("responses", responses(USER, {"type": "custom_tool_call"}), "custom_tool", "input[1]"),
    ("responses", responses({"type": "custom_tool_call_output"}), "custom_tool", "input[0]"),
    ("responses", responses({"type": "shell_call_output"}), "server_tool", "input[0]"),
    (
        "responses",
        responses(USER, {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        "encrypted_reasoning",
        "input[1].encrypted_content",
    ),
    (
        "responses",
        responses(USER, {"role": "assistant", "content": [{"type": "x"}]}),
        "unknown",
        "input[1].content[0]",
    ),
    ("responses", part(type="input_image", file_id="f"), "stored_file", "input[0].content[0].file_id"),
    ("responses", part(type="made_up"), "unknown", "input[0].content[0]"),
    ("chat_completions", chat(n=2), "several_choices", "n"),
    ("chat_completions", chat(logprobs=True), "logprobs", "logprobs"),
    ("chat_completions", chat(frequency_penalty=0.5), "sampling", "frequency_penalty"),
    ("chat_completions", chat(web_search_options={"x": 1}), "server_tool", "web_search_options"),
    ("chat_completions", chat(modalities=["text", "audio"]), "audio", "modalities"),
    ("chat_completions", chat(made_up=1), "unknown", "made_up"),
    (
        "chat_completions",
        chat({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}),
        "stored_file",
        AT,
    ),
    (
        "chat_completions",
        chat(
            {
                "role": "user",
                "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}],
            }
        ),
        "audio",
        "messages[0]",
    ),
    ("chat_completions", chat(tools=5), "wrong_shape", "tools"),
    ("responses", responses(tools=[None, "x"]), "wrong_shape", "tools[0]"),
    ("messages", block(type="tool_result", content={}), "wrong_shape", f"{AT}.content"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "body", "code", "param"), LOSSES)
def test_what_would_be_lost_is_named(form: WireForm, body: Loose, code: str, param: str) -> None:
    for to in FORMS:
        if to == form:
            assert isinstance(outbound(asked(form, body), profile(to)), Outbound)
        else:
            assert lost(form, to, body) == (code, param)


def test_what_only_one_form_lacks_is_lost_there_alone() -> None:
    assert lost("chat_completions", "responses", chat(stop=["END"])) == ("stop", "stop")
    assert sent("chat_completions", "messages", chat(stop=["END"]))[0]["stop_sequences"] == ["END"]
    assert lost("messages", "responses", messages(top_k=4)) == ("sampling", "top_k")
    sound = part(type="input_audio", input_audio={"data": "AAAA", "format": "wav"})
    assert lost("responses", "messages", sound) == ("audio", "messages[0]")
    assert sent("responses", "chat_completions", sound)[1] == ()


def test_defaults_and_hints_are_left_out() -> None:
    given = chat(
        n=1, logprobs=False, frequency_penalty=0, seed=4, stop=None, store=False, metadata={"a": "b"}
    )
    assert sent("chat_completions", "messages", given)[1] == ("without_seed", "without_metadata")
    assert sent("chat_completions", "responses", given)[1] == ("without_seed",)
    failed = {"type": "tool_result", "tool_use_id": "call_2", "content": "No.", "is_error": True}
    given = messages(*TURN["messages"]["messages"][:2], {"role": "user", "content": [failed]})
    assert sent("messages", "chat_completions", given)[1] == ("history", "without_is_error")


def test_every_loss_happens() -> None:
    """The sentences are for those that do."""
    assert {code for _, _, code, _ in LOSSES} | {"stop"} == {*WHAT_TO_DO}


@pytest.mark.parametrize(
    ("form", "body", "message"),
    [
        ("responses", {"input": []}, "input: expected a text or a list of items."),
        ("responses", {}, "input: expected a text or a list of items."),
        ("responses", {"input": [4]}, "input[0]: expected an item."),
        ("messages", {"messages": "Hi."}, "messages: expected a list with at least one message."),
        ("messages", {"messages": [4]}, "messages[0]: expected an object with role and content."),
    ],
)
def test_what_is_no_request_is_refused(form: WireForm, body: Loose, message: str) -> None:
    refusal = client_request(canonical(dict(body)), form)
    assert isinstance(refusal, Refusal)
    assert refusal.message == message


def test_odd_contents_pass_in_their_own_form() -> None:
    """What means nothing to us may mean something to the server."""
    for given in (
        messages(USER, {"role": "assistant", "content": None}),
        messages({"role": "user", "content": []}),
        messages({"role": "user", "content": None}),
        messages(system=[]),
        messages(metadata={"user_id": 4}),
    ):
        assert sent("messages", "messages", given)[0]["messages"]
    for given in (
        responses(USER, {"role": "assistant", "content": None}),
        responses({"role": "assistant", "content": "Hi."}),
        responses({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}),
        responses({"role": "user", "content": None}),
        responses(USER, {"type": "reasoning", "summary": [{"type": "x"}]}),
    ):
        assert sent("responses", "responses", given)[0]["input"]


def test_a_loss_says_what_to_do() -> None:
    assert Loss("stored_file", "input[0].file_id").message("messages", "responses") == (
        "input[0].file_id: the upstream speaks Messages: it names a file that another server has stored; "
        "send the file itself, or use an upstream that speaks Responses."
    )
