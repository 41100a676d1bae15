from __future__ import annotations

from pathlib import Path

import pytest

from toolreel._internal import CassetteError
from toolreel._journal import journal_path, journal_paths_of_cassette
from toolreel.testing import cassette_by_name, cassette_of_test, is_recorded

REELS = Path("reels")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up", "a/../b", "a b", ".hidden"])
def test_a_name_that_is_no_file_in_the_folder_is_refused(name: str) -> None:
    with pytest.raises(CassetteError, match="the reel's name"):
        cassette_by_name(REELS, name)


def test_a_name_may_have_its_ending() -> None:
    assert cassette_by_name(REELS, "status/local--m.yaml") == cassette_by_name(REELS, "status/local--m")


@pytest.mark.parametrize("parameters", ["GPT-4o", "a/b", "x" * 300, "é", "", " ", "a]b"])
def test_every_parameter_makes_a_name_of_its_own(parameters: str) -> None:
    names = {cassette_of_test(REELS, [f"test[{text}]"]) for text in ("gpt-4o", "a-b", "e", parameters)}
    assert len(names) == 4
    assert all(len(path.name) < 120 and path.parent == REELS for path in names)


def test_there_is_a_recording_if_there_is_a_cassette_or_a_journal(tmp_path: Path) -> None:
    cassette = tmp_path / "a.yaml"
    before = is_recorded(cassette)
    journal_path(cassette).touch()
    assert (before, is_recorded(cassette)) == (False, True)
    assert journal_paths_of_cassette(cassette) == [tmp_path / "a.journal.jsonl"]
    journal_path(cassette, 3).touch()
    assert len(journal_paths_of_cassette(cassette)) == 1, "the second is missing"


def test_the_second_journal_of_one_recording_is_never_the_first_of_another() -> None:
    assert journal_path(cassette_by_name(REELS, "llama3"), 2) != journal_path(
        cassette_by_name(REELS, "llama3.2")
    )
    with pytest.raises(CassetteError):
        cassette_by_name(REELS, "llama3+2")
