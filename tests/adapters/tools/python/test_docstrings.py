from __future__ import annotations

import pytest

from toolreel.tools import parse_docstring

NAMES = {"sides", "times", "rest"}

GOOGLE = """Roll a die.

Arguments:
    sides (int): How many sides
        it has.
    *rest: What else there is.
Keyword Args:
    times: How often.

Raises:
    ValueError: times: is not a number.
"""

NUMPY = """Roll a die.

Parameters
----------
sides : int, optional
    How many sides
    it has.
times
    How often.
*rest : object
    What else there is.
strange : int
    No parameter at all.

Returns
-------
times : int
    What came up.
"""

SPHINX = """Roll a die.

:param int sides: How many sides
    it has.
:keyword times: How often.
:param rest: What else there is.
:rtype: int
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_describes_the_same(docstring: str) -> None:
    about, described = parse_docstring(docstring, NAMES)
    assert about == "Roll a die."
    assert described["sides"] == "How many sides it has."
    assert described["times"] == "How often."
    assert described["rest"].startswith("What else there is.")
    assert described.keys() == NAMES


def test_a_line_under_ordinary_words_is_no_section() -> None:
    assert parse_docstring("Dice\n----\nAre fair.", NAMES) == ("Dice ---- Are fair.", {})


def test_nothing_says_nothing() -> None:
    assert parse_docstring("", NAMES) == ("", {})


X, Y = "The text.", "More."


@pytest.mark.parametrize(
    ("section", "described"),
    [
        ("Args:\n    x (dict(str, (int, str))): The text.", {"x": X}),
        ("Args:\n    x (a, b: The text.", {}),
        ("Args:\n    x, y (int): The text.", {"x": X, "y": X}),
        ("Args:\n    - x: The text.\n    - y (int): More.", {"x": X, "y": Y}),
        ("Args:\n    * x: The text.\n    • `y`: More.", {"x": X, "y": Y}),
        ("Args:\n    `x`: The text.\n    ``y`` (int): More.", {"x": X, "y": Y}),
        ("Args:\n    x -- The text.\n    y - More.", {"x": X, "y": Y}),
        (
            "Args:\n    x:\n        The text.\n        y: no entry\n    y: More.",
            {"x": f"{X} y: no entry", "y": Y},
        ),
        ("Args:\n    x: The text.\n    ---: none\n    ?: none", {"x": f"{X} ---: none ?: none"}),
        (
            "Args:\n    x: One of:\n        - a\n        - b,\n          or c",
            {"x": "One of:\n- a\n- b,\n  or c"},
        ),
        (
            "Args:\n    x: As in\n        ```\n        f(x)\n\n        g()\n        ```",
            {"x": "As in\n```\nf(x)\n\ng()\n```"},
        ),
        ("Parameters\n----------\nx, y : int\n    The text.", {"x": X, "y": X}),
        (
            "Parameters\n----------\n`x` : {'a', 'b'}\n    The text.\n\n    * a\n    * b",
            {"x": "The text.\n* a\n* b"},
        ),
        ("Parameters\n----------\nx : int\n    The text.\nAnd others.\n    No more.", {"x": X}),
        (":param x: The text\ngoes on.\n:param dict[str, int] y: More.", {"x": "The text goes on.", "y": Y}),
        (":returns: what came\n    up\n:raises OSError: if x: is not there", {}),
        ("Args:\n    x: The text.\nReturns:\n    y: no parameter\n\nNote:\n    It is fair.", {"x": X}),
    ],
)
def test_a_parameter_is_found_however_it_is_written(section: str, described: dict[str, str]) -> None:
    assert parse_docstring(f"Do it.\n\n{section}", {"x", "y"}) == ("Do it.", described)


@pytest.mark.parametrize(
    ("docstring", "about"),
    [
        ("Do\nit.\n\nNow.", "Do it. Now."),
        (
            "Do these:\n\n- one\n- two\n  goes on\n\nAnd that.",
            "Do these:\n- one\n- two\n  goes on\nAnd that.",
        ),
        ("1. one\n   - inner\n2) two", "1. one\n   - inner\n2) two"),
        ("Do:\n\n```python\nf(1)\n\n# g\n```\nEnd.", "Do:\n```python\nf(1)\n\n# g\n```\nEnd."),
        ("Do::\n\n    f(1)\n    g(2)\n\nEnd.", "Do::\n    f(1)\n    g(2)\nEnd."),
        (">>> f(1)\n2\n\nEnd.", ">>> f(1)\n2\nEnd."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("Do.\n    it.", "Do. it."),
        ("Do.\n\nArgs:\n    x: The text.\nThen more.\n\nNote: this.", "Do. Then more. Note: this."),
        ("Do.\n\nReturns:\n    A thing.\n\nUse it with care.", "Do. Use it with care."),
        ("Do.\n\n:param x: The text.\n\nThen more.", "Do. Then more."),
    ],
)
def test_lists_and_code_keep_their_lines_and_no_text_is_lost(docstring: str, about: str) -> None:
    assert parse_docstring(docstring, {"x"}).summary == about
