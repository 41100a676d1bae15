from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from toolreel.digest import chain
from toolreel.messages import AssistantMessage, Message, SentCall, ToolMessage, UserMessage, wire
from toolreel.projection import project
from toolreel.transcript import Transcript

conversations = st.lists(strategies.messages, max_size=4)


def test_an_empty_transcript_says_nothing() -> None:
    empty = Transcript.of()
    assert (list(empty.messages), list(empty.texts), empty.chain, empty.size) == ([], [], "", 0)


@given(conversations, conversations)
def test_appending_leads_to_the_transcript_of_the_whole(first: list[Message], rest: list[Message]) -> None:
    assert Transcript.of(first).append(*rest) == Transcript.of([*first, *rest])


@given(conversations)
def test_a_transcript_holds_each_message_and_the_texts_that_go_out(messages: list[Message]) -> None:
    texts = [wire(message) for message in project(messages)]
    transcript = Transcript.of(iter(messages)).complete()
    assert list(transcript.messages) == messages
    assert list(transcript.texts) == texts
    assert transcript.chain == chain("", *texts)
    assert transcript.size == len("".join(texts).encode())


def test_the_size_is_counted_in_bytes_of_utf_8() -> None:
    assert Transcript.of([UserMessage("é😀")]).size == len('{"role":"user","content":""}') + 2 + 4


def test_appending_leaves_the_transcript_before_as_it_was() -> None:
    before = Transcript.of([UserMessage("hi")])
    before.append(UserMessage("more"))
    assert before == Transcript.of([UserMessage("hi")])


@given(conversations, conversations)
def test_two_transcripts_share_a_chain_only_if_they_say_the_same(
    one: list[Message], other: list[Message]
) -> None:
    said = [Transcript.of(messages).complete() for messages in (one, other)]
    assert (said[0].chain == said[1].chain) == (project(one) == project(other))


def test_a_transcript_in_which_every_call_has_its_result_is_complete_as_it_is() -> None:
    asked = Transcript.of([UserMessage("hi"), AssistantMessage("", (SentCall("a", "ping", "{}"),))])
    answered = asked.append(ToolMessage("a", "{}"))
    assert answered.complete() is answered
    assert len(asked.complete().texts) == len(asked.texts) + 1
