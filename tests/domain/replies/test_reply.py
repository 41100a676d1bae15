from __future__ import annotations

from toolreel_core._jsontext.canonical import NOTHING
from toolreel_core._replies.reply import Reply
from toolreel_core._replies.usage import Served, Usage


def test_a_reply_of_which_nothing_is_known_is_empty() -> None:
    assert Reply() == Reply((), "", "", "unknown", None, (), Usage(), Served(), NOTHING)
