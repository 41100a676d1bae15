from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.found import keep, kept, minimised
from tests.fuzz.sessions import unguided
from tests.fuzz.targets import TARGETS, Target


@pytest.mark.parametrize("path", kept(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_fuzzing_has_found_holds_by_now(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


def test_every_kept_input_is_small_and_named_after_what_it_holds(tmp_path: Path) -> None:
    for path in kept():
        data = path.read_bytes()
        assert len(data) < 4_096
        assert keep(path.parent.name, data, tmp_path).name == path.name
    assert {path.parent.name for path in kept()} <= TARGETS.keys()


def test_what_a_seed_leads_to_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(data: bytes) -> None:
        assert not data.startswith(b"ab"), "it begins like the alphabet"

    monkeypatch.setitem(TARGETS, "breaking", Target(breaks, lambda: [b"abcdef"]))
    session = unguided("breaking", 60, lambda _: None)
    assert session.found is not None
    assert minimised(breaks, session.found) == b"ab"


def test_without_atheris_hypothesis_draws_the_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arguments", "--seconds", "0.1", "--without-atheris"]) == 0
    assert "executions, nothing found" in capsys.readouterr().out
