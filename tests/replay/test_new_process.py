from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolreel._journal import Recorded, read_journal
from toolreel_core import Finish, dump, fold, load_effect, load_state, pending, start
from toolreel_core._jsontext import digest

CASSETTES = Path(__file__).parents[2] / "cassettes"
ONE_STEP = """
import sys
from toolreel_core import dump, load_event, load_state, step
state, event = map(str.strip, sys.stdin.read().strip().split("\\n"))
at = step(load_state(state), load_event(event))
print(dump(at.state), *map(dump, at.effects), sep="\\n")
"""


def in_a_new_process(state: str, event: str, hash_seed: int) -> tuple[str, list[str]]:
    """The state that a step leads to, and its effects, all as they are stored."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_STEP],
        input=f"{state}\n{event}",
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    stored, *effects = done.stdout.splitlines()
    return stored, effects


@pytest.mark.parametrize("scenario", ["recovered", pytest.param("nudged", marks=pytest.mark.slow)])
def test_a_run_that_is_handed_to_a_new_process_after_every_step_ends_the_same(scenario: str) -> None:
    (journal,) = (CASSETTES / scenario).glob("*.journal.jsonl")
    recorded: Recorded = read_journal(journal)
    stored: str = dump(start(recorded.plan).state)
    for seed, event in enumerate(recorded.events):
        stored, effects = in_a_new_process(stored, dump(event), seed)
        wanted = [one for one in map(load_effect, effects) if not isinstance(one, Finish)]
        assert wanted == [*pending(load_state(stored))]
    assert digest(stored) == digest(dump(fold(recorded.plan, recorded.events).state))
