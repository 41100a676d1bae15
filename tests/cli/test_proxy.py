"""``toolreel proxy``: what it says, where it listens, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.cli.commands import assert_mistake, toolreel
from tests.patience import HANG, eventually
from tests.servers.chat_server import Answer, chunk, replying, serving, streaming
from toolreel._journal import read_journal
from toolreel.cassette import Session

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
FOUR = replying({"choices": [{"message": {"content": "Four."}, "finish_reason": "stop"}]})


@contextmanager
def proxy(*options: str, **variables: str) -> Generator[tuple[str, subprocess.Popen[str], list[str]]]:
    """A proxy in a process of its own: its base URL, and what it prints."""
    command = [sys.executable, "-m", "toolreel", "proxy", "--port", "0", *options]
    environ = {**os.environ, "NO_PROXY": "*", **variables}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as process:
        lines: list[str] = []
        printed = process.stderr
        assert printed is not None
        reader = Thread(target=lambda: lines.extend(iter(printed.readline, "")))
        reader.start()
        eventually(lambda: lines or process.poll() is not None, "the proxy says something")
        try:
            found = re.search(r"http://\S+", lines[0])
            assert found is not None, lines
            yield found[0], process, lines
        finally:
            process.kill()
            reader.join()


def test_requests_under_way_are_answered_after_a_signal(tmp_path: Path) -> None:
    with (
        serving(FOUR, Answer(FOUR.body, delay=1.0)) as server,
        proxy("--upstream", server.url, "--record", str(tmp_path / "new")) as (url, process, lines),
    ):
        assert httpx.post(f"{url}/chat/completions", json=ASKED, timeout=HANG).status_code == 200
        answers: list[httpx.Response] = []
        late = {**ASKED, "temperature": 1}
        asking = Thread(
            target=lambda: answers.append(httpx.post(f"{url}/chat/completions", json=late, timeout=HANG))
        )
        asking.start()
        eventually(lambda: len(server.seen) == 2, "the second request is under way")
        process.send_signal(signal.SIGTERM)
        asking.join()
        assert process.wait(HANG) == 0
    assert answers[0].json()["choices"][0]["message"]["content"] == "Four."
    assert len([*(tmp_path / "new").glob("*.yaml")]) == 2
    assert len([*(tmp_path / "new").glob("*.journal.jsonl")]) == 2
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert [entry["status"] for entry in logged] == [200, 200]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_outlasts_the_drain_gets_an_error_that_can_be_read(stream: bool) -> None:
    late = streaming(chunk("Fo"), 600.0, ends=False) if stream else Answer(delay=600.0)
    with (
        serving(late) as server,
        proxy("--upstream", server.url, "--drain", "1") as (url, process, lines),
        ThreadPoolExecutor() as pool,
    ):
        body = {**ASKED, "stream": stream}
        asking = pool.submit(httpx.post, f"{url}/chat/completions", json=body, timeout=HANG)
        eventually(lambda: len(server.seen) == 1, "the request is under way")
        process.send_signal(signal.SIGTERM)
        answer = asking.result()
        assert process.wait(HANG) == 0
    assert answer.status_code == (200 if stream else 503)
    assert "proxy_stopped" in answer.text
    (entry,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert (entry["status"], entry["problem"]) == (503, "proxy_stopped")
    assert "Traceback" not in "".join(lines)


def test_who_stops_it_twice_has_every_cassette_whole(tmp_path: Path) -> None:
    asked = [{**ASKED, "temperature": n / 100} for n in range(60)]
    with (
        serving(*[FOUR] * 60) as server,
        proxy("--upstream", server.url, "--record", str(tmp_path), "--quiet") as (url, process, lines),
    ):
        with httpx.Client(base_url=url, timeout=HANG) as client:
            for body in asked:
                client.post("/chat/completions", json=body)
        process.send_signal(signal.SIGINT)
        eventually(lambda: is_closed(url), "no more requests are taken")
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 0
    assert [len(Session(path).exchanges) for path in tmp_path.glob("*.yaml")] == [1] * 60
    assert all(read_journal(path).plan.model == "m" for path in tmp_path.glob("*.journal.jsonl"))
    assert not [*tmp_path.glob(".*")]
    assert "Traceback" not in "".join(lines)


def is_closed(url: str) -> bool:
    try:
        httpx.get(url)
    except httpx.TransportError:
        return True
    return False


def test_a_token_is_shown_and_never_goes_on() -> None:
    variables = {"TOOLREEL_PROXY_TOKEN": "proxy-secret", "UPSTREAM_KEY": "upstream-secret"}
    with (
        serving(FOUR, FOUR) as server,
        proxy("--upstream", server.url, "--api-key-env", "UPSTREAM_KEY", **variables) as (url, _, _),
    ):
        assert httpx.post(f"{url}/chat/completions", json=ASKED).status_code == 401
        for headers in ({"authorization": "Bearer proxy-secret"}, {"x-toolreel-token": "proxy-secret"}):
            assert httpx.post(f"{url}/chat/completions", json=ASKED, headers=headers).status_code == 200
    for seen in server.seen:
        assert seen.headers["authorization"] == "Bearer upstream-secret"
        assert "proxy-secret" not in str(seen.headers)


def test_a_port_that_is_taken_is_told() -> None:
    with serving() as server:
        port = ("--port", server.url.rpartition(":")[2])
        said = toolreel("proxy", "--upstream", "http://a.invalid", *port, cwd=Path.cwd())
    assert_mistake(said, "name others with --host and --port")
