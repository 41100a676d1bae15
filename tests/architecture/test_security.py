"""SECURITY.md names a test for each defence, and workflows run only what is pinned."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT


def test_each_defence_names_a_test_that_exists() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = re.findall(r"^\|(?! it tries| danger|---)(.*)\|$", page, re.MULTILINE)
    assert len(rows) >= 30
    files = (ROOT / "tests").rglob("test_*.py")
    exist = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))}
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row.split("|")[-1])
        assert named, f"no test holds {row}"
        assert not {*named} - exist, row


def test_workflows_pin_their_actions_and_have_few_rights() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["nightly", "release", "test"]
    for path in workflows:
        text = path.read_text("utf-8")
        actions = re.findall(r"uses: (\S+)", text)
        assert actions
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+\.\d+\.\d+", action) for action in actions), path
        assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
        assert ("id-token: write" in text) == (path.stem == "release")
        assert "secrets." not in text
