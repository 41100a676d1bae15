from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import Row, each, source
from toolreel_core._jsontext import Flaw
from toolreel_core._text_calls import expression


@each("pythonic", "python_calls_are_read_and_never_evaluated")
def test_python_calls_are_read_and_never_evaluated(row: Row) -> None:
    row.holds()


@each("pythonic", "python_that_was_cut_is_not_run")
def test_python_that_was_cut_is_not_run(row: Row) -> None:
    row.holds()


@pytest.mark.parametrize(("text", "unfinished"), [("", True), ("7", False)])
def test_what_is_no_call_is_none(text: str, unfinished: bool) -> None:
    assert expression(source(text), 0, "pythonic_list") == Flaw(0, unfinished)


@each("gemma", "values_may_stand_without_quotes")
def test_values_may_stand_without_quotes(row: Row) -> None:
    row.holds()


@each("gemma", "a_call_that_was_cut_is_not_run")
def test_a_call_that_was_cut_is_not_run(row: Row) -> None:
    row.holds()
