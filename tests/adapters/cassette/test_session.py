"""The modes of a session: replay, record, auto and extend, for clients of any kind."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.adapters.cassette.clients import Send, by_httpx, each_client
from tests.samples import complaint
from tests.servers.chat_server import Answer, replying, serving
from toolreel._internal import CassetteError
from toolreel.cassette import MODES, Mode, Session, StoredResponse, use_cassette
from toolreel.testing import saying
from toolreel_core._errors import ReplayMismatch

SK_KEY = "sk-" + "abcdefghij0123456789"
NOWHERE = "http://elsewhere.invalid"


def answers(*words: str) -> tuple[Answer, ...]:
    return tuple(replying(saying(word)) for word in words)


def body(question: str) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": question}]}


def asked_by(send: Send, session: Session, url: str, questions: tuple[str, ...]) -> list[str]:
    return send(session, url, [body(question) for question in questions])


ask = partial(asked_by, by_httpx)


def recorded(path: Path, *questions: str) -> str:
    replies = answers(*(f"{question}!" for question in questions))
    with serving(*replies) as server, use_cassette(path, "record") as session:
        ask(session, server.url, questions)
    return path.read_text()


@each_client
def test_a_session_is_recorded_once_and_replayed_from_then_on(send: Send, path: Path) -> None:
    for _ in range(2):
        live = answers("one", "two")[: 0 if path.exists() else 2]
        with serving(*live) as server, use_cassette(path, mode="auto") as session:
            assert asked_by(send, session, server.url, ("a", "b")) == ["one", "two"]
    with use_cassette(path) as session:
        assert asked_by(send, session, NOWHERE, ("a", "b")) == ["one", "two"]


def test_a_replay_asks_nobody_and_wants_all_that_was_recorded(path: Path) -> None:
    recorded(path, "a", "b")

    def less() -> None:
        with use_cassette(path) as session:
            ask(session, NOWHERE, ("a",))

    def other() -> None:
        with use_cassette(path, "auto") as session:
            ask(session, NOWHERE, ("z",))

    assert "interaction 2 of 2: POST /chat/completions" in complaint(ReplayMismatch, less)
    assert 'recorded: "a"\n  request:  "z"' in complaint(ReplayMismatch, other)
    path.unlink()
    assert complaint(CassetteError, lambda: Session(path)).endswith("no such cassette: record it first")


@pytest.mark.parametrize("mode", ["record", "extend"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_session_that_failed_leaves_the_old_file_as_it_was(
    mode: Mode, failure: type[BaseException], path: Path
) -> None:
    before = recorded(path, "a")

    def fail(url: str) -> None:
        with use_cassette(path, mode) as session:
            ask(session, url, ("a", "b"))
            raise failure

    with serving(*answers("one", "two")[MODES.index(mode) // 2 :]) as server, pytest.raises(failure):
        fail(server.url)
    assert [path.read_text(), *path.parent.iterdir()] == [before, path]


@pytest.mark.parametrize("mode", ["record", "auto", "extend"])
def test_a_session_that_failed_leaves_no_file_where_there_was_none(mode: Mode, path: Path) -> None:
    def fail(url: str) -> None:
        with use_cassette(path, mode) as session:
            ask(session, url, ("a",))
            raise ValueError

    with serving(*answers("one")) as server, pytest.raises(ValueError):  # noqa: PT011 - it is the test's own
        fail(server.url)
    assert [*path.parent.iterdir()] == []


@each_client
def test_a_session_goes_on_live_where_its_recording_ends(send: Send, path: Path) -> None:
    before = recorded(path, "a", "b")
    with serving(*answers("three", "four")) as server, use_cassette(path, "extend") as session:
        assert asked_by(send, session, server.url, ("a", "b", "c", "d")) == ["a!", "b!", "three", "four"]
        assert len(server.seen) == 2
    assert path.read_text().startswith(before.removesuffix("...\n"))
    with use_cassette(path) as session:
        assert asked_by(send, session, NOWHERE, ("a", "b", "c", "d")) == ["a!", "b!", "three", "four"]


def test_extending_by_nothing_changes_nothing_and_without_a_file_it_records(path: Path) -> None:
    with serving(*answers("one")) as server, use_cassette(path, "extend") as session:
        assert ask(session, server.url, ("a",)) == ["one"]
    stamp = path.stat().st_mtime_ns
    with use_cassette(path, "extend") as session:
        assert ask(session, NOWHERE, ("a",)) == ["one"]
    assert path.stat().st_mtime_ns == stamp


@each_client
def test_a_session_that_parts_from_its_recording_is_not_gone_on_with(send: Send, path: Path) -> None:
    before = recorded(path, "a", "b")

    def part() -> None:
        with use_cassette(path, "extend") as session:
            asked_by(send, session, NOWHERE, ("a", "z"))

    def stop() -> None:
        with use_cassette(path, "extend") as session:
            asked_by(send, session, NOWHERE, ("a",))

    def hide() -> None:
        with use_cassette(path, "extend") as session:
            complaint(ReplayMismatch, lambda: asked_by(send, session, NOWHERE, ("z",)))
            asked_by(send, session, NOWHERE, ("a", "b"))

    assert 'recorded: "b"\n  request:  "z"' in complaint(ReplayMismatch, part)
    assert "interaction 2 of 2" in complaint(ReplayMismatch, stop)
    assert 'request:  "z"' in complaint(ReplayMismatch, hide)
    assert path.read_text() == before


# A cassette in use, without clients.

CHAT = "https://api.test/v1/chat/completions"
OK = StoredResponse(200, "OK", (), b"{}")


def numbered(number: int) -> StoredResponse:
    return StoredResponse(200, "OK", (), b"%d" % number)


def tape_of(path: Path, *asked: tuple[str, str, bytes]) -> Session:
    tape = Session(path, "record")
    for number, (method, url, body) in enumerate(asked):
        tape.append(method, url, {}, body, numbered(number))
    tape.save({})
    return Session(path)


def test_only_what_is_on_the_lists_is_kept_and_returned_as_a_replay_will(tmp_path: Path) -> None:
    tape = Session(tmp_path / "a", "record")
    sent = {"Authorization": "Bearer x", "Cookie": "a=b", "Accept": "x/y", "X-Other": "1"}
    got = (("Set-Cookie", "a=b; Path=/"), ("Retry-After", "1"), ("retry-after", "2"), ("Server", "s"))
    now = tape.append(
        "POST", "https://me:pw@a/v1/x?token=1", sent, b"", StoredResponse(429, "Slow", got, b"\xff")
    )
    stored = (("set-cookie", "a=REDACTED; Path=/"), ("retry-after", "1"), ("retry-after", "2"))
    assert now == StoredResponse(429, "Slow", stored, b"\xff")
    assert tape.unplayed == ()
    tape.finish()
    tape.save({})
    text = (tmp_path / "a").read_text()
    assert not [word for word in ("earer", "a=b", "pw", "token=1", "Other", "server") if word in text]
    assert "x/y" in text
    assert Session(tmp_path / "a").play("POST", "https://b/v1/x?token=2", b"") == now


def test_a_miss_shows_how_the_next_unplayed_request_differs(tmp_path: Path) -> None:
    bodies = [b'{"messages":["a"]}', b'{"messages":["a","b"]}', b'{"messages":["z"]}']
    tape = tape_of(tmp_path / "a", *(("POST", CHAT, body) for body in bodies))
    tape.play("POST", CHAT, bodies[0])
    with pytest.raises(ReplayMismatch) as caught:
        tape.play("POST", CHAT, b'{"messages":["a","c"]}')
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'a'}: POST /chat/completions is not in the recording; "
        "the next that is still unplayed is interaction 2 of 3:",
        "first change: messages[1]",
        '  recorded: "b"',
        '  request:  "c"',
        "If the change is meant, record the session again.",
    ]


def test_a_miss_is_compared_with_the_request_of_its_own_turn(tmp_path: Path) -> None:
    bodies = [b'{"model":"a","messages":["x"]}', b'{"model":"b","messages":["x","y"]}']
    tape = tape_of(tmp_path / "a", *(("POST", CHAT, body) for body in bodies))
    with pytest.raises(ReplayMismatch, match="interaction 1 of 2:\nfirst change: model"):
        tape.play("POST", CHAT, b'{"model":"b","messages":["x"]}')


def test_a_miss_with_nothing_left_or_asked_for_again_says_so(tmp_path: Path) -> None:
    tape = tape_of(tmp_path / "a", ("POST", CHAT, b"{}"), ("GET", CHAT, b""))
    tape.play("POST", CHAT, b"{}")
    with pytest.raises(ReplayMismatch, match="was recorded, but is asked for more often than that; the next"):
        tape.play("POST", CHAT, b"{}")
    tape.play("GET", CHAT, b"")
    with pytest.raises(ReplayMismatch, match="all 2 interactions have been played"):
        tape.play("POST", CHAT, b"[]")


def test_a_miss_of_another_endpoint_says_so(tmp_path: Path) -> None:
    tape = tape_of(tmp_path / "a", ("GET", "https://a/v1/models", b""))
    with pytest.raises(ReplayMismatch) as caught:
        tape.play("post", CHAT, b"{}")
    assert str(caught.value).splitlines()[1:4] == [
        "first change: the endpoint",
        "  recorded: GET /models",
        "  request:  POST /chat/completions",
    ]


def test_a_recording_is_either_filled_or_played(tmp_path: Path) -> None:
    blank, tape = Session(tmp_path / "b", "record"), tape_of(tmp_path / "a", ("POST", CHAT, b"1"))
    assert (blank.replays, tape.replays) == (False, True)
    with pytest.raises(CassetteError, match="is being replayed, so nothing can be recorded in it"):
        tape.append("POST", CHAT, {}, b"1", OK)
