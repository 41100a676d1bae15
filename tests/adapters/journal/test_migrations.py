"""Older versions of journals and cassettes are read for ever; newer ones are refused with the remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.samples import complaint
from toolreel._internal.errors import CassetteError, JournalError
from toolreel._journal.format import VERSIONS, Lines, companion, parse_journal
from toolreel._journal.migrations import Versions
from toolreel._replay.replay import replay
from toolreel.cassette._format import serializer as cassette_format
from toolreel.cassette._format.serializer import deserialize
from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.digest import digest

FROZEN: Final = Path(__file__).parents[2] / "versions"
NAMES: Final = {
    1: (
        "bce30a4295e8248084a3d2622923172b0719b8dffc5c8013054bd4801792704b",
        "20f97d2f346a824a44885547942d1d63c7d9af3726b9f1fb24303ff2bfa59110",
    ),
}
"""By version, the digests of a frozen journal and its cassette, whose bytes never change."""


def frozen(version: int) -> Path:
    return FROZEN / f"version-{version}.yaml"


def test_there_is_a_frozen_recording_of_every_version() -> None:
    assert sorted(NAMES) == [*range(1, VERSIONS.newest + 1)]
    assert cassette_format.VERSIONS.newest == VERSIONS.newest, "now each needs a table of its own here"


@pytest.mark.parametrize("version", NAMES)
def test_a_frozen_recording_is_what_it_was_and_replays(version: int) -> None:
    cassette = frozen(version)
    read = tuple(digest(path.read_text("utf-8")) for path in (companion(cassette), cassette))
    assert read == NAMES[version]
    for path in (cassette, companion(cassette)):
        replayed = replay(path)
        assert replayed.run.completed
        assert replayed.recorded.digest == read[0]


def test_a_newer_version_is_refused_with_the_remedy() -> None:
    newer = companion(frozen(1)).read_text("utf-8").replace('"toolreel_journal":1', '"toolreel_journal":7', 1)
    told = complaint(JournalError, lambda: parse_journal(newer, "j"))
    assert told.startswith("j, line 1: a journal of version 7, which a newer toolreel wrote; this one, ")
    assert told.endswith("reads version 1: pip install --upgrade toolreel, or record it again")
    newer = frozen(1).read_text("utf-8").replace("toolreel: 1", "toolreel: 7", 1)
    told = complaint(CassetteError, lambda: deserialize(newer))
    assert told.startswith("toolreel: a cassette of version 7, which a newer toolreel wrote; this one, ")


@pytest.mark.parametrize("found", [0, -1, True, None, "1", 1.0])
def test_what_is_no_version_is_refused(found: object) -> None:
    told = complaint(JournalError, lambda: VERSIONS.newest_of([], found, "j"))
    assert told == f"j: {found!r} is no version of a journal; record it again"


# What becomes of a recording once there is a version after its own.


def fp_by_its_new_name(lines: Lines) -> Lines:
    header, *records = lines
    moved = [{"n": r["n"], "kind": r["kind"], "fp": r["print"], "event": r["event"]} for r in records]
    return [{**header, "toolreel_journal": 2}, *moved]


def kinds_in_full(lines: Lines) -> Lines:
    return [{**line, "kind": f"{line['kind']}_tool"} if line.get("kind") == "run" else line for line in lines]


NOW: Final[Versions[Lines]] = Versions("journal", JournalError, (fp_by_its_new_name, kinds_in_full))


def as_in_version(version: int) -> tuple[str, str]:
    """The frozen journal as an imagined older version would have had it, and as version 3 has it."""
    text = companion(frozen(1)).read_text("utf-8")
    newest = text.replace('"toolreel_journal":1', '"toolreel_journal":3', 1)
    lines: list[dict[str, Json]] = [json.loads(line) for line in text.splitlines()]
    lines[0]["toolreel_journal"] = version
    for line in lines[1:]:
        if version < 3 and line["kind"] == "run_tool":
            line["kind"] = "run"
        if version < 2:
            line["print"] = line.pop("fp")
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), newest


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_older_journal_is_read_as_if_it_had_been_written_now(version: int) -> None:
    older, newest = as_in_version(version)
    recorded = parse_journal(older, versions=NOW)
    want = parse_journal(newest, versions=NOW)
    assert recorded.version == version
    assert (recorded.plan, recorded.records) == (want.plan, want.records)
    assert version == 3 or recorded.text == newest


def test_a_migration_gets_only_what_is_older_than_its_result() -> None:
    older, _ = as_in_version(2)
    with pytest.raises(KeyError):
        parse_journal(older.replace('"toolreel_journal": 2', '"toolreel_journal": 1'), versions=NOW)


def turns_by_their_new_name(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**{key: value for key, value in tree.items() if key != "turns"}, "interactions": tree["turns"]}


def test_an_older_cassette_is_read_as_if_it_had_been_written_now() -> None:
    now: Versions[Mapping[str, Any]] = Versions("cassette", CassetteError, (turns_by_their_new_name,))
    text = frozen(1).read_text("utf-8")
    assert deserialize(text.replace("interactions:", "turns:", 1), now) == deserialize(text)
    assert deserialize(text.replace("toolreel: 1", "toolreel: 2", 1), now) == deserialize(text)
