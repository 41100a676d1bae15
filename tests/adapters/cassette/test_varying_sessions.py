"""Sessions whose requests differ from the recorded ones, for clients of any kind, against a real server."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel._internal import VaryError
from toolreel.cassette import Session, StoredResponse, Vary, apply_rules_to_body
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import canonical

URL = "http://nowhere.invalid/v1/chat/completions"
REPLY = StoredResponse(200, "OK", (), b"{}")
WORDS = st.lists(st.sampled_from(["Now: 1", "Now: 22", "Hi", "id-7"]), min_size=1, max_size=3)
RULES = st.lists(
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

    with TemporaryDirectory() as folder:
        tape = Session(path := Path(folder) / "a.yaml", "record")
        tape.append("POST", URL, {}, body(was), REPLY)
        tape.save({})
        tape = Session(path, shared=rules)
        if apply_rules_to_body(body(was), rules)[0] == apply_rules_to_body(body(now), rules)[0]:
            tape.play("POST", URL, body(now))
            tape.finish()
            assert {rule for rule, count in tape.fits.items() if count} == {
                *apply_rules_to_body(body(now), rules)[1]
            }
        else:
            assert "is not in the recording" in complaint(
                ReplayMismatch, lambda: tape.play("POST", URL, body(now))
            )


@pytest.mark.parametrize("rule", [Vary(at="/messages/0/content"), Vary(at="/messages/0", pattern=".+")])
def test_a_rule_that_leaves_nothing_of_a_request_is_refused_at_the_end(rule: Vary, path: Path) -> None:
    def request(*words: str) -> bytes:
        return canonical({"messages": [{"role": "user", "content": word} for word in words]}).encode()

    tape = Session(path, "record", vary=[rule])
    tape.append("POST", URL, {}, request("Be brief.", "Hi"), REPLY)
    tape.finish()
    tape.save({})
    tape.append("POST", URL, {}, request("Hi"), REPLY)
    assert "would make every request the same" in complaint(VaryError, tape.finish)
    replayed = Session(path, vary=[rule])
    replayed.play("POST", URL, request("Be long.", "Hi"))
    replayed.finish()
