from __future__ import annotations

import pytest

from toolreel_core._text_calls import is_in_a_sentence, lead_in, shows_an_example


@pytest.mark.parametrize(
    ("lead", "kind"),
    [
        ("", "announced"),
        ("I'll call the tool:", "announced"),
        ("Let me check the weather:", "announced"),
        ("Sure.", "announced"),
        ("Plan: look it up.", "announced"),
        ("Tool call:", "announced"),
        ("**Action:**", "announced"),
        ("Calling it now:", "announced"),
        ("Let me fix the invalid request:", "announced"),
        ("An example was wrong. I look again:", "announced"),
        ("Ich rufe es auf:", "announced"),
        ("我来查询：", "announced"),
        ("Example:", "shown"),
        ("**Example:**", "shown"),
        ("Rejected request:", "shown"),
        ("I'll show an example:", "shown"),
        ("Usage:", "shown"),
        ("Respond in this format.", "shown"),
        ("Never send this.", "shown"),
        ("Zum Beispiel:", "shown"),
        ("例如：", "shown"),
        ("The request:", "unclear"),
        ("Anfrage:", "unclear"),
    ],
)
def test_words_before_a_call_announce_it_or_show_it(lead: str, kind: str) -> None:
    assert lead_in(lead) == kind


@pytest.mark.parametrize(
    ("before", "shows"),
    [
        ("Here is an example,\n", True),
        ("ONLY reply in the following format:\\n\\n", True),
        ("Rejected request: ", True),
        ("An example follows.\n", False),
        ("I'll look:\n", False),
        ("The request:\n", False),
        ("", False),
    ],
)
def test_a_label_makes_a_marked_call_an_example(before: str, shows: bool) -> None:
    assert shows_an_example(before) is shows


@pytest.mark.parametrize(
    ("before", "behind", "within"),
    [
        ("You would write", "to get it", True),
        ("The model (which sent", ") was stopped then.", True),
        ("", "is the call that one sends", True),
        ("", ", and it said sunny", True),
        ("First:", "and then so on", False),
        ("Let me see it now", "", False),
        ("Some `code` and", "", False),
        ("", "Then I look further.", False),
        ("", "and <tool_call> more words here", False),
    ],
)
def test_a_sentence_goes_on_around_a_call(before: str, behind: str, within: bool) -> None:
    assert is_in_a_sentence(before, behind) is within
