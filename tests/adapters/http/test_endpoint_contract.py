"""One contract for everything that answers requests: live, recording, replaying and scripted endpoints."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

import anyio
import httpx
import pytest

from tests.patience import NEVER, eventually
from tests.servers.chat_server import Answer, asking, chunk, replying, serving, streaming
from toolreel._driver import AsyncEndpoint, Endpoint
from toolreel._replay import TapedEndpoint
from toolreel.cassette import Session, use_cassette
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.testing import Lost, ScriptedEndpoint, saying
from toolreel_core._conversation import UserMessage
from toolreel_core._errors import ReplayMismatch
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Delta

HELLO = replying(saying("hello"))
BYE = replying(saying("bye"))
ELSEWHERE = "http://elsewhere.invalid/v1"
BUSY = replying({"error": {"message": "Slow down."}}, 429)


@dataclass(slots=True)
class Scene:
    """The answers of a server, how a recording of them is made, and what has arrived there."""

    cassette: Path
    answers: Sequence[Answer]
    use: Callable[[Endpoint], object]
    """Asks an endpoint for all answers."""
    stops: bool = False
    """Whether not all of them need be asked for; then every connection has to be closed."""
    arrived: list[bytes] = field(default_factory=list)
    heard: list[Delta] = field(default_factory=list)
    """What was shown of the replies on their way."""

    @contextmanager
    def served(self) -> Generator[str]:
        left = iter(self.answers)
        with serving(answering=lambda _: next(left)) as server:
            yield server.url
            self.arrived += [seen.body for seen in server.seen]
            if self.stops:
                eventually(lambda: server.closed == server.connections, "every connection is closed")


@contextmanager
def live(scene: Scene) -> Generator[Endpoint]:
    with scene.served() as url, HttpEndpoint(url, on_delta=scene.heard.append) as endpoint:
        yield endpoint


@asynccontextmanager
async def alive(scene: Scene) -> AsyncGenerator[AsyncEndpoint]:
    with scene.served() as url:
        async with AsyncHttpEndpoint(url, on_delta=scene.heard.append) as endpoint:
            yield endpoint


@contextmanager
def recorded(scene: Scene) -> Generator[Endpoint]:
    with scene.served() as url, use_cassette(scene.cassette, "record") as session:
        transport = session.transport(httpx.HTTPTransport())
        with HttpEndpoint(url, transport=transport, on_delta=scene.heard.append) as endpoint:
            yield endpoint


def recording(scene: Scene) -> Session:
    """A session that was recorded."""
    with recorded(replace(scene, arrived=[], heard=[])) as endpoint:
        scene.use(endpoint)
    return Session(scene.cassette)


@contextmanager
def replayed(scene: Scene) -> Generator[Endpoint]:
    transport = recording(scene).transport()
    with HttpEndpoint(ELSEWHERE, transport=transport, on_delta=scene.heard.append) as endpoint:
        yield endpoint


@contextmanager
def taped(scene: Scene) -> Generator[Endpoint]:
    yield TapedEndpoint(recording(scene), on_delta=scene.heard.append)


@contextmanager
def scripted(scene: Scene) -> Generator[ScriptedEndpoint]:
    lines = [
        answer.body.decode()
        if answer.status == 200
        else Lost("status", "HTTP 429: Slow down.", answer.status)
        for answer in scene.answers
    ]
    endpoint = ScriptedEndpoint(lines, on_delta=scene.heard.append)
    yield endpoint
    scene.arrived += [effect.request.body.encode() for effect in endpoint.asked]
    if not scene.stops:
        endpoint.finish()


def scene_of(folder: Path, *script: tuple[SendRequest, Answer]) -> Scene:
    """Requests and what is answered to each."""
    return Scene(
        folder / "session.yaml",
        [answer for _, answer in script],
        lambda endpoint: [endpoint.send(effect) for effect, _ in script],
    )


Talk: TypeAlias = Callable[[Scene, Sequence[SendRequest]], "list[ReplyReceived | RequestFailed]"]
"""Ask an endpoint one request after another, and let it go."""


def sync(opened: Callable[[Scene], AbstractContextManager[Endpoint]]) -> Talk:
    def talk(scene: Scene, asked: Sequence[SendRequest]) -> list[ReplyReceived | RequestFailed]:
        with opened(scene) as endpoint:
            return [endpoint.send(effect) for effect in asked]

    return talk


def on(backend: str, opened: Callable[[Scene], AbstractAsyncContextManager[AsyncEndpoint]]) -> Talk:
    def talk(scene: Scene, asked: Sequence[SendRequest]) -> list[ReplyReceived | RequestFailed]:
        async def conversation() -> list[ReplyReceived | RequestFailed]:
            async with opened(scene) as endpoint:
                return [await endpoint.send(effect) for effect in asked]

        return anyio.run(conversation, backend=backend)

    return talk


TALKS: dict[str, Talk] = {
    "http": sync(live),
    "http on asyncio": on("asyncio", alive),
    "http on trio": on("trio", alive),
    "recording": sync(recorded),
    "scripted": sync(scripted),
    "replaying": sync(replayed),
    "taped": sync(taped),
}
LIVE = tuple(TALKS)[:4]
OFFLINE = tuple(TALKS)[4:]


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("talk", [pytest.param(TALKS[name], id=name) for name in names])


DONE = "data: [DONE]\n\n"
HELLO_STREAMED = (chunk("Hel"), ": alive\n\n", chunk("lo"), chunk(None, "stop"), DONE)
STREAMS = {
    "streamed": streaming(*HELLO_STREAMED),
    "as another type": streaming(*HELLO_STREAMED, content_type="application/json"),
    "without a last word": streaming(*HELLO_STREAMED[:-1]),
    "without a last line end": streaming(*HELLO_STREAMED[:-2], chunk(None, "stop").strip()),
    "in one piece": streaming("".join(HELLO_STREAMED)),
    "cut in letters": streaming(chunk("Hel"), *chunk("lo", "stop"), DONE),
    "cut": streaming(chunk("Hel"), chunk("lo")),
    "packed": streaming(*HELLO_STREAMED, encoding="gzip"),
    "packed, and left open": streaming(*HELLO_STREAMED, NEVER, encoding="gzip"),
    "left open": streaming(*HELLO_STREAMED, NEVER),
}


@each(*TALKS)
@pytest.mark.parametrize("way", STREAMS)
def test_a_streamed_reply_is_one_event_which_has_the_stream_as_it_came(
    talk: Talk, way: str, tmp_path: Path
) -> None:
    """Asked for or not, and what was heard of it on the way is what it says."""
    answer = STREAMS[way]
    asked = [asking(), asking(stream=True, ref=2)]
    scene = scene_of(tmp_path, *((effect, answer) for effect in asked))
    body = answer.body.decode()
    assert talk(scene, asked) == [ReplyReceived(1, 200, body), ReplyReceived(2, 200, body)]
    assert scene.heard == [Delta("content", "Hel"), Delta("content", "lo")] * 2


@each(*TALKS)
def test_a_reply_that_came_whole_is_heard_at_once_where_a_stream_was_asked_for(
    talk: Talk, tmp_path: Path
) -> None:
    asked = [asking(), asking(stream=True)]
    scene = scene_of(tmp_path, *zip(asked, (HELLO, BYE), strict=True))
    talk(scene, asked)
    assert scene.heard == [Delta("content", "bye")]


@each(*TALKS)
def test_a_refusal_is_the_same_event_wherever_it_comes_from(talk: Talk, tmp_path: Path) -> None:
    (event,) = talk(scene_of(tmp_path, (asking(), BUSY)), [asking()])
    assert isinstance(event, RequestFailed)
    assert replace(event, body="") == RequestFailed(1, "status", "HTTP 429: Slow down.", 429)


@each(*OFFLINE)
def test_asking_for_more_than_was_recorded_is_no_event(talk: Talk, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, (asking(), HELLO))
    with pytest.raises(ReplayMismatch):
        talk(scene, [asking(), asking()])


@each("replaying", "taped")
def test_asking_for_something_else_than_was_recorded_is_no_event(talk: Talk, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, (asking("hi"), HELLO))
    with pytest.raises(ReplayMismatch):
        talk(scene, [asking("hi!")])


@cache
def telling_a_lot() -> SendRequest:
    """A request of a quarter of a megabyte, in many messages."""
    told = [UserMessage(f"{number}: é" * 100) for number in range(500)]
    match start(Plan.of(model="m", messages=told)).effects:
        case (SendRequest() as effect,):
            return effect
        case effects:
            raise AssertionError(effects)


@each(*LIVE)
def test_a_long_body_in_pieces_arrives_as_one(talk: Talk, tmp_path: Path) -> None:
    asked = telling_a_lot()
    scene = scene_of(tmp_path, (asked, HELLO))
    assert talk(scene, [asked]) == [ReplyReceived(1, 200, HELLO.body.decode())]
    assert len(asked.request.pieces()) > 5
    assert b"".join(asked.request.pieces()) == asked.request.body.encode()
    assert asked.request.body.encode() in scene.arrived
