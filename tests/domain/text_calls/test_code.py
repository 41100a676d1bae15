from __future__ import annotations

import pytest

from toolreel_core._text_calls import Code, Region


def at(text: str, mark: str, *, cut: bool = False) -> Region | None:
    start = text.index(mark)
    return Code.of(text, cut=cut).at(start, start + len(mark))


@pytest.mark.parametrize(
    ("text", "mark", "quoted"),
    [
        ("```\na\n```\nb", "```", "```\na\n```"),
        ("```\r\na\r\n```\r\nb", "```", "```\r\na\r\n```\r"),
        ("```\na\n````\nb", "```", "```\na\n````"),
        ("````\na\n```\nb\n````", "````", "````\na\n```\nb\n````"),
        ("~~~\n```\n~~~\nb", "~~~", "~~~\n```\n~~~"),
        ("```\na", "```", "```\na"),
        ("``` a` b ```", "```", "``` a` b ```"),
        ("a `b` c", "`", "`b`"),
    ],
)
def test_code_ends_with_its_closer(text: str, mark: str, quoted: str) -> None:
    region = at(text, mark)
    assert region
    assert text[region.start : region.end] == quoted


@pytest.mark.parametrize(("text", "mark"), [("a ` b", "`"), ("a `b\n\nc` d", "`"), ("a ~~~ b", "~~~")])
def test_a_mark_without_a_closer_opens_nothing(text: str, mark: str) -> None:
    assert at(text, mark) is None


def test_a_fence_within_a_fence_counts_if_both_are_closed() -> None:
    both = "```md\n```xml\n```\nb\n```\n"
    assert at(both, "```") == Region(0, len(both) - 1, certain=False)
    one = "```md\n```xml\n```\nb\n"
    assert at(one, "```") == Region(0, 16)
    assert at(one, "```", cut=True) == Region(0, len(one), certain=False, closed=False)


def test_what_was_cut_may_go_on_in_code() -> None:
    assert at("a `b", "`", cut=True) == Region(2, 4, closed=False)
    assert at("a `b\n\nc", "`", cut=True) is None


def test_code_that_begins_behind_a_place_holds_another() -> None:
    text = "a ` b `c` d `e` f"
    code = Code.of(text, cut=False)
    assert code.holding(text.index("c"), 5) == Region(6, 9)
    assert code.holding(text.index("e"), 5) == Region(12, 15)
    assert code.holding(text.index("f"), 5) is None
    assert Code.of("` a", cut=False).holding(2, 0) is None


def test_a_part_of_a_text_may_leave_a_fence_open() -> None:
    text = "a\n```json\nb\n```<end>\nc\n```\nd\n```\ne"
    code = Code.of(text, cut=False)
    assert code.leaves_open(0, text.index("\nc")) is None
    assert code.leaves_open(0, text.index("\nd")) == Region(0, len(text) - 2, certain=False)
    assert code.leaves_open(text.index("c"), len(text)) is None
    assert Code.of("a\n```\nb", cut=False).leaves_open(0, 7) is None
