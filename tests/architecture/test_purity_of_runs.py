from __future__ import annotations

from pathlib import Path

import pytest

import toolreel_core
from tests.architecture.audit import no_io
from toolreel._journal import Recorded, read_journal

JOURNALS = sorted((Path(__file__).parents[2] / "cassettes").rglob("*.journal.jsonl"))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.parent.name)
def test_a_recorded_run_is_folded_without_any_io(journal: Path) -> None:
    recorded = read_journal(journal)
    folded = _everything(recorded)  # once before: importing jsonschema reads files
    with no_io():
        assert _everything(recorded) == folded


def _everything(recorded: Recorded) -> list[str]:
    """Every state of the run, stored and read back, and every effect."""
    at = toolreel_core.start(recorded.plan)
    seen = []
    for event in recorded.events:
        seen += [toolreel_core.dump(at.state), *map(toolreel_core.dump, at.effects)]
        at = toolreel_core.step(toolreel_core.load_state(toolreel_core.dump(at.state)), event)
    return [*seen, toolreel_core.dump(at.state)]
