from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.found import complaint, keep, kept, minimised
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("path", kept(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_fuzzing_has_found_holds_by_now(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


def test_every_kept_input_is_small_and_named_after_what_it_holds(tmp_path: Path) -> None:
    for path in kept():
        data = path.read_bytes()
        assert len(data) < 4_096
        assert keep(path.parent.name, data, tmp_path).name == path.name
    assert {path.parent.name for path in kept()} <= TARGETS.keys()


def test_an_input_is_kept_with_its_fragments_written_out(tmp_path: Path) -> None:
    kept_at = keep("texts", b"\x00\xff\x00\x00\xff", tmp_path)
    assert kept_at.parent == tmp_path / "texts"
    assert kept_at.read_bytes() == b"\x00``"


def breaks(data: bytes) -> None:
    assert b"ab" not in data
    if b"c" in data:
        raise ValueError("c")


def test_an_input_is_made_small_as_long_as_it_fails_for_the_same_reason() -> None:
    assert minimised(breaks, b"0123ab456c789") == b"ab"
    assert minimised(breaks, b"0123456c789") == b"c"
    assert minimised(breaks, b"nothing") == b"nothing"
    assert complaint(breaks, b"a") == ""
    assert complaint(breaks, b"c").startswith("ValueError in breaks")
