from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.adapters.secrets.planted import KINDS
from tests.replay.sessions import FOLDER
from tests.samples import ROOT
from toolreel._internal import ProjectSettings
from toolreel._journal import journal_path
from toolreel.testing import Checked, RecordingFinding, check

NOW = datetime(2026, 12, 1, tzinfo=UTC)
NAME = "local--qwen2.5-coder-1.5b"
KEY = KINDS["an OpenAI key"].secret


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with two of the recorded sessions, each with its journal."""
    for scenario in ("chat", "workspace"):
        shutil.copytree(FOLDER / scenario, tmp_path / "cassettes" / scenario)
    return tmp_path / "cassettes"


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return path


def told(checked: Checked, root: Path) -> list[tuple[str, str]]:
    """What was found: the recording's folder or file, and the kind."""
    return [(finding.path.relative_to(root).as_posix(), finding.kind) for finding in checked.findings]


def only(checked: Checked) -> RecordingFinding:
    (finding,) = checked.findings
    return finding


# This project's own.


def test_this_projects_recordings_are_clean() -> None:
    checked = check(ROOT, now=datetime.now(UTC), tests=(ROOT / "tests", ROOT / "examples"))
    assert checked.findings == ()
    assert len(checked.recordings) >= 13
    assert all(recording.recorded for recording in checked.recordings)


# Each kind of finding.


def test_a_tree_in_order_has_no_findings_and_tells_what_there_is(tree: Path) -> None:
    checked = check(tree, now=NOW)
    assert checked.findings == ()
    assert [recording.cassette for recording in checked.recordings] == [
        tree / "chat" / f"{NAME}.yaml",
        tree / "workspace" / f"{NAME}.yaml",
    ]
    assert [recording.interactions for recording in checked.recordings] == [1, 3]
    assert [len(recording.journals) for recording in checked.recordings] == [1, 1]


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        ("chat/{}.yaml", "message: OK", f"message: {KEY}", "interaction 1: response.status.message: API key"),
        ("chat/{}.yaml", "toolreel: 1", f"# {KEY}\ntoolreel: 1", "line 1: API key"),
        (
            "chat/{}.yaml",
            "role: user",
            f"role: user\n          k: {KEY}",
            "interaction 1: request.body.messages",
        ),
        ("chat/{}.journal.jsonl", '"id\\":\\"', f'"id\\":\\"{KEY} ', "line 2: event.body.id: API key"),
    ],
)
def test_a_leak_is_told_with_its_place_and_never_shown(
    tree: Path, file: str, old: str, new: str, place: str
) -> None:
    path = edited(tree / file.format(NAME), old, new)
    leaks = [finding for finding in check(tree, now=NOW).findings if finding.kind == "leak"]
    assert [finding.path for finding in leaks] == [path]
    assert leaks[0].text.startswith(place)
    assert KEY not in leaks[0].text


def test_values_of_the_environment_are_leaks_too(tree: Path) -> None:
    edited(tree / "chat" / f"{NAME}.yaml", "message: OK", "message: correct horse")
    checked = check(tree, now=NOW, known={"MY_TOKEN": "correct horse"})
    assert "interaction 1: response.status.message: value of MY_TOKEN" in [
        finding.text for finding in checked.findings
    ]


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (b"", "unreadable", "the file is empty"),
        (b"\xff\xfe", "unreadable", "not UTF-8 at byte 0"),
        (b"toolreel: 1\nversion: 1\ninteractions:\n- req", "unreadable", "the closing line '...' is missing"),
        (b"toolreel: 9\nversion: 1\ninteractions: []\n...\n", "version", "toolreel"),
        (b"interactions:\n- request:\n    body: null\nversion: 1\n", "version", "a cassette of stock vcrpy"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_others_are_looked_at(
    tree: Path, content: bytes, kind: str, text: str
) -> None:
    path = tree / "chat" / f"{NAME}.yaml"
    path.write_bytes(content)
    checked = check(tree, now=NOW)
    assert only(checked).path == path
    assert only(checked).kind == kind
    assert text in only(checked).text
    assert str(path) not in only(checked).text.removesuffix(f"import {path} NEW.yaml")
    assert checked.recordings[1].interactions == 3


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ('{"n":1,', '{"n":1', "unreadable"),
        ('"toolreel_journal":1', '"toolreel_journal":99', "version"),
    ],
)
def test_a_journal_that_cannot_be_read_is_told_with_its_line(
    tree: Path, old: str, new: str, kind: str
) -> None:
    path = edited(journal_path(tree / "chat" / f"{NAME}.yaml"), old, new)
    finding = only(check(tree, now=NOW))
    assert (finding.path, finding.kind) == (path, kind)
    assert finding.text.startswith("line ")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("temperature: 0", "temperature: 1", "POST /chat/completions is not in the recording"),
        ("content: Done", "content: Gone", "event 5 is not the recorded one"),
    ],
)
def test_a_cassette_that_was_edited_no_longer_matches_its_journal(
    tree: Path, old: str, new: str, text: str
) -> None:
    path = edited(tree / "workspace" / f"{NAME}.yaml", old, new)
    finding = only(check(tree, now=NOW))
    assert (finding.path, finding.kind) == (journal_path(path), "drift")
    assert text in finding.text


