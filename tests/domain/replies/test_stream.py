from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import Delta, Stream, Usage, chat_deltas_in, deltas_of, unstreamed, usage_in

DONE = "data: [DONE]\n\n"
CUT: Json = {"code": "stream_cut", "message": "the stream ended before the reply was complete"}


def frame(tree: Json) -> str:
    return f"data: {canonical(tree)}\n\n"


def chunk(finish: Json = None, /, **delta: Json) -> str:
    """A frame with what is new of the reply."""
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "r-1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]})


def whole(*texts: str) -> dict[str, Any]:
    stream, _ = Stream().feed("".join(texts))
    return {**stream.whole()}


def failure(*texts: str) -> Json:
    return whole(*texts).get("error")


def shown(*texts: str) -> list[Delta]:
    stream, deltas = Stream().feed("".join(texts))
    return [*deltas, *stream.close()[1]]


def said(content: str, finish: str | None = "stop", **further: Json) -> dict[str, Json]:
    """The whole reply that is expected."""
    choice: Json = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return {"object": "chat.completion", "id": "r-1", "model": "m-1", **further, "choices": [choice]}


HELLO = (chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"))
USAGE: Json = {"prompt_tokens": 3, "completion_tokens": 2}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((*HELLO, chunk("stop"), DONE), id="as OpenAI does"),
        pytest.param((*HELLO, chunk("stop")), id="without a last word"),
        pytest.param((*HELLO, chunk("stop"), 'data: {"usa'), id="cut after the finish reason"),
        pytest.param(
            (*HELLO, chunk("stop"), chunk(""), chunk(None), DONE), id="with empty chunks at the end"
        ),
        pytest.param((": OPENROUTER PROCESSING\n\n", *HELLO, ":\n\n", chunk("stop"), DONE), id="kept alive"),
        pytest.param(("\ufeff\n\n", *HELLO, chunk("stop"), DONE), id="with a byte-order mark"),
        pytest.param((*HELLO, chunk("stop"), DONE, chunk(content="!")), id="and more after the last word"),
        pytest.param((*HELLO, chunk("stop").rstrip()), id="without a last line end"),
        pytest.param(
            (*(text.replace('"index":0,', "").replace("delta", "message") for text in HELLO), chunk("stop")),
            id="with messages for deltas and no index",
        ),
    ],
)
def test_a_stream_amounts_to_a_whole_reply(texts: tuple[str, ...]) -> None:
    assert whole(*texts) == said("Hello")
    assert "".join(delta.text for delta in shown(*texts)) == "Hello"


def test_a_last_word_without_a_finish_reason_is_enough() -> None:
    assert whole(*HELLO, DONE) == said("Hello", None)


def test_usage_comes_late_and_the_last_one_counts() -> None:
    early = frame({"choices": [], "usage": {"prompt_tokens": 1}})
    late = frame({"choices": [], "usage": USAGE, "provider": "P", "system_fingerprint": "f", "other": 1})
    nothing = frame({"choices": None, "usage": None, "x_groq": {"id": "r"}})
    assert whole(*HELLO, early, chunk("stop"), late, nothing, DONE) == said(
        "Hello", usage=USAGE, provider="P", system_fingerprint="f"
    )
    elsewhere: list[Json] = [
        {"choices": [{"index": 0, "delta": {}, "usage": USAGE}]},
        {"choices": [], "x_groq": {"usage": USAGE}},
    ]
    for counted in elsewhere:
        assert whole(*HELLO, chunk("stop"), frame(counted)) == said("Hello", usage=USAGE)


def test_the_finer_counts_of_a_stream_are_those_of_a_whole_reply() -> None:
    counts: Json = {
        "prompt_tokens": 9,
        "completion_tokens": 6,
        "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 1},
        "cost": 0,
    }
    streamed = whole(*HELLO, chunk("stop"), frame({"choices": [], "usage": counts}), DONE)
    assert usage_in(streamed) == Usage(9, 6, 0.0, 4, 5, 2, 1)


def test_tool_calls_are_put_together() -> None:
    first: Json = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": ""}}
    rest: Json = {"index": 0, "function": {"arguments": "{}"}}
    texts = (chunk(tool_calls=[first]), chunk(tool_calls=[rest]), chunk("tool_calls"), DONE)
    assert whole(*texts)["choices"][0] == {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "ping", "arguments": "{}"}}],
        },
        "finish_reason": "tool_calls",
    }
    assert shown(*texts) == [Delta("tool_call", "ping", 0, "a", "ping"), Delta("tool_call", "{}")]


