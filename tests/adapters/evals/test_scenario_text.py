from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from toolreel.evals import scenario_text
from toolreel_core._jsontext import Json

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(TEXT, VALUES, TEXT)
def test_what_is_written_is_read_again(user: str, value: Json, key: str) -> None:
    tree: dict[str, Json] = {
        "name": user,
        "user": [user, user],
        "world": {key: value},
        "tool": [{"name": user, "answers": [{"then": value}] * 9}, {"effect": True}],
        "check": [{"says": value}],
    }
    assert tomllib.loads(scenario_text(tree, [user])) == tree
