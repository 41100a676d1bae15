"""Cases and their tools, and what is said where the package is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bfcl import __main__ as command
from benchmarks.bfcl.cases import Case, Turn


def test_a_withheld_tool_joins_with_its_turn_and_an_excluded_one_never() -> None:
    turns = (Turn("Hi.", (), ()), Turn("Now.", (), ("sort", "grep")), Turn("Bye.", (), ("tail",)))
    case = Case("c", "miss_func", turns, ("GorillaFileSystem",), {}, ("cp",))
    assert case.withheld(0) == ("cp", "grep", "sort", "tail")
    assert case.withheld(1) == ("cp", "tail")
    assert case.withheld(2) == ("cp",)


def test_without_the_package_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path / "nowhere")
    assert command.main([]) == 2
    assert "run `make bfcl`" in capsys.readouterr().err


def test_only_the_whole_matrix_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--shape", "all", "--write"])
    assert "--write publishes the whole matrix" in capsys.readouterr().err