@pytest.mark.parametrize(
    ("calls", "pieces"),
    [
        ([{"index": 3, "id": 7, "function": {"name": "a", "arguments": "{"}}], [(3, "7", "a"), (3, "7", "")]),
        ([{"index": "1", "function": {"arguments": "{}"}}], [(1, "", "")]),
        (
            [{"function": {"name": "a"}}, {"id": " b ", "function": {"name": "b"}}],
            [(0, "", "a"), (1, "b", "b")],
        ),
        ({"index": 2, "function": {"name": "a"}}, [(2, "", "a")]),
        ([{"index": 0}, "?", {"function": "?"}], []),
    ],
)
def test_each_piece_of_a_call_says_which_call_it_belongs_to(
    calls: Json, pieces: list[tuple[int, str, str]]
) -> None:
    said = shown(chunk(tool_calls=calls))
    assert [(delta.index, delta.call_id, delta.name) for delta in said] == pieces


def test_the_one_call_of_older_servers_is_the_first() -> None:
    assert shown(chunk(function_call={"name": "ping"})) == [Delta("tool_call", "ping", 0, "", "ping")]


def test_of_further_choices_only_their_calls_are_kept() -> None:
    """LiteLLM numbers choices by the content blocks of Claude: the text is 0, the call 1."""
    call: Json = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{}"}}
    other = frame({"choices": [{"index": 1, "delta": {"content": "Bye", "tool_calls": [call]}}]})
    kept = whole(*HELLO, other, chunk("tool_calls"))["choices"]
    assert kept[1]["message"]["tool_calls"] == [{"id": "a", "function": {"name": "ping", "arguments": "{}"}}]
    assert kept[1]["message"]["content"] is None


def test_only_the_first_choice_is_read_and_the_others_are_told() -> None:
    other = frame({"choices": [{"index": 1, "delta": {"content": "Bye"}, "finish_reason": "stop"}]})
    assert whole(*HELLO, other, other, chunk("stop"))["choices"][1:] == [{"index": 1}]
    assert failure(other) == CUT
    assert Delta("content", "Bye") not in shown(*HELLO, other)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (frame({"error": {"code": 502, "message": "Bad."}, "choices": []}), {"code": 502, "message": "Bad."}),
        (frame({"error": "overloaded"}), "overloaded"),
        (frame({"object": "error", "message": "No."}), {"object": "error", "message": "No."}),
        ('event: error\ndata: {"message":"No.","code":429}\n\n', {"message": "No.", "code": 429}),
        (frame({"detail": "No."}), {"detail": "No."}),
        (frame({"choices": [{"index": 0, "error": {"code": 429}, "finish_reason": "error"}]}), {"code": 429}),
        ('error: {"code": 500}\n\n', {"code": 500}),
    ],
)
def test_an_error_in_the_middle_ends_a_stream_and_keeps_what_was_said_before_it(
    text: str, error: Json
) -> None:
    stream, _ = Stream().feed("".join([*HELLO, text, chunk("stop")]))
    assert stream.done
    assert stream.whole() == {**said("Hello", None), "error": error}


def test_a_message_beside_choices_is_no_error() -> None:
    told = frame({"choices": [], "message": "Still thinking."})
    assert whole(*HELLO, told, chunk("stop")) == said("Hello")


def test_an_error_that_is_none_is_no_error() -> None:
    assert whole(*HELLO, frame({"error": None, "choices": [{"delta": {}, "finish_reason": "stop"}]})) == said(
        "Hello"
    )


def test_a_finish_of_error_is_left_to_whoever_judges_replies() -> None:
    assert whole(*HELLO, chunk("error"), DONE) == said("Hello", "error")


@pytest.mark.parametrize("finish", [None, "", " ", 3])
def test_a_stream_that_ends_before_its_end_was_cut(finish: Json) -> None:
    assert whole(*HELLO) == whole(*HELLO, chunk(finish)) == {**said("Hello", None), "error": CUT}


def test_a_stream_without_chunks_is_a_reply_without_choices() -> None:
    assert whole(": nothing\n\n", DONE) == {"object": "chat.completion", "choices": []}
    assert failure(": nothing\n\n") == CUT


