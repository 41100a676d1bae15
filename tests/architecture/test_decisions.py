from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.decisions import FOLDER, Decision, decisions

HEAD = "# 0007. Seven\n\nStatus: {}\n\nDate: 2026-11-22\n\n"
PARTS = "**Context.** a\n\n**Choice.** b\n\n**Cost.** c\n"


def test_every_decision_has_a_head_and_all_its_parts() -> None:
    assert [one.title for one in decisions()]


def test_numbers_are_used_once() -> None:
    numbers = [one.number for one in decisions()]
    assert len(numbers) == len(set(numbers))


def test_links_between_decisions_lead_to_files() -> None:
    links = [
        (page.name, link)
        for page in sorted(FOLDER.glob("*.md"))
        for link in re.findall(r"\]\((\d{4}-[^)]+)\)", page.read_text("utf-8"))
    ]
    assert [(page, link) for page, link in links if not (FOLDER / link).is_file()] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PARTS, "begin with"),
        (HEAD.format("maybe") + PARTS, "begin with"),
        (HEAD.format("accepted") + PARTS.replace("Cost", "Price"), "no part Cost"),
        (HEAD.format("accepted").replace("0007", "0008") + PARTS, "number 0008"),
    ],
)
def test_a_decision_that_is_incomplete_is_refused(text: str, message: str, tmp_path: Path) -> None:
    page = tmp_path / "0007-seven.md"
    page.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message):
        Decision.read(page)
