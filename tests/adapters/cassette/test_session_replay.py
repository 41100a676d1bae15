from __future__ import annotations

from pathlib import Path

import pytest

from toolreel._internal import CassetteError
from toolreel.cassette import Session, StoredResponse
from toolreel_core._errors import ReplayMismatch

CHAT = "https://api.test/v1/chat/completions"
OK = StoredResponse(200, "OK", (), b"{}")


def numbered(number: int) -> StoredResponse:
    return StoredResponse(200, "OK", (), b"%d" % number)


def recorded(path: Path, *asked: tuple[str, str, bytes]) -> Session:
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
    tape = recorded(tmp_path / "a", *(("POST", CHAT, body) for body in bodies))
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
    tape = recorded(tmp_path / "a", *(("POST", CHAT, body) for body in bodies))
    with pytest.raises(ReplayMismatch, match="interaction 1 of 2:\nfirst change: model"):
        tape.play("POST", CHAT, b'{"model":"b","messages":["x"]}')


def test_a_miss_with_nothing_left_or_asked_for_again_says_so(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "a", ("POST", CHAT, b"{}"), ("GET", CHAT, b""))
    tape.play("POST", CHAT, b"{}")
    with pytest.raises(ReplayMismatch, match="was recorded, but is asked for more often than that; the next"):
        tape.play("POST", CHAT, b"{}")
    tape.play("GET", CHAT, b"")
    with pytest.raises(ReplayMismatch, match="all 2 interactions have been played"):
        tape.play("POST", CHAT, b"[]")


def test_a_miss_of_another_endpoint_says_so(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "a", ("GET", "https://a/v1/models", b""))
    with pytest.raises(ReplayMismatch) as caught:
        tape.play("post", CHAT, b"{}")
    assert str(caught.value).splitlines()[1:4] == [
        "first change: the endpoint",
        "  recorded: GET /models",
        "  request:  POST /chat/completions",
    ]


def test_finishing_brings_up_a_miss_that_somebody_swallowed(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "a", ("POST", CHAT, b"1"))
    with pytest.raises(ReplayMismatch):
        tape.play("POST", CHAT, b"2")
    tape.play("POST", CHAT, b"1")
    with pytest.raises(ReplayMismatch, match="is not in the recording"):
        tape.finish()


def test_a_recording_is_either_filled_or_played(tmp_path: Path) -> None:
    blank, tape = Session(tmp_path / "b", "record"), recorded(tmp_path / "a", ("POST", CHAT, b"1"))
    assert (blank.replays, tape.replays) == (False, True)
    with pytest.raises(CassetteError, match="is being replayed, so nothing can be recorded in it"):
        tape.append("POST", CHAT, {}, b"1", OK)
