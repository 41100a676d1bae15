from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.phases import answers, diagram

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"


@pytest.mark.parametrize("part", [diagram, answers])
def test_the_architecture_page_shows_the_machine_as_it_is(part: Callable[[], str]) -> None:
    assert part() in ARCHITECTURE.read_text("utf-8"), (
        "paste what `python -m tests.architecture.phases` prints"
    )
