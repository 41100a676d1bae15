from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bare_tags", "tools_and_parameters_may_be_tags")
def test_tools_and_parameters_may_be_tags(row: Row) -> None:
    row.holds()


@each("bare_tags", "attributes_are_arguments_of_a_tag_without_content")
def test_attributes_are_arguments_of_a_tag_without_content(row: Row) -> None:
    row.holds()


@each("bare_tags", "attributes_that_are_not_certain_are_no_arguments")
def test_attributes_that_are_not_certain_are_no_arguments(row: Row) -> None:
    row.holds()
