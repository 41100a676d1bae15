from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint, worked
from toolreel._internal import VaryError
from toolreel.cassette import Vary, apply_rules, apply_rules_to_body, rule_as_mapping, vary_rule_of
from toolreel_core._jsontext import Json

TIME = r"Now: \d{4}-\d\d-\d\d \d\d:\d\d"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab1 ", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab*/~"), inner, max_size=3),
    max_leaves=8,
)
PARTS = ["a", "b", "0", "1", "~0", "~1"]
POINTER = st.tuples(st.sampled_from(PARTS), st.lists(st.sampled_from([*PARTS, "*"]), max_size=2)).map(
    lambda parts: "".join(f"/{part}" for part in (parts[0], *parts[1]))
)
RULE = st.one_of(
    st.builds(lambda at: Vary(at=at), POINTER),
    st.builds(lambda at: Vary(at=at, becomes="<x>"), POINTER),
    st.builds(lambda pattern: Vary(pattern=pattern, becomes="<x>"), st.sampled_from(["1", "a+", "ab"])),
    st.builds(lambda at: Vary(at=at, pattern="[ab]1"), POINTER),
)


def body(tree: Json) -> bytes:
    return json.dumps(tree).encode()


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (Vary(at="/user"), {"user": "u-17", "n": 1}, {"n": 1}),
        (Vary(at="/user"), {"n": 1}, {"n": 1}),
        (Vary(at="/user", becomes="<user>"), {"user": {"id": 3}}, {"user": "<user>"}),
        (Vary(at="/metadata/*"), {"metadata": {"a": 1, "b": 2}, "c": 3}, {"metadata": {}, "c": 3}),
        (Vary(at="/tools/*/id"), {"tools": [{"id": 1}, {"id": 2, "n": 3}]}, {"tools": [{}, {"n": 3}]}),
        (Vary(at="/tools/1"), {"tools": ["a", "b", "c"]}, {"tools": ["a", None, "c"]}),
        (Vary(at="/a~1b/~0"), {"a/b": {"~": 1, "c": 2}}, {"a/b": {"c": 2}}),
        (
            Vary(pattern=TIME, becomes="Now: <time>"),
            {"messages": [{"content": "Now: 2026-11-22 14:03. Hi"}, {"content": [{"text": "none"}]}]},
            {"messages": [{"content": "Now: <time>. Hi"}, {"content": [{"text": "none"}]}]},
        ),
        (Vary(at="/b", pattern=r"\d+"), {"a": "7", "b": ["7", {"c": "x7", "d": 7}]}, None),
        (Vary(pattern=r"(\d)+", becomes=r"\1"), {"a": "b7"}, {"a": "b\\1"}),
    ],
)
def test_a_place_is_replaced_or_left_out_and_nothing_else(rule: Vary, before: Json, after: Json) -> None:
    if after is None:
        after = {"a": "7", "b": ["<varies>", {"c": "x<varies>", "d": 7}]}
    compared = apply_rules_to_body(body(before), [rule])
    assert json.loads(compared[0]) == after
    assert compared[1] == ((rule,) if before != after else ())


@given(tree=JSON, rules=st.lists(RULE, max_size=3))
def test_rules_change_only_what_they_fit_and_are_done_at_once(tree: Json, rules: list[Vary]) -> None:
    before = json.dumps(tree)
    after, used = apply_rules(tree, rules)
    assert json.dumps(tree) == before, "the value itself stays"
    assert {*used} <= {*rules}
    if not used:
        assert after == tree
    if len(rules) == 1:
        assert apply_rules(after, rules)[0] == after


@given(rule=RULE)
def test_a_rule_comes_back_from_a_file(rule: Vary) -> None:
    assert vary_rule_of(json.loads(json.dumps(rule_as_mapping(rule)))) == rule


def test_what_is_no_json_is_one_text() -> None:
    rules = [Vary(pattern=r"\d+", becomes="#"), Vary(at="/a")]
    assert apply_rules_to_body(b"a=7&b=x", rules) == (b"a=#&b=x", (rules[0],))
    assert apply_rules_to_body(b"\xff7", rules) == (b"\xff7", ())


@pytest.mark.parametrize(("given", "said"), worked("a rule that cannot be used", "cassettes"))
def test_a_rule_that_cannot_be_used_is_refused(given: dict[str, str], said: str) -> None:
    assert complaint(VaryError, lambda: Vary(**given)).startswith(said)


@pytest.mark.parametrize("given", worked("a rule that fits everything", "cassettes"))
def test_a_rule_that_would_make_everything_equal_is_refused(given: dict[str, str]) -> None:
    said = complaint(VaryError, lambda: Vary(**given))
    assert "would make every request the same, so that nothing is compared" in said


def test_a_table_that_is_no_rule_is_named_with_its_place() -> None:
    assert complaint(VaryError, lambda: vary_rule_of({"path": "/a"}, "vary[2]")) == (
        "vary[2]: expected a table with at, pattern, becomes, found {'path': '/a'}"
    )
    assert complaint(VaryError, lambda: vary_rule_of("/a", "vary[0]")) == (
        "vary[0]: expected a table with at, pattern, becomes, found '/a'"
    )
    assert complaint(VaryError, lambda: vary_rule_of({"at": "a"}, "vary[1]")).startswith(
        "vary[1]: at: 'a' is no"
    )
