"""Sessions whose requests differ from the recorded ones, for clients of any kind, against a real server."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel.cassette import Recording, StoredResponse, Vary, apply_rules_to_body
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import canonical

WORDS: Final = st.lists(st.sampled_from(["Now: 1", "Now: 22", "Hi", "id-7"]), min_size=1, max_size=3)
RULES: Final = st.lists(
    st.sampled_from(
        [
            Vary(pattern=r"Now: \d+", becomes="Now: <time>"),
            Vary(at="/messages/0/content", pattern=r"\d+"),
            Vary(at="/messages/1", becomes="<any>"),
            Vary(at="/messages/2"),
        ]
    ),
    max_size=3,
    unique=True,
)


@given(was=WORDS, now=WORDS, rules=RULES)
def test_a_request_is_played_if_both_are_the_same_after_the_rules_and_only_then(
    was: list[str], now: list[str], rules: list[Vary]
) -> None:
    def body(words: list[str]) -> bytes:
        messages = [{"role": "user", "content": word} for word in [*words, "end"]]
        return canonical({"messages": messages}).encode()

    url = "http://nowhere.invalid/v1/chat/completions"
    with TemporaryDirectory() as folder:
        tape = Recording.blank(path := Path(folder) / "a.yaml")
        tape.append("POST", url, {}, body(was), StoredResponse(200, "OK", (), b"{}"))
        tape.save({})
        tape = Recording.load(path, shared=rules)
        if apply_rules_to_body(body(was), rules).body == apply_rules_to_body(body(now), rules).body:
            tape.play("POST", url, body(now))
            tape.finish()
            assert {rule for rule, count in tape.rules.fits.items() if count} == {
                *apply_rules_to_body(body(now), rules).used
            }
        else:
            assert "is not in the recording" in complaint(
                ReplayMismatch, lambda: tape.play("POST", url, body(now))
            )