HALVES = ("\\ud83d", "\\ude00")
BROKEN = 'data: {"choices":[{"delta":{"con\n\n'


def test_a_text_with_a_hole_goes_on_and_says_so() -> None:
    text = "".join([HELLO[0], BROKEN, *HELLO[1:], chunk("stop"), DONE])
    assert unstreamed(text) == (said("Hello"), ("STREAM_FRAME_LOST",))
    assert unstreamed("".join([*HELLO, chunk("stop"), BROKEN, DONE])) == (said("Hello"), ())


@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_tool_calls_with_a_hole_are_not_trusted(finish: str) -> None:
    called = chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{}"}}])
    texts = (called, BROKEN, chunk("stop")) if finish == "stop" else (BROKEN, chunk("tool_calls"))
    assert whole(*texts)["error"]["code"] == "stream_cut"


NOTHING_SAID = (
    ": alive\n\n",
    chunk(),
    chunk(role="assistant", content=""),
    frame({"usage": USAGE}),
    "data: ping\n\n",
)
SOMETHING_SAID = (
    chunk(content=" "),
    chunk(reasoning_content="So"),
    chunk(reasoning="So"),
    chunk(reasoning_details=[{"type": "reasoning.encrypted", "data": "abc"}]),
    chunk(refusal="No."),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": "{"}}]),
    chunk("stop"),
)


@pytest.mark.parametrize("text", NOTHING_SAID)
def test_what_keeps_a_connection_alive_is_no_progress(text: str) -> None:
    stream, deltas = Stream().feed(text)
    assert (stream.progress, deltas) == (0, ())


@pytest.mark.parametrize("text", SOMETHING_SAID)
def test_whatever_the_model_says_is_progress(text: str) -> None:
    assert Stream().feed(text)[0].progress == 1


@pytest.mark.parametrize(
    ("delta", "deltas"),
    [
        (
            {"reasoning": "a", "reasoning_content": "a", "content": "b"},
            [("reasoning", "a"), ("content", "b")],
        ),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": ""}, "b"]},
            [("content", "a")],
        ),
        ({"content": 3, "reasoning": {}, "tool_calls": "x"}, []),
        ({"tool_calls": [3, {"id": "a"}, {"function": {"name": "f"}}]}, [("tool_call", "f")]),
        ({"tool_calls": {"function": {"arguments": "{"}}}, [("tool_call", "{")]),
        ({"function_call": {"name": "f", "arguments": "{"}}, [("tool_call", "f"), ("tool_call", "{")]),
        ({"role": "assistant", "content": None, "tool_calls": None}, []),
    ],
)
def test_there_is_this_to_show_of_a_delta(delta: dict[str, Json], deltas: list[tuple[str, str]]) -> None:
    assert [(found.kind, found.text) for found in deltas_of(delta)] == deltas


@pytest.mark.parametrize(
    "body", ["", "x", "[]", "{}", '{"choices":[]}', '{"choices":[{}]}', '{"choices":"x"}']
)
def test_there_is_nothing_to_show_of_what_is_no_reply(body: str) -> None:
    assert chat_deltas_in(body, whole=True) == ()


def test_there_is_this_to_show_of_a_body() -> None:
    hello = [Delta("content", "Hel"), Delta("content", "lo")]
    stream = "".join(HELLO).rstrip()
    assert [*chat_deltas_in(stream, whole=True)] == [*chat_deltas_in(stream, whole=False)] == hello
    body = canonical(said("Hello"))
    assert chat_deltas_in(body, whole=True) == (Delta("content", "Hello"),)
    assert chat_deltas_in(body, whole=False) == ()


@pytest.mark.parametrize("body", ["", "{}", '{"data:":1}', "<html>data: x", "dat", "database: x", "\n\n{}"])
def test_a_body_that_is_no_stream_stays_as_it_is(body: str) -> None:
    assert unstreamed(body) == (body, ())
    stream, deltas = Stream().feed(body + "\n\n{}")
    assert stream.feed(HELLO[1])[1] == deltas == ()


@pytest.mark.parametrize(
    "beginning", ["data:", "event: message\n", "id:7\n", "retry: 1\n", ": hi\n", "\r\n\n: hi\n"]
)
def test_a_stream_is_known_by_its_first_line(beginning: str) -> None:
    stream = Stream()
    for letter in beginning:
        assert stream.streamed is None
        stream, _ = stream.feed(letter)
        if stream.streamed:
            break
    assert stream.streamed


