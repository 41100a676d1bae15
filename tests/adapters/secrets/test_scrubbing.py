from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adapters.secrets.stream_forms import FORMS
from toolreel._secrets import (
    RunningBodyScrub,
    RunningScrub,
    encoded_spellings,
    scrubbed,
    scrubbed_body,
    secrets_to_scrub,
)

keys = st.text("abc-_/+=", min_size=8, max_size=20)


@given(key=keys, before=st.text("abc- "), after=st.text("abc- "), data=st.data())
def test_no_spelling_of_a_secret_is_left(key: str, before: str, after: str, data: st.DataObject) -> None:
    written = data.draw(st.sampled_from(encoded_spellings(key)))
    shown = scrubbed(f"{before}{written}{after}", {"K": key})
    assert "[value of K]" in shown
    assert not any(spelling in shown for spelling in encoded_spellings(key))


@given(
    key=keys, texts=st.lists(st.text("abc- "), max_size=3), cuts=st.lists(st.integers(0, 99)), data=st.data()
)
def test_a_text_in_pieces_never_shows_a_secret_and_loses_nothing_else(
    key: str, texts: list[str], cuts: list[int], data: st.DataObject
) -> None:
    written = data.draw(st.sampled_from(encoded_spellings(key)))
    text = written.join(texts)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    scrub = RunningScrub({"K": key})
    shown = [scrub.feed(text[start:end]) for start, end in pairwise(places)] + [scrub.close()]
    assert not any(spelling in "".join(shown) for spelling in encoded_spellings(key))
    rest = "".join(shown).replace("[value of K]", "")
    assert len(rest) <= len(text)
    assert rest == text or "[value of K]" in "".join(shown)


WORDS = ["authorization", "the header x-api-key", "x-api-key", "[value of K]", "value of", "secret"]


@given(
    known=st.dictionaries(st.sampled_from([*WORDS, "K"]), st.sampled_from(WORDS), min_size=1),
    texts=st.lists(st.sampled_from([*WORDS, "x-api", "-key", " "]), min_size=1, max_size=4),
    form=st.sampled_from([*FORMS.values()]),
)
@example({"the header x-api-key": "x-api-key"}, ["x-api-key"], FORMS["chat completions"])
@example({"A": "authorization", "the header authorization": "x-api-key"}, ["x-api-key"], FORMS["Ollama"])
def test_no_mask_holds_a_secret(
    known: dict[str, str], texts: list[str], form: Callable[[list[str]], str]
) -> None:
    """Not even that of another one: it would be masked again, and again."""
    for scrub, text in ((scrubbed, " ".join(texts)), (scrubbed_body, form(texts))):
        shown = scrub(text, known)
        assert not any(secret in shown for secret in known.values())
        assert scrub(shown, known) == shown


@pytest.mark.parametrize(
    "known", [{"A": "plainkey", "B": "plainkey-2"}, {"B": "plainkey-2", "A": "plainkey"}]
)
def test_nothing_is_left_of_a_secret_that_begins_with_another(known: dict[str, str]) -> None:
    assert scrubbed("It is plainkey-2.", known) == "It is [value of B]."


def test_a_text_without_a_secret_comes_at_once() -> None:
    scrub = RunningScrub({"K": "zzzzzzzz"})
    assert scrub.feed("It is a draft.") == "It is a draft."
    assert scrub.close() == ""


def test_what_the_rules_allow_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('allow = ["plain*"]')
    monkeypatch.setenv("TOOLREEL_SECRETS", str(tmp_path / "rules.toml"))
    assert secrets_to_scrub({"A": "plainkey", "B": "otherkey"}) == {"B": "otherkey"}


@pytest.mark.parametrize(
    "last",
    [
        "data: [DONE]\n\n",
        'data: {"type":"message_stop"}\n\n',
        'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r-ed"}}\n\n',
    ],
)
def test_the_end_of_a_stream_is_not_held_back(last: str) -> None:
    """Some servers keep the connection open after it."""
    for key in ("plainkey12", "dullkey12", "ellenkey12", "]-key-12345"):
        scrub = RunningBodyScrub({"K": key})
        begun = 'data: {"delta":{"content":"an end, a p, d, e or ]"}}\n\n'
        assert scrub.feed(begun) + scrub.feed(last) == begun + last
