from __future__ import annotations

from copy import deepcopy
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import IF_YOUR_OWN, complaint, corpus_rows
from tests.strategies import json_objects
from toolreel_core._errors import ConfigError, TransformError
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import (
    Applied,
    SchemaTransform,
    TransformKind,
    apply_transforms,
    register_transform,
    transform,
    transforms,
)

ROWS = corpus_rows("transforms")
"""Trees with what the transforms of this project make of them, or nothing if each stays as it is."""
SHIPPED = {kind: sorted(registry) for kind, registry in vars(transforms)["_REGISTRY"].items()}
"""The names of the transforms of each kind."""


@pytest.mark.parametrize("of", dict.fromkeys(row["of"] for row in ROWS))
def test_a_tree_is_changed_as_its_rows_say(of: str) -> None:
    for row in ROWS:
        if row["of"] == of:
            made = transform(row["kind"], row["transform"]).apply(row["given"])
            assert made == (row["given"] if row["made"] is None else row["made"]), row


def test_what_a_provider_may_ask_for_is_a_transform_of_tools() -> None:
    named = {f"schema_{name}" for name in get_args(SchemaTransform) if name != "none"}
    assert named == {name for name in SHIPPED["tool"] if name.startswith("schema_")}


@pytest.fixture(autouse=True)
def _what_a_test_registers_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "_REGISTRY", deepcopy(vars(transforms)["_REGISTRY"]))


def shouted(tree: Tree) -> Tree:
    return {**tree, "content": str(tree.get("content")).upper()}


def test_a_user_registers_a_transform_and_names_it() -> None:
    assert register_transform("message", "shout", about="Shouts.")(shouted) is shouted
    found = transform("message", "shout")
    assert (found.name, found.kind, found.about) == ("shout", "message", "Shouts.")
    assert apply_transforms("message", ["shout"], {"content": "hi"}) == Applied({"content": "HI"}, ("shout",))


def test_a_transform_has_to_say_what_it_does() -> None:
    assert complaint(ConfigError, lambda: register_transform("message", "shout", about=" ")) == (
        "transform 'shout': about is empty; say in a sentence what it does"
    )


def test_a_kind_that_does_not_exist_is_refused() -> None:
    kind: TransformKind = "mesage"  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    expected = "there is no kind of transform 'mesage'; did you mean 'message'?"
    for act in (
        lambda: register_transform(kind, "shout", about="Shouts."),
        lambda: transform(kind, "shout"),
    ):
        assert complaint(ConfigError, act) == expected


def test_a_name_that_does_not_exist_is_told_with_the_nearest_that_does() -> None:
    assert complaint(ConfigError, lambda: apply_transforms("tool", ["schema_inline_def"], {})) == (
        f"there is no tool transform 'schema_inline_def'; did you mean 'schema_inline_defs'? {IF_YOUR_OWN}"
    )


def test_transforms_are_applied_in_order_and_those_that_changed_something_are_named() -> None:
    register_transform("message", "shout", about="Shouts.")(shouted)
    register_transform("message", "ask", about="Asks.")(
        lambda tree: {**tree, "content": f"{tree['content']}?"}
    )
    register_transform("message", "copy", about="Copies.")(dict)
    applied = apply_transforms("message", ["shout", "copy", "ask", "shout"], {"content": "hi"})
    assert applied == Applied({"content": "HI?"}, ("shout", "ask"))


def test_what_changes_only_the_bytes_is_a_change() -> None:
    register_transform("message", "count", about="Counts.")(lambda _: {"n": 1})
    register_transform("message", "turn", about="Turns.")(
        lambda tree: dict(sorted(tree.items(), reverse=True))
    )
    assert apply_transforms("message", ["count"], {"n": True}).changed == ("count",)
    assert apply_transforms("message", ["turn"], {"a": 1, "b": 2}).changed == ("turn",)


def test_a_transform_that_writes_into_its_tree_does_not_reach_the_callers() -> None:
    def careless(tree: Any) -> Tree:  # noqa: ANN401 - it writes where it may not
        tree["calls"].append(2)
        return {**tree}

    register_transform("message", "careless", about="Writes.")(careless)
    tree = {"calls": [1]}
    assert apply_transforms("message", ["careless"], tree) == Applied({"calls": [1, 2]}, ("careless",))
    assert tree == {"calls": [1]}


def test_a_transform_that_fails_is_named_with_its_reason() -> None:
    register_transform("message", "fails", about="Fails.")(lambda tree: {"role": tree["role"]})
    why = complaint(TransformError, lambda: apply_transforms("message", ["fails"], {}))
    assert why == "the message transform 'fails' failed with KeyError: 'role'; it has to take any tree"


def test_a_transform_that_returns_no_tree_is_named_with_what_it_returned() -> None:
    register_transform("tool", "forgets", about="Forgets.")(lambda _: None)  # type: ignore[arg-type,return-value]  # pyright: ignore[reportArgumentType]
    assert complaint(TransformError, lambda: apply_transforms("tool", ["forgets"], {})) == (
        "the tool transform 'forgets' returned None; a transform returns a tree"
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1, 2}, "Object of type set is not JSON serializable"),
        (float("nan"), "Out of range float values are not JSON compliant"),
    ],
)
def test_a_transform_that_returns_what_json_cannot_carry_is_named(value: object, why: str) -> None:
    register_transform("tool", "odd", about="Odd.")(lambda _: {"a": value})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    text = complaint(TransformError, lambda: apply_transforms("tool", ["odd"], {}))
    assert text.startswith(f"the tool transform 'odd' returned a tree that is not JSON: {why}")


@given(json_objects, st.lists(st.sampled_from(SHIPPED["message"]), max_size=3))
def test_the_tree_that_is_given_stays_as_it_is(tree: Tree, chosen: list[str]) -> None:
    before = canonical(tree)
    applied = apply_transforms("message", chosen, tree)
    assert canonical(tree) == before
    assert bool(applied.changed) == (canonical(applied.tree) != before)