def test_a_rule_in_a_cassette_has_to_fit_one_of_its_requests(tree: Path) -> None:
    path = tree / "workspace" / f"{NAME}.yaml"
    edited(path, "version: 1\n", "version: 1\nvary:\n- at: /temperature\n")
    assert check(tree, now=NOW).findings == ()
    edited(path, "- at: /temperature\n", "- at: /temperature\n- at: /metadata/trace\n")
    finding = only(check(tree, now=NOW))
    assert (finding.path, finding.kind) == (path, "rule")
    assert finding.text == "at='/metadata/trace': fits no request: correct or remove it"


def test_a_rule_of_the_project_has_to_fit_a_request_of_a_recording(tree: Path) -> None:
    rules = [{"at": "/temperature"}, {"at": "/metadata/trace"}]
    finding = only(check(tree, now=NOW, project=ProjectSettings(tree / "pyproject.toml", {"vary": rules})))
    assert (finding.path, finding.kind) == (Path("pyproject.toml"), "rule")
    assert finding.text == "at='/metadata/trace': fits no request of these recordings: correct or remove it"


def test_half_of_a_recording_is_none_the_worse(tree: Path) -> None:
    (tree / "chat" / f"{NAME}.yaml").unlink()
    journal_path(tree / "workspace" / f"{NAME}.yaml").unlink()
    checked = check(tree, now=NOW)
    assert (checked.findings, len(checked.recordings)) == ((), 2)


def test_the_journal_of_an_evaluation_is_no_recording_but_may_hold_no_secret(tree: Path) -> None:
    trials = (ROOT / "cassettes" / "evals" / "servings" / "journal.jsonl").read_text("utf-8")
    path = tree / "trials.journal.jsonl"
    path.write_text(trials, "utf-8")
    checked = check(tree, now=NOW)
    assert (checked.findings, len(checked.recordings)) == ((), 2)
    path.write_text(trials + f"{KEY}\n", "utf-8")
    assert told(check(path, now=NOW), tree) == [("trials.journal.jsonl", "leak")]


def test_the_age_is_that_of_the_oldest_reply(tree: Path) -> None:
    assert check(tree, now=NOW, max_age=timedelta(days=30)).findings == ()
    checked = check(tree, now=NOW, max_age=timedelta(days=3))
    assert [finding.kind for finding in checked.findings] == ["old", "old"]
    assert checked.findings[0].text == "recorded on 2026-11-21, 9 days ago: record it again"


# Orphans.


def saying_in(folder: Path, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_agent.py").write_text(source)
    return folder


@pytest.mark.parametrize(
    "source",
    [
        'session("chat")',
        f'session("chat/{NAME}.yaml")',
        f'session("cassettes/chat/{NAME}")',
        f'session(FOLDER / "{NAME}.journal.jsonl")',
    ],
)
def test_a_recording_is_named_by_its_folder_or_its_path(tree: Path, source: str, tmp_path: Path) -> None:
    shutil.rmtree(tree / "workspace")
    tests = saying_in(tmp_path / "tests", source)
    assert check(tree, now=NOW, tests=[tests]).findings == ()


@pytest.mark.parametrize("source", ["", 'post("/v1/chat/completions")', "chat = 1", "no Python at all"])
def test_a_recording_that_no_test_names_is_an_orphan(tree: Path, source: str, tmp_path: Path) -> None:
    shutil.rmtree(tree / "workspace")
    tests = saying_in(tmp_path / "tests", source)
    finding = only(check(tree, now=NOW, tests=[tests]))
    assert (finding.kind, finding.path) == ("orphan", tree / "chat" / f"{NAME}.yaml")
    assert finding.text == f"no test in {tests} names it: remove it"


def test_reels_are_looked_for_in_the_tests_beside_them(tree: Path, tmp_path: Path) -> None:
    reels = tmp_path / "project" / "reels" / "test_agent"
    reels.mkdir(parents=True)
    for name in ("test_a", "TestB.test_b-small", "test_gone"):
        shutil.copy(tree / "chat" / f"{NAME}.yaml", reels / f"{name}.yaml")
    saying_in(
        tmp_path / "project",
        "def test_a(reel): ...\nclass TestB:\n    async def test_b(self, reel, size): ...\n",
    )
    checked = check(tmp_path / "project", now=NOW)
    assert told(checked, reels) == [("test_gone.yaml", "orphan")]


# What is looked at.


def test_other_yaml_and_folders_of_tools_are_passed_over(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    shutil.copytree(tree / "chat", tmp_path / ".venv" / "cassettes")
    shutil.copytree(tree / "chat", tmp_path / "elsewhere")
    checked = check(tmp_path, now=NOW)
    assert checked.findings == ()
    assert [recording.cassette for recording in checked.recordings] == [
        tree / "chat" / f"{NAME}.yaml",
        tree / "workspace" / f"{NAME}.yaml",
        tmp_path / "elsewhere" / f"{NAME}.yaml",
    ]