PARTS = st.sampled_from(
    [
        *HELLO,
        *NOTHING_SAID,
        *SOMETHING_SAID,
        BROKEN,
        DONE,
        chunk(content="é🙂\u2028"),
        frame({"error": "Bad."}),
    ]
)


@given(st.lists(PARTS), st.booleans(), st.data())
def test_it_does_not_matter_in_which_pieces_a_stream_comes(
    parts: list[str], windows: bool, data: st.DataObject
) -> None:
    text = "".join(parts).replace("\n", "\r\n" if windows else "\n")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    stream, deltas = Stream(), list[Delta]()
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        stream, more = stream.feed(text[start:stop])
        deltas += more
    assert stream.whole() == whole(text)
    assert [*deltas, *stream.close()[1]] == shown(text)


@given(st.lists(st.text(min_size=1), max_size=4), st.data())
def test_a_cut_stream_is_never_a_whole_reply(texts: list[str], data: st.DataObject) -> None:
    """Unless the finish reason had come: what is cut off after it is usage and the last word."""
    before = "".join(chunk(content=text) for text in texts)
    text = before + chunk("stop") + frame({"choices": [], "usage": USAGE}) + DONE
    end = len(before + chunk("stop").rstrip())
    at = data.draw(st.integers(len("data:"), len(text)))
    assert (failure(text[:at]) == CUT) is (at < end)
    if at >= end:
        assert whole(text[:at])["choices"] == whole(text)["choices"]


@pytest.mark.parametrize("index", [0, "0", None])
def test_the_first_choice_may_have_its_index_as_text_or_none(index: Json) -> None:
    choice: Json = {"index": index, "delta": {"content": "Hi"}, "finish_reason": "stop"}
    assert whole(frame({"choices": [choice]}))["choices"][0]["message"]["content"] == "Hi"


def test_old_completions_stream_their_text_beside_no_delta() -> None:
    texts = [frame({"choices": [{"index": 0, "text": text}]}) for text in ("Hel", "lo")]
    assert whole(*texts, DONE)["choices"][0]["message"]["content"] == "Hello"
    assert shown(*texts) == [Delta("content", "Hel"), Delta("content", "lo")]


def test_a_surrogate_pair_that_two_frames_share_is_whole_in_the_end_and_shown_as_sound_text() -> None:
    first, second = (f'data: {{"choices":[{{"delta":{{"content":"{half}"}}}}]}}\n\n' for half in HALVES)
    content = whole(first, second, DONE)["choices"][0]["message"]["content"]
    assert json.loads(json.dumps(content)) == "\U0001f600"
    assert shown(first, second) == [Delta("content", "\ufffd")] * 2
    parts = frame({"choices": [{"delta": {"content": [{"type": "text", "text": "PART"}]}}]})
    assert shown(parts.replace("PART", HALVES[0])) == [Delta("content", "\ufffd")]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_what_was_shown_is_what_was_said(texts: list[str]) -> None:
    stream = "".join(chunk(content=text) for text in texts) + chunk("stop")
    content = whole(stream)["choices"][0]["message"]["content"]
    assert "".join(delta.text for delta in shown(stream)) == content == json.loads(json.dumps("".join(texts)))


PING: dict[str, Json] = {"id": "a", "function": {"name": "ping", "arguments": '{"n": 1}'}}
OTHER: dict[str, Json] = {"id": "a", "function": {"name": "ping", "arguments": '{"n": 2}'}}


def choice(**fields: Json) -> str:
    return frame({"choices": [{"index": 0, **fields}]})


def calls_of(*texts: str) -> list[Json]:
    listed: list[Json] = whole(*texts, DONE)["choices"][0]["message"]["tool_calls"]
    return listed


