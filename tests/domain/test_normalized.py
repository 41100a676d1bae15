from __future__ import annotations

from toolreel.jsontext import NOTHING
from toolreel.normalized import Reply
from toolreel.usage import Served, Usage


def test_a_reply_of_which_nothing_is_known_is_empty() -> None:
    assert Reply() == Reply((), "", "", "unknown", None, (), Usage(), Served(), NOTHING)
