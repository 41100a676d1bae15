"""Exchanges that broke off: recorded, and raised again, for clients that know nothing of journals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx
import httpx2
import pytest

from tests.patience import NEVER
from tests.samples import complaint, worked
from tests.servers.chat_server import Answer, chunk, nobody_listens, serving, streaming
from toolreel._internal import CassetteError, SecretFound
from toolreel.cassette import ERROR_KINDS, Session, use_cassette

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PATIENCE = 1.0
"""Seconds until a client gives up: on a busy machine, an answer takes tenths of one."""
EVENTS = (chunk("Hel"), chunk("lo"))

Heard: TypeAlias = "list[tuple[str, str]]"
"""What a client got of each exchange: statuses, lines and bodies, and the exceptions by class and text."""


def asking(client: Any, url: str, times: int) -> Heard:  # noqa: ANN401 - of httpx or httpx2
    heard: Heard = []
    own = httpx.HTTPError if isinstance(client, httpx.Client) else httpx2.HTTPError
    with client:
        for _ in range(times):
            try:
                with client.stream("POST", f"{url}/v1/chat/completions", json=BODY) as response:
                    heard.append(("status", str(response.status_code)))
                    for line in response.iter_lines():
                        heard.append(("line", line))
            except own as error:
                heard.append((type(error).__name__, str(error)))
    return heard


def ask(session: Session, url: str, times: int) -> Heard:
    return asking(httpx.Client(transport=session.transport(), timeout=PATIENCE), url, times)


def ask2(session: Session, url: str, times: int) -> Heard:
    return asking(httpx2.Client(transport=session.httpx2_transport(), timeout=PATIENCE), url, times)


def on(backend: str, kind: Any = httpx) -> Callable[[Session, str, int], Heard]:  # noqa: ANN401 - or httpx2
    async def asked(session: Session, url: str, times: int) -> Heard:
        heard: Heard = []
        transport = session.async_transport() if kind is httpx else session.async_httpx2_transport()
        async with kind.AsyncClient(transport=transport, timeout=PATIENCE) as client:
            for _ in range(times):
                try:
                    async with client.stream("POST", f"{url}/v1/chat/completions", json=BODY) as response:
                        heard.append(("status", str(response.status_code)))
                        async for line in response.aiter_lines():
                            heard.append(("line", line))
                except kind.HTTPError as error:
                    heard.append((type(error).__name__, str(error)))
        return heard

    return lambda session, url, times: anyio.run(asked, session, url, times, backend=backend)


CLIENTS = {
    "httpx": ask,
    "asyncio": on("asyncio"),
    "trio": on("trio"),
    "httpx2": ask2,
    "httpx2-asyncio": on("asyncio", httpx2),
}
each = pytest.mark.parametrize("asks", CLIENTS.values(), ids=CLIENTS)

BREAKS: dict[str, tuple[Answer, str]] = {
    "a silent server": (Answer(delay=NEVER), "ReadTimeout"),
    "one that hangs up": (Answer(raw=b""), "RemoteProtocolError"),
    "one that hangs up in the middle": (Answer(b'{"choices":', promised=500), "RemoteProtocolError"),
    "one that speaks no HTTP": (Answer(raw=b"SSH-2.0\r\n\r\n"), "RemoteProtocolError"),
    "a stream that breaks off": (streaming(*EVENTS, ends=False), "RemoteProtocolError"),
    "a packed stream that breaks off": (
        streaming(*EVENTS, encoding="gzip", ends=False),
        "RemoteProtocolError",
    ),
    "a stream that falls silent": (streaming(*EVENTS, NEVER), "ReadTimeout"),
}


def test_the_kinds_are_httpxs_own() -> None:
    def under(kind: type[Exception]) -> Iterator[str]:
        yield kind.__name__
        for narrower in kind.__subclasses__():
            if narrower.__module__ == "httpx":
                yield from under(narrower)

    assert sorted(under(httpx.TransportError)) == [*ERROR_KINDS]


@each
@pytest.mark.parametrize("way", BREAKS)
def test_what_broke_off_breaks_off_again_after_what_had_come(
    asks: Callable[[Session, str, int], Heard], way: str, path: Path
) -> None:
    answer, kind = BREAKS[way]
    with serving(answer) as server, use_cassette(path, "record") as session:
        live = asks(session, server.url, 1)
    assert live[-1][0] == kind
    assert [line for what, line in live if what == "line" and line] == (
        [event.strip() for event in EVENTS] if answer.pieces else []
    )
    with use_cassette(path) as session:
        assert asks(session, "http://elsewhere.invalid", 1) == live


@each
def test_a_server_that_is_not_there_is_not_there_again(
    asks: Callable[[Session, str, int], Heard], path: Path
) -> None:
    with nobody_listens() as url, use_cassette(path, "record") as session:
        live = asks(session, url, 2)
    assert [kind for kind, _ in live] == ["ConnectError"] * 2
    with use_cassette(path) as session:
        assert asks(session, "http://elsewhere.invalid", 2) == live


def test_the_file_says_what_broke_off_and_the_exception_where_it_comes_from(path: Path) -> None:
    with (
        serving(streaming(*EVENTS, ends=False), Answer(delay=NEVER)) as server,
        use_cassette(path, "record") as session,
    ):
        ask(session, server.url, 2)
    text = path.read_text()
    assert "  error:\n    kind: RemoteProtocolError\n    message: peer closed connection" in text
    assert text.endswith("  error:\n    kind: ReadTimeout\n    message: timed out\n...\n")
    assert text.count("  response:") == 1
    with use_cassette(path) as session, httpx.Client(transport=session.transport()) as client:
        ask(session, "http://a.test", 1)
        with pytest.raises(httpx.ReadTimeout) as caught:
            client.post("http://a.test/v1/chat/completions", json=BODY)
    assert (str(caught.value), caught.value.request.url.host) == ("timed out", "a.test")
    assert caught.value.__notes__ == [f"The exchange broke off when it was recorded: this is from {path}."]


def failing(error: BaseException) -> httpx.MockTransport:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    return httpx.MockTransport(fail)


def test_what_no_far_side_has_done_is_not_recorded(path: Path) -> None:
    with use_cassette(path, "record") as session:
        transport = session.transport(failing(KeyboardInterrupt()))
        with httpx.Client(transport=transport) as client, pytest.raises(KeyboardInterrupt):
            client.get("http://a.test")
    assert not path.exists()


def test_a_secret_in_the_text_of_an_exception_is_not_written(path: Path) -> None:
    def hold() -> None:
        known = {"WORD": "open sesame"}
        with use_cassette(path, "record", known_secrets=known) as session:
            transport = session.transport(failing(httpx.ProxyError("no entry with open sesame")))
            with httpx.Client(transport=transport) as client, pytest.raises(httpx.ProxyError):
                client.get("http://a.test")

    said = complaint(SecretFound, hold)
    assert "interaction 1: error.message, line 1 holds a secret (value of WORD)" in said
    assert not path.exists()


@pytest.mark.parametrize(("was", "now", "said"), worked("no error of httpx", "cassettes"))
def test_what_is_not_an_error_of_httpx_is_not_raised(was: str, now: str, said: str, path: Path) -> None:
    with serving(Answer(delay=NEVER)) as server, use_cassette(path, "record") as session:
        ask(session, server.url, 1)
    path.write_text(path.read_text().replace(was, now))
    assert f"interaction 1: {said}" in complaint(CassetteError, lambda: Session(path))
