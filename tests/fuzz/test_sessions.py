from __future__ import annotations

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.found import kept, minimised
from tests.fuzz.sessions import guided, has_atheris, unguided
from tests.fuzz.targets import TARGETS, Target


def breaks(data: bytes) -> None:
    assert not data.startswith(b"ab"), "it begins like the alphabet"


def test_kept_inputs_can_be_replayed_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", *map(str, kept()[:2])]) == 0
    assert capsys.readouterr().out.endswith("all of them hold\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nothing"], "no target 'nothing'; there are arguments,"),
        (["--replay", "README.md"], "the folder of an input names its target"),
    ],
)
def test_mistakes_are_told_in_a_line(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_without_atheris_hypothesis_draws_the_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arguments", "--seconds", "0.1", "--without-atheris"]) == 0
    said = capsys.readouterr().out
    assert "Hypothesis draws the inputs" in said
    assert "executions, nothing found" in said


def test_hypothesis_finds_what_a_seed_leads_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "breaking", Target(breaks, lambda: [b"abcdef"]))
    session = unguided("breaking", 60, lambda _: None)
    assert session.found is not None
    assert minimised(breaks, session.found) == b"ab"


@pytest.mark.slow
@pytest.mark.skipif(not has_atheris(), reason="atheris is for Linux and Python before 3.14")
def test_atheris_says_what_it_has_reached() -> None:
    session = guided("arguments", 5, lambda _: None)
    assert (session.found, session.log) == (None, "")
    assert session.executions > 0
    assert session.coverage > 0
