"""Real clients get through the proxy: their own tools run, plain and streamed, recorded and replayed.

Each runs in its own process with the packages that the conformance suite pins, and drives its own tool loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.conformance.driver import Came, Driver
from benchmarks.conformance.peer import PEERS, Peer
from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.replies import FINAL
from benchmarks.conformance.shape import Shape, load
from benchmarks.shared.environment import CACHE
from tests.patience import HANG
from tests.servers.proxy_server import proxying
from toolreel.proxy import ProxySettings, Route

pytestmark = pytest.mark.slow

SHAPES = {shape.id: shape for shape in load()}
WANTED = ("langchain", "pydantic_ai", "vercel_ai")
OPENAI_NODE = Peer("openai_node", "openai (Node)", "openai", "openai_node", node=True)
CLIENTS = {peer.id: peer for peer in (*PEERS, OPENAI_NODE) if peer.id in (*WANTED, OPENAI_NODE.id)}
PLAYED = (
    SHAPES["two-turns"],
    replace(SHAPES["two-turns"], mode="stream"),
    SHAPES["text-hermes"],
    SHAPES["stream-text-call-split"],
)
"""Two turns with tools, and a call in text that only the proxy makes a call of, plain and streamed."""


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[Driver]:
    peer = CLIENTS[request.param]
    CACHE.mkdir(exist_ok=True)
    peer.environment.install()
    driver = Driver(peer)
    yield driver
    driver.stop()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with serving(SHAPES) as provider:
        yield provider


def play(client: Driver, shape: Shape, provider: Provider, folder: Path, *, replays: bool) -> Came:
    route = Route(provider.base_url(shape.id, folder.name))
    with proxying(ProxySettings((route,), folder=folder, mode="replay" if replays else "record")) as proxy:
        came = client.run(shape, proxy.url, HANG)
    assert came.raised is None, came.raised
    return came


@pytest.mark.parametrize("shape", PLAYED, ids=[f"{shape.id}-{shape.mode}" for shape in PLAYED])
def test_a_client_works_behind_the_proxy_and_from_the_recording(
    client: Driver, shape: Shape, provider: Provider, tmp_path: Path
) -> None:
    folder = tmp_path / f"{client.peer.id}-{shape.id}-{shape.mode}"
    came = play(client, shape, provider, folder, replays=False)
    asked = provider.seen(folder.name).requests
    assert (came.ran, came.text) == (shape.calls, FINAL)
    assert [request.get("stream") is True for request in asked] == [shape.mode == "stream"] * len(asked)
    assert len(asked) == len(shape.calls) + 1
    assert play(client, shape, provider, folder, replays=True) == came
    assert len(provider.seen(folder.name).requests) == len(shape.calls) + 1
