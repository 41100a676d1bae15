"""The list of recordings: what is found in a directory, what is read when, and what has changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.replay.sessions import FOLDER, cassette
from toolreel._journal import companion
from toolreel._replay import Facts, Found, RecordingList, facts_of

JOURNAL = companion(cassette("recovered"))
WHOLE = 60.0
"""Seconds that are enough to read everything."""


def changes(listed: RecordingList, since: int = 0) -> Any:  # noqa: ANN401 - JSON
    return listed.changes(since, seconds=WHOLE)


def names(listed: RecordingList, since: int = 0) -> list[str]:
    """Names of what has changed."""
    return sorted(line[0] for line in changes(listed, since)["lines"])


def recorded(folder: Path, name: str) -> Path:
    path = folder / f"{name}.journal.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(JOURNAL, path))


def test_all_names_are_listed_at_once_and_what_is_on_the_screen_is_read_first(tmp_path: Path) -> None:
    for number in range(100):
        recorded(tmp_path, f"{number % 3}/run-{number:03}")
    read: list[str] = []

    def reading(found: Found) -> Facts | None:
        read.append(found.name)
        return facts_of(found)

    listed = RecordingList(tmp_path, reading)
    for name in ("1/run-001", "2/run-050"):
        listed.changes(0, [name], seconds=0)
    first: Any = listed.changes(0, ["not/there"], seconds=0)
    assert (len(first["lines"]), read[:2], first["unread"]) == (100, ["1/run-001", "2/run-050"], 97)
    assert changes(listed)["unread"] == 0
    assert (len(read), len({*read})) == (100, 100)
    facts = {tuple(line[2][:5]) for line in changes(listed)["lines"]}
    assert facts == {("completed", "qwen2.5-coder-1.5b", 4, 2, 1613)}


def test_only_what_has_changed_is_sent_and_read_again(tmp_path: Path) -> None:
    kept, changed, gone = (recorded(tmp_path, name) for name in ("kept", "changed", "gone"))
    listed = RecordingList(tmp_path)
    version = changes(listed)["version"]
    assert changes(listed, version)["lines"] == []
    gone.unlink()
    lines = changed.read_text("utf-8").splitlines(keepends=True)
    changed.write_text("".join(lines[:-2]), "utf-8")
    assert (names(listed, version), changes(listed, version)["gone"]) == (["changed"], ["gone"])
    assert listed.found("gone") is None
    assert listed.found("kept") is not None
    assert kept.exists()


def test_what_is_no_recording_is_not_listed_and_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    recorded(outside, "secret")
    recorded(inside, "run")
    recorded(inside, ".hidden/run")
    (inside / "settings.yaml").write_text("a: 1\n")
    (inside / "broken.journal.jsonl").write_text("{}\n")
    (inside / "link").symlink_to(outside)
    os.mkfifo(inside / "pipe.journal.jsonl")
    shutil.copytree(FOLDER / "evals" / "weak", inside / "evaluation")
    found = {line[0]: line[2][0] for line in changes(RecordingList(inside))["lines"]}
    assert found == {"run": "completed", "broken": "unreadable"}


def test_a_name_that_is_no_utf_8_is_listed(tmp_path: Path) -> None:
    try:
        os.rename(recorded(tmp_path, "run"), os.fsencode(tmp_path) + b"/r\xff.journal.jsonl")
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    assert names(RecordingList(tmp_path)) == ["r\\xff"]
