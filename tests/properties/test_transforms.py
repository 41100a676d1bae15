"""What holds for every transform that is shipped, whatever tree it meets."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import (
    Transform,
    TransformKind,
    apply_transforms,
)

SOURCE = Path(inspect.getfile(Transform)).read_text("utf-8")
REGISTRY = vars(sys.modules[Transform.__module__])["_REGISTRY"]
ALL: list[Transform] = [registry[name] for registry in REGISTRY.values() for name in sorted(registry)]

_tagged = st.sampled_from(
    [
        '<tool_call>{"name": "ping", "arguments": {}}</tool_call>',
        'One.<tool_call>{"name": "ping"}</tool_call><tool_call>{"name": "ping"}',
        "<think>Hm.</think>Two.",
        "<|im_end|>",
    ]
)
_loose = json_values | st.sampled_from(["", " ", "null", "assistant", "stop", "object"]) | _tagged
_extras = st.fixed_dictionaries({}, optional={"google": _loose, "vertex": json_objects})
_functions = st.fixed_dictionaries(
    {}, optional={"name": _loose, "arguments": _loose, "description": _loose, "parameters": _loose}
)
_calls = st.fixed_dictionaries(
    {}, optional={"function": _functions | _loose, "extra_content": _extras | _loose}
)
_messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["assistant", "user"]) | _loose,
        "content": _loose,
        "tool_calls": st.lists(_calls, max_size=2) | _calls | _loose,
        "function_call": _functions | _loose,
        "reasoning_content": _loose,
        "reasoning_details": st.lists(_loose, max_size=2) | _loose,
    },
)
_choices = st.fixed_dictionaries({}, optional={"message": _messages | _loose, "finish_reason": _loose})
_bodies = st.fixed_dictionaries({}, optional={"choices": st.lists(_choices | _loose, max_size=2) | _loose})
_envelopes = st.fixed_dictionaries(
    {}, optional={"ok": _loose, "data": _loose, "warnings": _loose, "errors": st.lists(_loose, max_size=2)}
)
TREES: dict[TransformKind, st.SearchStrategy[Any]] = {
    "message": _messages | json_objects,
    "tool": _calls | json_objects,
    "response": _bodies | json_objects,
    "tool_call": _calls | json_objects,
    "tool_result": _envelopes | json_objects,
}


@pytest.mark.parametrize("shipped", ALL, ids=lambda each: each.name)
def test_each_says_what_it_does_and_where_the_need_was_seen(shipped: Transform) -> None:
    assert shipped.about.endswith(".")
    before, _, _ = SOURCE.partition(f'    "{shipped.name}",')
    *_, threads, _, _ = before.splitlines()
    assert re.fullmatch(r"# .*([\w.-]+/[\w.-]+#\d+|https://\S+)", threads)


@pytest.mark.parametrize("shipped", ALL, ids=lambda each: each.name)
@given(data=st.data())
def test_each_takes_any_tree_leaves_it_as_it_is_and_once_is_enough(
    shipped: Transform, data: st.DataObject
) -> None:
    tree: Tree = data.draw(TREES[shipped.kind])
    before = canonical(tree)
    once = shipped.apply(tree)
    assert canonical(tree) == before
    assert canonical(shipped.apply(once)) == canonical(once)
    applied = apply_transforms(shipped.kind, [shipped.name, shipped.name], tree)
    assert canonical(applied.tree) == canonical(once)
    assert applied.changed == ((shipped.name,) if canonical(once) != before else ())
