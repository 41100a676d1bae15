from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects
from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core._transforms.special_tokens import FAMILIES, TokenFamily, neutralized

TOKENS = [token for family in FAMILIES for token in family.examples]


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_gets_a_space_behind_its_first_character(token: str) -> None:
    broken = f"{token[0]} {token[1:]}"
    assert neutralized(f"a{token}b") == f"a{broken}b"
    assert neutralized(f"a{broken}b") == f"a{broken}b"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_knows_its_own_and_says_where_they_were_seen(family: TokenFamily) -> None:
    assert all(re.match(family.pattern, token) for token in family.examples)
    assert all(source.strip() == source != "" for source in family.evidence)
    assert family.evidence


def test_no_family_and_no_token_stands_twice() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert len({*TOKENS}) == len(TOKENS)


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
        "<strong>s</strong>",
        "List<Invoker> x",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert neutralized(text) == text


@given(st.lists(st.sampled_from([*TOKENS, "<", "|", ">", "[", "]", "/", " ", "tool_call", "x"])).map("".join))
def test_once_is_enough_and_only_spaces_are_added(text: str) -> None:
    once = neutralized(text)
    assert neutralized(once) == once
    assert once.replace(" ", "") == text.replace(" ", "")
    assert not any(token in once for token in TOKENS)


@given(json_objects, st.sampled_from(TOKENS))
def test_json_stays_json_since_no_token_begins_outside_a_string(tree: Tree, token: str) -> None:
    text = canonical({"data": tree, token: [token, [[token]]]})
    assert canonical(json.loads(neutralized(text))).replace(" ", "") == text.replace(" ", "")
