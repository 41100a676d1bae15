from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json
from toolreel_core.evals import draw_values, escape_braces, fill_placeholders


def values(tree: dict[str, Any], seed: str) -> dict[str, Any]:
    return dict(draw_values(tree, seed))


TREE = {
    "customer": ["Ada", "Bo", 7],
    "other": {"one_of": ["Ada", "Bo", 7], "unlike": "customer"},
    "pieces": {"from": 2, "to": 4},
    "spare": {"from": 2, "to": 4, "unlike": ["pieces"]},
    "sku": {"pattern": "A-##?"},
    "both": {"sum": ["pieces", "spare"]},
    "squares": {"product": ["pieces", "spare", 2]},
    "rooms": {"one_of": "rooms", "several": 3},
    "counts": {"from": 1, "to": 9, "several": 3},
    "ids": {"pattern": "#", "several": 3},
    "ranked": {"largest_first": "counts"},
    "best": {"largest_first": "rooms", "by": "counts"},
    "to": "person",
    "code": "word",
    "id": "uuid",
    "note": ["{rooms.1} for Ada", "{to}!"],
}


@given(st.text())
def test_values_keep_to_their_draws_whatever_the_seed_is(seed: str) -> None:
    found = values(TREE, seed)
    assert found == values(TREE, seed)
    assert {found["customer"], found["other"]} < {"Ada", "Bo", 7}
    assert found["customer"] != found["other"]
    assert found["pieces"] != found["spare"]
    assert {found["pieces"], found["spare"]} <= {2, 3, 4}
    head, tail = found["sku"][:2], found["sku"][2:]
    assert head == "A-"
    assert tail[:2].isdigit()
    assert tail[2].isupper()
    assert found["both"] == found["pieces"] + found["spare"]
    assert found["squares"] == 2 * found["pieces"] * found["spare"]
    assert found["ranked"] == sorted(found["counts"], reverse=True)
    assert found["best"][0] == found["rooms"][found["counts"].index(max(found["counts"]))]
    for several in ("rooms", "counts", "ids"):
        assert len({*found[several]}) == len(found[several]) == 3
    assert found["note"] in {f"{found['rooms'][1]} for Ada", f"{found['to']}!"}
    assert 100 <= int(found["code"].partition("-")[2]) <= 999
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found["id"])


def test_draws_are_the_same_on_every_machine_and_names_of_draws_are_independent() -> None:
    assert values({"to": "person", "sku": {"pattern": "A-##"}, "n": {"from": 0, "to": 999}}, "1") == {
        "to": "Rosa Grove",
        "sku": "A-44",
        "n": 137,
    }
    seeds = [str(seed) for seed in range(400)]
    pairs = Counter(
        (one["a"], one["b"]) for one in (values({"a": [1, 2, 3], "b": [1, 2, 3]}, seed) for seed in seeds)
    )
    assert len(pairs) == 9
    assert max(pairs.values()) < 3 * min(pairs.values())
    # The built-in scenarios are drawn from the upper bits of the same digests.
    upper = [draw_values({"a": {"from": 0, "to": 99}}, seed, shift=192) for seed in seeds]
    assert upper != [draw_values({"a": {"from": 0, "to": 99}}, seed) for seed in seeds]


@given(st.text())
def test_a_pattern_gives_all_of_its_texts_before_it_runs_out(seed: str) -> None:
    assert sorted(values({"a": {"pattern": "#", "several": 10}}, seed)["a"]) == [*"0123456789"]


def test_where_every_value_is_taken_one_is_drawn_twice() -> None:
    assert values({"twice": {"one_of": ["x"], "several": 2}}, "1") == {"twice": ["x", "x"]}
    other = {"one_of": ["x", "y"], "unlike": "a", "several": 3}
    assert values({"a": ["x"], "b": other}, "1") == {"a": "x", "b": ["y", "y", "y"]}


def test_a_whole_number_written_with_a_point_draws_whole_numbers() -> None:
    tree = {"a": {"from": 1e3, "to": 2e3}, "b": {"from": 1.0, "to": 9, "several": 2.0}, "c": {"sum": "a"}}
    whole = {"a": {"from": 1000, "to": 2000}, "b": {"from": 1, "to": 9, "several": 2}, "c": {"sum": "a"}}
    assert repr(values(tree, "1")) == repr(values(whole, "1"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["{a}", "{{a}}", 'x {"a": {b}}']),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_is_escaped_stands_for_itself(value: Json) -> None:
    assert fill_placeholders(escape_braces(value), {}) == value


def test_json_in_a_text_is_left_alone() -> None:
    text = 'Send {"a": {"b": [1]}} and {} and { n }.'
    assert fill_placeholders(text, {}) == text


def test_keys_are_filled_and_a_bare_placeholder_keeps_its_type() -> None:
    assert fill_placeholders({"{k}": ["{n}", "{n}!", True, None, 1.5]}, {"k": "x", "n": 3}) == {
        "x": [3, "3!", True, None, 1.5]
    }
