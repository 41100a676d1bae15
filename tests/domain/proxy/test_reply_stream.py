"""A streamed reply says the same as one that is not, and says it as early as it can."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.proxy.asked import HEAD, asked, call, choices_of, said, whole
from tests.samples import corpus_rows, worked
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._proxy import HeldText, Profile, Repaired, ReplyStream
from toolreel_core._replies import joined_message
from toolreel_core._text_calls import BARE, MARKED


def frame(delta: Json, finish: Json = None, **further: Json) -> str:
    tree = {"id": "gen-1", "created": 7, "model": "m-2", **further}
    return (
        f"data: {canonical({**tree, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"
    )


END = frame({}, "stop") + "data: [DONE]\n\n"


def streamed(
    body: list[str], request: ClientRequest | None = None, profile: Profile | None = None
) -> tuple[list[Tree], list[Tree], Repaired]:
    """The chunks that passed at once, those at the end, and the whole."""
    stream, early = ReplyStream(request or asked(), profile or Profile(), HEAD), list[Tree]()
    for piece in body:
        early += stream.feed(piece)
    late, reply = stream.close()
    return early, [*late], reply


def first(chunk: Tree) -> dict[str, Any]:
    choices: Any = chunk["choices"]
    return dict(choices[0])


def deltas(chunks: list[Tree]) -> list[Any]:
    return [first(chunk)["delta"] for chunk in chunks if chunk["choices"]]


def test_text_and_reasoning_pass_at_once() -> None:
    early, late, reply = streamed(
        [frame({"reasoning": "Hm."}), frame({"content": "Fo"}), frame({"content": "ur."}), END]
    )
    assert deltas(early) == [
        {"role": "assistant", "reasoning_content": "Hm."},
        {"role": "assistant", "content": "Fo"},
        {"role": "assistant", "content": "ur."},
    ]
    assert deltas(late) == [{"role": "assistant"}]
    assert first(late[0])["finish_reason"] == "stop"
    assert {key: early[0][key] for key in ("id", "created", "model", "object")} == {
        "id": "gen-1",
        "created": 7,
        "model": "m-2",
        "object": "chat.completion.chunk",
    }
    assert reply.repairs == ()


def test_calls_wait_until_they_are_whole() -> None:
    pieces = [
        frame({"content": "Looking."}),
        frame({"tool_calls": [{"index": 0, "function": {"name": "stock", "arguments": '{"part": "p'}}]}),
        frame({"tool_calls": [{"index": 0, "function": {"arguments": 'in",}'}}]}, "tool_calls"),
    ]
    early, late, reply = streamed(pieces)
    assert [delta.get("content") for delta in deltas(early)] == ["Looking."]
    made: Any = joined_message(deltas(late))["tool_calls"]
    assert made == [call("stock", '{"part":"pin"}', id="call_1_0")]
    assert set(reply.repairs) == {"CALL_ID_MISSING", "ARGUMENTS_REPAIRED"}


def test_an_answer_that_was_not_streamed_is_told_in_chunks() -> None:
    body = whole(
        {"content": "Four.", "reasoning_content": "Hm.", "audio": {"id": "a"}}, usage={"prompt_tokens": 2}
    )
    request = asked(stream=True, stream_options={"include_usage": True})
    early, late, _ = streamed([body[:9], body[9:]], request)
    assert early == []
    assert deltas(late) == [
        {"role": "assistant", "reasoning_content": "Hm."},
        {"role": "assistant", "content": "Four.", "audio": {"id": "a"}},
        {"role": "assistant"},
    ]
    assert late[-1]["usage"] == {"prompt_tokens": 2, "completion_tokens": 0, "total_tokens": 2}
    assert late[0]["id"] == HEAD.id


def test_a_stream_that_is_cut_has_a_problem_and_no_end() -> None:
    early, late, reply = streamed([frame({"content": "Fo"})])
    assert deltas(early) == [{"role": "assistant", "content": "Fo"}]
    assert late == []
    assert reply.problem is not None


def test_text_that_passed_before_a_thought_ended_is_noticed() -> None:
    early, late, reply = streamed([frame({"content": "hmm\n"}), frame({"content": "</think>\nFour."}), END])
    assert deltas(early) == [{"role": "assistant", "content": "hmm"}]
    assert "TEXT_SENT_BEFORE" in reply.noticed
    assert [delta.get("content") for delta in deltas(late)] == [None, None]


def test_another_reply_goes_on_after_what_has_passed() -> None:
    stream = ReplyStream(asked(), Profile(), HEAD)
    stream.feed(frame({"content": "Well. "}))
    assert stream.opened
    assert stream.stream.progress == 1
    stream.restart()
    stream.feed(frame({"content": "Well. Four."}) + END)
    assert stream.stream.done
    assert stream.body.endswith(END)


ROWS = corpus_rows("text-calls")
THOUGHT_WITHOUT_OPENER = {"mc5-03-think"}
"""Text passes that a closing tag far behind it makes a thought."""


@pytest.mark.parametrize("size", [2, 10_000])
def test_every_dialect_says_the_same_streamed(size: int) -> None:
    for row in ROWS:
        if row["id"] in THOUGHT_WITHOUT_OPENER:
            continue
        tools = tuple(
            {
                "type": "function",
                "function": {
                    "name": name,
                    "parameters": row.get("schemas", {}).get(name, {"type": "object"}),
                },
            }
            for name in row["tools"]
        )
        request = asked(tools=tools)
        profile = Profile.of(settings={"text_dialects": row["enable"]} if row["tier"] == "bare" else {})
        text = row["content"]
        pieces = [frame({"content": text[at : at + size]}) for at in range(0, len(text), size)]
        early, late, reply = streamed(
            [*pieces, frame({}, row["finish"]), "data: [DONE]\n\n"], request, profile
        )
        if reply.problem:
            continue
        want = choices_of(said(whole({"content": text}, row["finish"]), request, profile))[0]["message"]
        made: Any = joined_message(deltas([*early, *late]))
        assert (made["content"] or "").strip() == (want["content"] or "").strip(), row["id"]
        assert made.get("tool_calls") == want.get("tool_calls"), row["id"]


@given(st.lists(st.text('da:t {}[]"\\n<>/choicesdeltacontent\n', max_size=40), max_size=8))
def test_no_stream_raises(pieces: list[str]) -> None:
    streamed(["data: ", *pieces])


def shown(text: str, dialects: tuple[str, ...] = MARKED, size: int = 1) -> str:
    """What has passed of a text that comes in pieces."""
    held, passed = HeldText(dialects, ("stock",)), ""
    for at in range(0, len(text), size):
        passed += held.feed(text[at : at + size])
    return passed


def test_everything_passes_where_no_call_is_read() -> None:
    assert shown("\n<tool_call> ", ()) == "\n<tool_call> "


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(("text", "passed"), worked("text passes up to the first sign of a call", "requests"))
def test_text_passes_up_to_the_first_sign_of_a_call(text: str, passed: str, size: int) -> None:
    assert shown(text, size=size) == passed


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize(
    ("text", "passed"), worked("bare dialects hold what may be a whole call", "requests")
)
def test_bare_dialects_hold_what_may_be_a_whole_call(text: str, passed: str, size: int) -> None:
    assert shown(text, BARE, size) == passed


def test_a_sign_that_leads_to_nothing_passes_after_a_while() -> None:
    assert shown("<x " + "y" * 200) == "<x " + "y" * 200


def test_blanks_take_linear_time() -> None:
    held = HeldText(MARKED)
    before = time.process_time()
    for _ in range(20_000):
        # Copying them with each piece would take 20,000 * 100 kB = 2 GB.
        assert held.feed("          ") == ""
    assert time.process_time() - before < 30
