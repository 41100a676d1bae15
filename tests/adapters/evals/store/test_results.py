from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolreel.evals import write_json

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON))
def test_a_file_is_written_as_the_standard_library_would(tree: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_json(folder / "file.json", tree)
        assert (folder / "file.json").read_bytes() == _expected(tree)


def _expected(tree: dict[str, Any]) -> bytes:
    text = f"{json.dumps(tree, indent=2, ensure_ascii=False)}\n"
    return text.encode(errors="backslashreplace")
