from __future__ import annotations

import pytest

from toolreel_core._text_calls import lead_in, shows_an_example


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
