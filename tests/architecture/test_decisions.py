from __future__ import annotations

import re

from tests.architecture.decisions import FOLDER, decisions


def test_every_decision_has_a_head_all_its_parts_and_a_number_of_its_own() -> None:
    numbers = [number for number, _, _ in decisions().values()]
    assert len(numbers) == len(set(numbers)) > 0


def test_links_between_decisions_lead_to_files() -> None:
    links = [
        (page.name, link)
        for page in sorted(FOLDER.glob("*.md"))
        for link in re.findall(r"\]\((\d{4}-[^)]+)\)", page.read_text("utf-8"))
    ]
    assert [(page, link) for page, link in links if not (FOLDER / link).is_file()] == []
