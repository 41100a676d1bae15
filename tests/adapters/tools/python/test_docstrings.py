from __future__ import annotations

import pytest

from tests.samples import worked
from toolreel.tools import parse_docstring

NAMES = {"sides", "times", "rest"}


@pytest.mark.parametrize("docstring", worked("every style describes the same", "tools"))
def test_every_style_describes_the_same(docstring: str) -> None:
    about, described = parse_docstring(docstring, NAMES)
    assert about == "Roll a die."
    assert described["sides"] == "How many sides it has."
    assert described["times"] == "How often."
    assert described["rest"].startswith("What else there is.")
    assert described.keys() == NAMES


def test_a_line_under_ordinary_words_is_no_section() -> None:
    assert parse_docstring("Dice\n----\nAre fair.", NAMES) == ("Dice ---- Are fair.", {})


@pytest.mark.parametrize(
    ("section", "described"), worked("a parameter is found however it is written", "tools")
)
def test_a_parameter_is_found_however_it_is_written(section: str, described: dict[str, str]) -> None:
    assert parse_docstring(f"Do it.\n\n{section}", {"x", "y"}) == ("Do it.", described)


@pytest.mark.parametrize(
    ("docstring", "about"), worked("lists and code keep their lines and no text is lost", "tools")
)
def test_lists_and_code_keep_their_lines_and_no_text_is_lost(docstring: str, about: str) -> None:
    assert parse_docstring(docstring, {"x"}).summary == about
