from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import source
from toolreel_core._text_calls import Place


def quoted(text: str, *, cut: bool = False) -> bool:
    """Whether the place of ``CALL`` in a text quotes it; ``TAG`` is a tag next to it."""
    start, end = text.index("CALL"), text.rindex("CALL") + 4
    head = min(start, text.find("TAG") if "TAG" in text else start)
    return Place(source(text, cut=cut), start, end, head).is_quoted


@pytest.mark.parametrize(
    "text",
    [
        "a \\CALL",
        "a \\TAG CALL",
        "a \\\\\\CALL",
        '"CALL"',
        "'CALL' a",
        "``CALL''",
        "‘CALL’",
        "»CALL«",
        "«CALL",
        "« a CALL b »",
        "“ a CALL b ”",
        "„a CALL b“",
        "「 CALL 」",
        'a "b CALL c" d',
        "| a | CALL |",
        "> | CALL |",
        "a | b\n--|--\na | CALL | b",
        "a | b\n--|--\na | CALL\n",
        "a\n\n    CALL",
        "a\n\n\tCALL\n",
        "a\n\n    b\n    CALL",
        "a\n\n    TAG\n    CALL\n\n    CALL",
        "a\n\n      b\n\n    CALL",
        "a::\n\n  CALL",
        "a::\n\n  b\n  CALL\n  CALL",
        ".. code-block:: xml\n   :caption: b\n\n   CALL",
    ],
)
def test_a_place_may_quote_a_call(text: str) -> None:
    assert quoted(text)


@pytest.mark.parametrize(
    "text",
    [
        "CALL",
        "a CALL b",
        "a \\\\CALL",
        '"a" CALL',
        "'CALL",
        "»CALL",
        "« a » CALL « b »",
        "« a CALL",
        "« a\n\nCALL »",
        'a 5" CALL 3" b',
        'a "b CALL',
        'a "b CALL\n"',
        "| CALL\nCALL |",
        "a | CALL | b",
        "<|CALL",
        "    CALL",
        "\n\n    CALL",
        "a\n    CALL",
        "a\n  b\n    CALL",
        "a\n\n  CALL",
        "a\n\n    CALL\nCALL",
        "a\n\nb    CALL",
        "a:\n\n  CALL",
        "  a\n" + "\n" * 500 + "   CALL",
        "  a\n\n   CALL",
    ],
)
def test_a_place_may_be_ordinary(text: str) -> None:
    assert not quoted(text)


@pytest.mark.parametrize("text", ["« a CALL", 'a "b CALL', "'CALL", "'CALL</x"])
def test_what_was_cut_may_lack_its_closing_mark(text: str) -> None:
    assert quoted(text, cut=True)


@pytest.mark.parametrize("text", ["« a CALL\n\nb", 'a 5" CALL'])
def test_what_was_cut_later_lacks_no_mark(text: str) -> None:
    assert not quoted(text, cut=True)
