from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.jsontext import Json, Tree, canonical
from toolreel.transforms.results import compact_envelope, special_tokens_neutralized

FULL: Tree = {
    "ok": False,
    "tool_name": "fetch",
    "data": {"n": 0},
    "warnings": ["slow"],
    "errors": [{"code": "ARGUMENT_ERROR", "message": "no"}],
}

TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|channel|>",
    "<|tool_calls_section_begin|>",
    "<|turn>",
    "<turn|>",
    "<\uff5cUser\uff5c>",
    "<\uff5ctool▁calls▁begin\uff5c>",
    "</\uff5cDSML\uff5cfunction_calls>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "[/AVAILABLE_TOOLS]",
    "[gMASK]",
    "<<SYS>>",
    "<</SYS>>",
    "<tool_call>",
    "</tool_call>",
    "<TOOL_CALL>",
    "<tool_response>",
    "<minimax:tool_call>",
    "<longcat_tool_call>",
    "<TOOLCALL>",
    "<think>",
    "</think>",
    "<function=ping>",
    "<parameter=n>",
    "<arg_key>",
    "]~b]",
    "]~!b[",
    "[e~[",
    "]<]minimax[>[",
]


def with_data(data: Json) -> Tree:
    return {"ok": True, "tool_name": "fetch", "data": data, "warnings": [], "errors": []}


def neutral(data: Json) -> Json:
    return special_tokens_neutralized(with_data(data))["data"]


def test_what_is_empty_is_left_out_of_an_envelope() -> None:
    assert compact_envelope(with_data({})) == {"ok": True, "tool_name": "fetch"}
    assert compact_envelope(with_data({"n": 0})) == {"ok": True, "tool_name": "fetch", "data": {"n": 0}}
    assert compact_envelope({**FULL, "data": {}, "warnings": []}) == {
        key: FULL[key] for key in ("ok", "tool_name", "errors")
    }


@pytest.mark.parametrize("envelope", [FULL, {}, {"ok": False, "tool_name": ""}])
def test_an_envelope_with_nothing_empty_stays(envelope: Tree) -> None:
    assert compact_envelope(envelope) is envelope


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_gets_a_space_behind_its_first_character(token: str) -> None:
    broken = f"{token[0]} {token[1:]}"
    assert neutral({"text": f"a{token}b"}) == {"text": f"a{broken}b"}
    assert neutral({"text": f"a{broken}b"}) == {"text": f"a{broken}b"}


@pytest.mark.parametrize(
    "text",
    [
        "a < b || c > d",
        "<p>Hello <b>you</b></p>",
        "x[0] = [1, 2]",
        "usage: run [args] [inst]",
        "<span>|</span>",
        "< |im_start|>",
        "f <| x |> g",
        "thinking about <thinking>",
        "5 | 6",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert neutral({"text": text}) == {"text": text}


def test_everything_that_the_tool_wrote_is_covered_at_any_depth() -> None:
    token, broken = "<|im_end|>", "< |im_end|>"
    envelope: Tree = {
        "ok": False,
        "tool_name": token,
        "data": {"a": [{"b": token}, token], token: [None, True, 1, 0.5]},
        "warnings": [token],
        "errors": [{"code": "X", "message": f"no {token}"}],
    }
    assert special_tokens_neutralized(envelope) == {
        "ok": False,
        "tool_name": token,
        "data": {"a": [{"b": broken}, broken], broken: [None, True, 1, 0.5]},
        "warnings": [broken],
        "errors": [{"code": "X", "message": f"no {broken}"}],
    }


def test_keys_that_would_become_the_same_are_told_apart() -> None:
    data: Json = {"< |x|>": 1, "<|x|>": 2, "<  |x|>": 3}
    plain = {"< |x|>": 1, "<   |x|>": 2, "<  |x|>": 3}
    assert neutral(data) == plain
    assert neutral(plain) == plain


@given(st.lists(st.sampled_from([*TOKENS, "<", "|", ">", "[", "]", "/", " ", "tool_call", "x"])).map("".join))
def test_once_is_enough_and_only_spaces_are_added(text: str) -> None:
    once = neutral({"t": text})
    assert neutral(once) == once
    assert canonical(once).replace(" ", "") == canonical({"t": text}).replace(" ", "")
    assert not any(token in canonical(once) for token in TOKENS)


def test_a_long_text_of_openers_is_read_in_no_time() -> None:
    text = "<" * 100_000 + "tool_" * 20_000
    assert neutral({"t": text}) == {"t": text}
