from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    Passage,
    SentCall,
    SystemMessage,
    ToolMessage,
    Turn,
    UserMessage,
    as_task,
    is_question,
    is_summary,
    keep_newest_turns,
    parted,
    passages,
    request_text,
    summary_message,
    turns,
)
from toolreel_core._jsontext import Json

HI, AGAIN, SAID = UserMessage("hi"), UserMessage("Once more."), AssistantMessage("Hello.")
EARLIER = summary_message("They met.")
CALLED = (AssistantMessage("", (SentCall("a", "ping", "{}"),)), ToolMessage("a", "pong"))
MUCH = 10**9


def one_each(_: Message) -> int:
    return 1


def flat(some: tuple[Turn, ...]) -> list[Message]:
    return [message for turn in some for message in turn.messages]


def test_a_summary_is_a_message_of_its_own_kind() -> None:
    assert is_summary(EARLIER)
    assert EARLIER.content.endswith("\n\nThey met.")
    assert [is_question(message) for message in (HI, EARLIER, SAID)] == [True, False, False]
    assert [is_summary(message) for message in (HI, SAID, AssistantMessage(EARLIER.content))] == [False] * 3


def test_a_summary_is_kept_by_the_other_policies_and_is_no_question() -> None:
    history = turns([HI, EARLIER, *CALLED, AGAIN, SAID, AGAIN])
    assert [turn.pinned for turn in history] == [True, True, False, False, False, False]
    assert flat(keep_newest_turns(history, MUCH, one_each)) == [HI, EARLIER, AGAIN]
    # The calls after a summary are no answers to it, so they need not go where one of them goes.
    work = turns([HI, EARLIER, *CALLED, *CALLED, *CALLED])
    assert flat(keep_newest_turns(work, 2, one_each)) == [HI, EARLIER, *CALLED, *CALLED]


def test_a_summary_stands_for_what_the_newest_turns_leave_and_for_the_summary_before() -> None:
    rules = SystemMessage("Be brief.")
    history = turns([rules, HI, EARLIER, SAID, rules, AGAIN, *CALLED, AGAIN, SAID, AGAIN])
    some = parted(history, 3, one_each)
    assert flat(some.before) == [rules, HI]
    assert flat(some.old) == [EARLIER, SAID, AGAIN, *CALLED]
    assert flat(some.after) == [rules, AGAIN, SAID, AGAIN]
    nothing = parted(history, 0, one_each)
    assert (nothing.before, nothing.old, nothing.after) == (history, (), ())


def test_messages_are_quoted_as_they_were_sent() -> None:
    call: Json = {"id": "a", "function": {"name": "ping", "arguments": '{"n":1}'}}
    sent: list[dict[str, Json]] = [
        {"role": "user", "content": EARLIER.content},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image_url"}, 7]},
        {"role": "assistant", "content": "I ping.", "tool_calls": [call, None]},
        {"role": "tool", "tool_call_id": "a", "content": "pong"},
        {"role": "tool", "tool_call_id": 7, "content": {"a": 1}},
        {"role": "assistant", "content": None},
    ]
    assert passages(sent) == (
        Passage("Earlier summary:", "They met."),
        Passage("User:", "Look:\n[image_url]\n7"),
        Passage("Assistant:", "I ping."),
        Passage("Assistant calls ping:", '{"n":1}'),
        Passage("Assistant calls :", ""),
        Passage("Result of ping:", "pong"),
        Passage("Result of a call:", '{"a":1}'),
    )


def test_the_request_quotes_the_task_first_and_says_how_long_the_summary_may_be() -> None:
    text = request_text(as_task([Passage("User:", "hi")]), [Passage("Assistant:", "a\nb")], 99, 50)
    assert "in at most 50 words." in text
    assert text.endswith(
        "so the summary need not repeat it:\n> hi\n\nAssistant:\n> a\n> b\n\n"
        "End of the quotation. Write the summary now."
    )


def test_a_long_passage_is_cut_in_its_middle() -> None:
    assert Passage("User:", "abcdefghij").cut(10) == "User:\n> abcdefghij"
    assert Passage("User:", "abcdefghij").cut(5) == "User:\n> abc\n> [5 characters left out]\n> ij"
    assert Passage("User:", "").cut(5) == "User:\n> "


@given(
    st.text(st.characters() | st.sampled_from("\r\n\x0b\x1c\x85\u2028> "), max_size=40), st.integers(1, 60)
)
def test_nothing_in_a_passage_ends_the_quotation(text: str, length: int) -> None:
    heading, *lines = Passage("User:", text).cut(length).splitlines()
    assert heading == "User:"
    assert lines
    assert all(line.startswith("> ") for line in lines)
