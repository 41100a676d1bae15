"""The list of the local page: what is found in a directory, what is read when, and what has changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.replay.sessions import FOLDER, cassette
from toolreel._journal.format import companion
from toolreel._ui.directory import Found, facts_of
from toolreel._ui.entry import Entry, Facts
from toolreel._ui.index import Index

JOURNAL = companion(cassette("recovered"))


def changes(index: Index, since: int = 0) -> Any:  # noqa: ANN401 - JSON
    return index.changes(since)


def names(index: Index, since: int = 0) -> list[str]:
    """Names of what has changed."""
    return sorted(line[2] for line in changes(index, since)["lines"])


def read_all(index: Index) -> None:
    while index.read_some():
        pass


def recorded(folder: Path, name: str) -> Path:
    path = folder / f"{name}.journal.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(JOURNAL, path))


def test_names_are_listed_without_reading_and_what_is_wanted_is_read_first(tmp_path: Path) -> None:
    for number in range(100):
        recorded(tmp_path, f"{number % 3}/run-{number:03}")
    read: list[str] = []

    def reading(found: Found) -> Facts | None:
        read.append(found.name)
        return facts_of(found)

    index = Index(tmp_path, read=reading)
    index.look()
    assert (len(names(index)), read, changes(index)["unread"]) == (100, [], 100)
    index.want(["recording:1/run-001", "recording:2/run-050", "recording:not/there"])
    assert index.read_some()
    assert read[:2] == ["2/run-050", "1/run-001"]
    read_all(index)
    assert (len(read), len({*read}), changes(index)["unread"]) == (100, 100, 0)
    facts = {tuple(line[5][:5]) for line in changes(index)["lines"]}
    assert facts == {("completed", "qwen2.5-coder-1.5b", 4, 2, 1613)}


def test_only_what_has_changed_is_sent_and_read_again(tmp_path: Path) -> None:
    kept, changed, gone = (recorded(tmp_path, name) for name in ("kept", "changed", "gone"))
    index = Index(tmp_path)
    index.look()
    read_all(index)
    version = changes(index)["version"]
    assert changes(index, version)["lines"] == []
    gone.unlink()
    lines = changed.read_text("utf-8").splitlines(keepends=True)
    changed.write_text("".join(lines[:-2]), "utf-8")
    index.look()
    read_all(index)
    assert (names(index, version), changes(index, version)["gone"]) == (["changed"], ["recording:gone"])
    assert index.found("recording:gone") is None
    assert index.found("recording:kept") is not None
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
    shutil.copytree(FOLDER / "evals" / "local", inside / "evaluation")
    index = Index(inside)
    index.look()
    read_all(index)
    found = {line[0]: line[5][0] for line in changes(index)["lines"]}
    assert found == {
        "recording:run": "completed",
        "recording:broken": "unreadable",
        "evaluation:evaluation": "243 runs",
    }


def test_a_name_that_is_no_utf_8_is_listed(tmp_path: Path) -> None:
    try:
        os.rename(recorded(tmp_path, "run"), os.fsencode(tmp_path) + b"/r\xff.journal.jsonl")
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    index = Index(tmp_path)
    index.look()
    read_all(index)
    assert names(index) == ["r\\xff"]


def test_a_database_that_is_away_leaves_its_runs_in_the_list(tmp_path: Path) -> None:
    run = Entry("durable", "bill-7", 1, None, Facts("queued"))
    answers: list[Sequence[Entry] | Exception] = [[run], RuntimeError("password=secret"), []]

    class Database:
        def entries(self) -> Sequence[Entry]:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    index = Index(tmp_path, Database())
    index.look()
    assert names(index) == ["bill-7"]
    index.look()
    assert names(index) == ["bill-7"]
    assert changes(index)["trouble"] == "the database cannot be read: RuntimeError"
    index.look()
    assert (names(index), changes(index)["trouble"]) == ([], "")
