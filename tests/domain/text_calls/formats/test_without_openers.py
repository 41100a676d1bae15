from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("without_openers", "calls_without_openers_are_read_by_their_closers")
def test_calls_without_openers_are_read_by_their_closers(row: Row) -> None:
    row.holds()


@each("without_openers", "what_is_not_certain_without_an_opener_is_no_call")
def test_what_is_not_certain_without_an_opener_is_no_call(row: Row) -> None:
    row.holds()
