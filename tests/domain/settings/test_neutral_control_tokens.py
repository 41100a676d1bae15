from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from tests.strategies import json_objects
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import FAMILIES, neutralize_control_tokens

EXAMPLES: dict[str, list[str]] = dict(worked("control tokens stand in families", "runs-and-plans"))
TOKENS = [token for examples in EXAMPLES.values() for token in examples]


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_gets_a_space_behind_its_first_character(token: str) -> None:
    broken = f"{token[0]} {token[1:]}"
    assert neutralize_control_tokens(f"a{token}b") == f"a{broken}b"
    assert neutralize_control_tokens(f"a{broken}b") == f"a{broken}b"


@pytest.mark.parametrize(("name", "pattern"), FAMILIES.items())
def test_each_family_knows_its_own(name: str, pattern: str) -> None:
    assert all(re.match(pattern, token) for token in EXAMPLES[name])


def test_no_token_stands_twice() -> None:
    assert FAMILIES.keys() == EXAMPLES.keys()
    assert len({*TOKENS}) == len(TOKENS)


@pytest.mark.parametrize("text", worked("ordinary text stays", "runs-and-plans"))
def test_ordinary_text_stays(text: str) -> None:
    assert neutralize_control_tokens(text) == text


@given(st.lists(st.sampled_from([*TOKENS, "<", "|", ">", "[", "]", "/", " ", "tool_call", "x"])).map("".join))
def test_once_is_enough_and_only_spaces_are_added(text: str) -> None:
    once = neutralize_control_tokens(text)
    assert neutralize_control_tokens(once) == once
    assert once.replace(" ", "") == text.replace(" ", "")
    assert not any(token in once for token in TOKENS)


@given(json_objects, st.sampled_from(TOKENS))
def test_json_stays_json_since_no_token_begins_outside_a_string(tree: Tree, token: str) -> None:
    text = canonical({"data": tree, token: [token, [[token]]]})
    assert canonical(json.loads(neutralize_control_tokens(text))).replace(" ", "") == text.replace(" ", "")
