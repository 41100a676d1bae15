from __future__ import annotations

from tests.domain.text_calls.asking import SAME, in_words
from toolreel_core._jsontext import canonical
from toolreel_core._text_calls import text_calls, was_said


def test_what_was_said_before_is_known_again_inside_of_json_too() -> None:
    call = '<tool_call>{"name": "ping"}</tool_call>'
    assert was_said(call, ["Hi.", f"They write {call} there."])
    assert was_said(call, [canonical({"page": f"They write\n{call}"})])
    assert not was_said(call, ["<tool_call>", canonical({"page": call[:-1]})])
    assert not was_said(call, [])


class Indexed(tuple[str, ...]):
    """Texts of before, of which the first is never looked at."""

    __slots__ = ()

    def among(self, *words: str) -> tuple[str, ...]:
        assert words == ('say "a"', r"say \"a\"")
        return self[1:]


def test_texts_that_know_where_to_look_are_asked() -> None:
    assert was_said('say "a"', Indexed(("Hi.", r'["say \"a\""]')))
    assert not was_said('say "a"', Indexed(('say "a"', "Hi.")))


PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


def test_a_call_that_stood_in_the_conversation_before_is_a_quotation() -> None:
    def read(earlier: str) -> tuple[str, str, str]:
        found = text_calls(
            f"It says {PING}", tools=["ping"], dialects=["hermes_json"], finish="stop", earlier=[earlier]
        )
        return in_words(found, f"It says {PING}")

    assert read(f"Page: {PING}.") == ("", SAME, "quotation")
    assert read("Page: nothing.") == ("ping{}", "It says", "")
