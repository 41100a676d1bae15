"""Sessions whose requests differ from the recorded ones, for clients of any kind, against a real server."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.adapters.cassette.clients import Send, by_httpx
from tests.samples import complaint
from tests.servers.chat_server import replying, serving
from toolreel._internal import VaryError
from toolreel.cassette import Recording, StoredResponse, Vary, put_through, use_cassette
from toolreel.testing import saying
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import canonical


def asked(time: str, question: str = "Hi", **further: object) -> dict[str, object]:
    messages = [{"role": "system", "content": f"Now: {time}"}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, **further}


NOWHERE: Final = "http://nowhere.invalid"


def recorded(path: Path, send: Send, *bodies: object, vary: tuple[Vary, ...] = ()) -> bytes:
    words = [f"reply {n}" for n in range(len(bodies))]
    with (
        serving(*[replying(saying(word)) for word in words]) as server,
        use_cassette(path, "record", vary=vary) as session,
    ):
        assert send(session, server.url, [*bodies]) == words
    return path.read_bytes()


def test_rules_that_leave_nothing_together_are_refused(tmp_path: Path) -> None:
    recorded(path := tmp_path / "a.yaml", by_httpx, asked("2026-11-22 14:03"))
    rules = [Vary(at="/messages/0/content"), Vary(at="/messages/1/content")]

    def replayed() -> None:
        with use_cassette(path, vary=rules):
            pass

    assert complaint(VaryError, replayed) == (
        f"{path}: at /messages/0/content is ignored; at /messages/1/content is ignored: leaves nothing of "
        "the messages of this request to compare"
    )


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

    def leave_something(words: list[str]) -> bool:
        try:
            put_through(body(words), rules)
        except VaryError:
            return False
        return True

    assume(leave_something(was) and leave_something(now))
    url = f"{NOWHERE}/v1/chat/completions"
    with TemporaryDirectory() as folder:
        tape = Recording.blank(path := Path(folder) / "a.yaml")
        tape.append("POST", url, {}, body(was), StoredResponse(200, "OK", (), b"{}"))
        tape.save({})
        tape = Recording.load(path, shared=rules)
        if put_through(body(was), rules).body == put_through(body(now), rules).body:
            tape.play("POST", url, body(now))
            tape.finish()
            assert {rule for rule, count in tape.rules.fits.items() if count} == {
                *put_through(body(now), rules).used
            }
        else:
            assert "is not in the recording" in complaint(
                ReplayMismatch, lambda: tape.play("POST", url, body(now))
            )