@pytest.mark.parametrize("beside", [{}, {"delta": {}}])
@pytest.mark.parametrize(
    ("spelled", "message", "meant"),
    [
        ("Hello", "Hello", "Hello"),
        ("Hello", " He llo\n", "Hello"),
        ("<think>So.</think>Hello", "Hello", "<think>So.</think>Hello"),
        ("Hel", "Hello", "Hello"),
        ("", "Hello", "Hello"),
        ("Hello", "", "Hello"),
        ("Hello", [{"type": "text", "text": "Hello"}], "Hello"),
    ],
)
def test_a_whole_message_after_deltas_is_not_said_twice(
    beside: dict[str, Json], spelled: str, message: Json, meant: Json
) -> None:
    texts = (chunk(content=spelled, role="assistant"), choice(**beside, message={"content": message}), DONE)
    assert whole(*texts)["choices"][0]["message"]["content"] == meant
    assert [delta.text for delta in shown(*texts)] == [spelled or meant]


def test_a_message_beside_each_delta_holds_all_so_far() -> None:
    texts = [
        choice(delta={"content": piece}, message={"content": so_far})
        for piece, so_far in (("Hel", "Hel"), ("lo", "Hello"))
    ]
    assert whole(*texts, DONE)["choices"][0]["message"]["content"] == "Hello"
    assert [delta.text for delta in shown(*texts, DONE)] == ["Hel", "lo"]


def test_a_stream_may_have_nothing_but_a_message_beside_an_empty_delta() -> None:
    text = choice(delta={}, message={"content": "Hello", "tool_calls": [PING]})
    assert whole(text, DONE)["choices"][0]["message"]["content"] == "Hello"
    assert calls_of(text) == [PING]


@pytest.mark.parametrize("again", [PING, {**PING, "id": "b"}, {"function": PING["function"]}])
def test_calls_in_a_whole_message_run_once(again: Json) -> None:
    assert calls_of(chunk(tool_calls=[PING]), choice(message={"tool_calls": [again]})) == [PING]


def test_of_equal_calls_each_is_the_one_with_its_id() -> None:
    pings = [{**PING, "id": "a"}, {**PING, "id": "b"}]
    texts = (chunk(tool_calls=[{**ping, "index": at}]) for at, ping in enumerate(pings))
    assert calls_of(*texts, choice(message={"tool_calls": pings[::-1]})) == pings


@pytest.mark.parametrize("other", [OTHER, {**OTHER, "id": "b"}])
def test_a_whole_message_with_another_call_is_told(other: Json) -> None:
    found = calls_of(chunk(tool_calls=[PING]), choice(message={"tool_calls": [other]}))
    assert found == [{"id": "a", "function": {"name": "ping", "arguments": '{"n": 1}{"n": 2}'}}]


def test_a_whole_message_has_the_calls_that_no_delta_began() -> None:
    more: Json = {"id": "b", "function": {"name": "read", "arguments": "{}"}}
    message: Json = {"tool_calls": [PING, more, "odd", "odd"]}
    assert calls_of(chunk(tool_calls=[PING]), choice(message=message)) == [PING, "odd", more]


def test_the_legacy_call_of_a_whole_message_runs_once() -> None:
    call: Json = {"name": "ping", "arguments": "{}"}
    for message in ({"function_call": call}, {"function_call": None}):
        found = whole(chunk(function_call=call), choice(message=message), DONE)
        assert found["choices"][0]["message"]["function_call"] == call


def test_calls_beside_the_deltas_are_read_and_said_to_be_there() -> None:
    head: Json = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": "{"}}
    rest: Json = {"index": 0, "function": {"arguments": "}"}}
    for texts in (
        (choice(delta={}, tool_calls=[head]), choice(delta={"tool_calls": []}, tool_calls=[rest])),
        (frame({"choices": [], "tool_calls": [head]}), frame({"tool_calls": [rest]})),
        (choice(delta={"content": "Hi"}, tool_calls=[head]), chunk(tool_calls=[rest])),
    ):
        found = whole(*texts, chunk("tool_calls"), DONE)["choices"][0]
        assert found["tool_calls"] == [{"id": "a", "function": {"name": "ping", "arguments": "{}"}}]
        assert "tool_calls" not in found["message"]
        assert [delta.text for delta in shown(*texts) if delta.kind == "tool_call"] == ["ping", "{", "}"]


def test_calls_that_are_said_again_beside_a_delta_run_once() -> None:
    again: Json = {"function": {"name": "ping", "arguments": {"n": 1}}}
    for text in (choice(delta={}, tool_calls=[again]), frame({"choices": [], "tool_calls": [again]})):
        assert calls_of(chunk(tool_calls=[PING]), text) == [PING]
    assert calls_of(choice(delta={"tool_calls": [PING]}, tool_calls=[again])) == [PING]
