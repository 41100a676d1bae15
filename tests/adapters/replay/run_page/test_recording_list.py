"""The list of recordings: what is found in a directory, what is read when, and what has changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.replay.sessions import FOLDER, cassette
from toolreel._journal import journal_path
from toolreel._replay import RecordingList

JOURNAL = journal_path(cassette("recovered"))
WHOLE = 60.0
"""Seconds that are enough to read everything."""


def facts(listed: RecordingList) -> dict[str, Any]:
    """What is known of each recording, by name."""
    told: Any = listed.read_recording_rows(seconds=WHOLE)
    assert told["unread"] == 0
    return {line[0]: line[2] for line in told["lines"]}


def recorded(folder: Path, name: str) -> Path:
    path = folder / f"{name}.journal.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(JOURNAL, path))


def test_all_names_are_listed_at_once_and_the_newest_are_read_first(tmp_path: Path) -> None:
    for number in range(100):
        path = recorded(tmp_path, f"{number % 3}/run-{number:03}")
        os.utime(path, ns=(0, number % 50))
    listed = RecordingList(tmp_path)
    first: Any = listed.read_recording_rows(seconds=0.0)
    assert (len(first["lines"]), first["unread"]) == (100, 99)
    listed.read_recording_rows(seconds=0.0)
    seen: Any = listed.read_recording_rows(seconds=0.0)
    assert {line[0] for line in seen["lines"] if line[2]} > {"1/run-049", "0/run-099"}
    assert {tuple(known[:5]) for known in facts(listed).values()} == {
        ("completed", "qwen2.5-coder-1.5b", 4, 2, 1613)
    }


def test_what_has_changed_is_read_again_and_what_is_gone_is_not_listed(tmp_path: Path) -> None:
    _, changed, gone = (recorded(tmp_path, name) for name in ("kept", "changed", "gone"))
    listed = RecordingList(tmp_path)
    assert {*facts(listed)} == {"kept", "changed", "gone"}
    gone.unlink()
    lines = changed.read_text("utf-8").splitlines(keepends=True)
    changed.write_text("".join(lines[:-2]), "utf-8")
    assert {name: known[0] for name, known in facts(listed).items()} == {
        "kept": "completed",
        "changed": "resting",
    }
    assert listed.recording_named("gone") is None
    assert listed.recording_named("kept") is not None


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
    found = {name: known[0] for name, known in facts(RecordingList(inside)).items()}
    assert found == {"run": "completed", "broken": "unreadable"}


def test_a_name_that_is_no_utf_8_is_listed(tmp_path: Path) -> None:
    try:
        os.rename(recorded(tmp_path, "run"), os.fsencode(tmp_path) + b"/r\xff.journal.jsonl")
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    assert [*facts(RecordingList(tmp_path))] == ["r\\xff"]
