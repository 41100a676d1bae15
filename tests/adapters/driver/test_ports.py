from __future__ import annotations

import pytest

from toolreel._driver import tell
from toolreel_core._protocol import LateAnswer, Note, RunSettled

NOTES: tuple[Note, ...] = (LateAnswer(3), RunSettled("completed"))


def test_an_observer_is_shown_every_note_in_order() -> None:
    seen: list[Note] = []
    tell(seen.append, NOTES)
    assert seen == [*NOTES]


def test_nobody_has_to_observe() -> None:
    tell(None, NOTES)


def test_an_observer_that_fails_is_warned_of_and_shown_the_next_note() -> None:
    seen: list[Note] = []

    def faint(note: Note) -> None:
        seen.append(note)
        if isinstance(note, LateAnswer):
            raise ValueError("no idea")

    with pytest.warns(RuntimeWarning) as told:
        tell(faint, NOTES)
    assert [str(warning.message) for warning in told] == [
        "the observer failed on LateAnswer: ValueError('no idea')"
    ]
    assert seen == [*NOTES]


def test_what_stops_a_program_stops_it() -> None:
    def interrupt(note: Note) -> None:
        raise KeyboardInterrupt(note)

    with pytest.raises(KeyboardInterrupt):
        tell(interrupt, NOTES)
