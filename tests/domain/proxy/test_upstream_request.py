"""The request for the upstream: as the client wrote it, apart from what this upstream takes otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.proxy.asked import PING, Loose, asked, call, outbound
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, parse, read, tree_at
from toolreel_core._plan import Preset
from toolreel_core._proxy import Profile

ASKED: Tree = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
CALLED = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call()]}
RESULT = {"role": "tool", "content": "pong", "tool_call_id": "call_a"}


def profile(**settings: object) -> Profile:
    return Profile.of(Preset.of("mine", {"provider": settings}))


def sent(request: ClientRequest, using: Profile | None = None) -> tuple[Any, tuple[str, ...]]:
    out = outbound(request, using or Profile())
    return parse(out.body), out.repairs


def test_what_needs_no_repair_goes_out_unchanged() -> None:
    tools = (PING, {"type": "web_search"})
    request = asked({"role": "developer", "content": "Be brief."}, ASKED, CALLED, RESULT, tools=tools, seed=7)
    assert outbound(request, Profile()).body == canonical(request.tree)


@pytest.mark.parametrize("tools", ["all", [1, PING]])
def test_tools_of_unknown_shape_go_out_unchanged(tools: Json) -> None:
    request = ClientRequest({"messages": [ASKED], "tools": tools}, "", None)
    assert (
        sent(request, Profile.of(settings={"tool_transforms": ["schema_strip_strict"]}))[0]["tools"] == tools
    )


def test_messages_that_mean_nothing_to_us_go_out_unchanged() -> None:
    strange = {"role": "user", "content": [{"type": "hologram"}]}
    body, repairs = sent(asked(strange, CALLED), profile(tool_turn_content="omit"))
    assert (body["messages"], repairs) == ([strange, CALLED], ())


@pytest.mark.parametrize(
    ("messages", "roles"),
    [
        ((ASKED, CALLED), ["user", "assistant", "tool"]),
        ((ASKED, RESULT), ["user"]),
        ((ASKED, {"role": "assistant", "content": ""}, ASKED), ["user", "user"]),
    ],
)
def test_an_invalid_history_is_mended(messages: tuple[Loose, ...], roles: list[str]) -> None:
    body, repairs = sent(asked(*messages))
    assert [message["role"] for message in body["messages"]] == roles
    assert repairs == ("history",)


def test_a_message_is_written_as_the_upstream_wants_it() -> None:
    body, repairs = sent(asked(ASKED, CALLED, RESULT), profile(id_style="alnum9", tool_turn_content="omit"))
    assert "content" not in body["messages"][1]
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"] != "call_a"
    assert repairs == ("id_style", "tool_turn_content", "history")


def test_options_fit_the_upstream() -> None:
    request = asked(
        ASKED, max_tokens=5, temperature=2, parallel_tool_calls=True, response_format={"type": "json_object"}
    )
    using = profile(
        max_tokens_field="max_completion_tokens",
        temperature_rule="drop",
        supports_parallel_tool_calls="no",
        supports_response_format_with_tools="no",
    )
    body, repairs = sent(request, using)
    assert {*body} == {"model", "messages", "tools", "max_completion_tokens"}
    assert repairs == (
        "max_tokens_field",
        "temperature_rule",
        "without_parallel_tool_calls",
        "without_response_format",
    )


def test_tools_are_left_out_where_none_are_taken() -> None:
    body, repairs = sent(asked(ASKED, tool_choice="auto"), profile(supports_tools="no"))
    assert {*body} == {"model", "messages"}
    assert repairs == ("without_tools", "without_tool_choice")


def test_a_preset_gives_options_and_overrides() -> None:
    preset = Preset.of(
        "mine",
        {
            "provider": {"supports_parallel_tool_calls": "yes"},
            "request": {"temperature": 0.6, "parallel_tool_calls": False, "seed": 1},
            "request_overrides": {"top_k": 40, "model": "other"},
        },
    )
    using = Profile.of(preset, {"argument_repairs": "lenient"})
    body, _ = sent(asked(ASKED, seed=7), using)
    assert using.config.argument_repairs == "lenient"
    assert body["seed"] == 7
    assert body["top_k"] == 40
    assert body["model"] == "m"
    assert "parallel_tool_calls" not in sent(asked(ASKED, tools=()), using)[0]


def test_a_tool_is_written_as_the_upstream_wants_it() -> None:
    strict = {**PING, "function": {**tree_at(PING, "function"), "strict": True}}
    body, repairs = sent(asked(ASKED, tools=(strict,)), profile(schema_transform="strip_strict"))
    assert "strict" not in body["tools"][0]["function"]
    assert repairs == ("schema_strip_strict",)


def test_a_model_has_the_upstreams_name() -> None:
    assert as_tree(parse(outbound(asked(), Profile(), model="big").body))["model"] == "big"
    nameless = ClientRequest({"messages": [ASKED]}, "", None)
    assert "model" not in sent(nameless)[0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"part": "pi', "{}"),
        ('["pin"]', "{}"),
        ('{"part": NaN}', "{}"),
        ("", "{}"),
        ({"part": "pin"}, '{"part":"pin"}'),
    ],
)
def test_arguments_that_no_server_could_read_go_out_as_an_object(arguments: Json, text: str) -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [call(arguments=arguments)]}
    body, repairs = sent(asked(ASKED, called, RESULT))
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == text
    assert body["messages"][2] == RESULT
    assert repairs == ("history",)


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.lists(st.text() | JSON | st.dictionaries(st.text(), JSON).map(canonical), max_size=4))
def test_every_call_goes_out_with_an_object_and_what_was_one_is_unchanged(
    given_arguments: list[Json],
) -> None:
    calls = [{**call(arguments=each), "id": f"call_{n}"} for n, each in enumerate(given_arguments)]
    results = [{**RESULT, "tool_call_id": each["id"]} for each in calls]
    said = {"role": "assistant", "content": "Wait.", **({"tool_calls": calls} if calls else {})}
    body, _ = sent(asked(ASKED, said, *results))
    out = [each["function"]["arguments"] for each in body["messages"][1].get("tool_calls", [])]
    objects = [isinstance(each, str) and _is_object(each) for each in given_arguments]
    assert all(map(_is_object, out))
    for each, text, kept in zip(given_arguments, out, objects, strict=True):
        assert not kept or text == each


def _is_object(text: str) -> bool:
    return isinstance(read(text).value_or(None), dict)
