"""The request for the upstream: as the client wrote it, apart from what this upstream takes otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.proxy.asked import PING, asked, build_upstream_request, call
from tests.samples import worked
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, parse, read_json
from toolreel_core._plan import Preset
from toolreel_core._proxy import Profile

ASKED: Tree = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
RESULT = {"role": "tool", "content": "pong", "tool_call_id": "call_a"}


def profile(**settings: object) -> Profile:
    return Profile.of(Preset.of("mine", {"provider": settings}))


def sent(request: ClientRequest, using: Profile | None = None) -> tuple[Any, tuple[str, ...]]:
    out = build_upstream_request(request, using or Profile())
    return parse(out.body), out.repairs


@pytest.mark.parametrize(
    ("settings", "given_", "out", "repairs"),
    worked("a request goes out as its upstream takes it", "requests"),
)
def test_a_request_goes_out_as_its_upstream_takes_it(
    settings: dict[str, Json], given_: Json, out: Json, repairs: list[str]
) -> None:
    request = client_request(canonical(given_))
    assert isinstance(request, ClientRequest)
    body, names = sent(request, profile(**settings))
    assert (body, [*names]) == (out, repairs)
    assert names or build_upstream_request(request, Profile()).body == canonical(given_)


@pytest.mark.parametrize("tools", ["all", [1, PING]])
def test_tools_of_unknown_shape_go_out_unchanged(tools: Json) -> None:
    request = ClientRequest({"messages": [ASKED], "tools": tools}, "", None)
    assert (
        sent(request, Profile.of(settings={"tool_transforms": ["schema_strip_strict"]}))[0]["tools"] == tools
    )


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


def test_a_model_has_the_upstreams_name() -> None:
    assert as_tree(parse(build_upstream_request(asked(), Profile(), model="big").body))["model"] == "big"
    nameless = ClientRequest({"messages": [ASKED]}, "", None)
    assert "model" not in sent(nameless)[0]


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
    return isinstance(read_json(text).value_or(None), dict)
