"""A first run that fails: what happened, where and what to do, and the next try under the same name."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.servers.chat_server import Answer, nobody_listens, replying, serving
from toolreel import Agent, Fallback, LoopConfig, OutcomeError, Plan, Run, replay, run
from toolreel.errors import CassetteError
from toolreel.http import HttpEndpoint
from toolreel.stream_events import RunEnded
from toolreel.testing import saying

ONCE: dict[str, Any] = {"max_tries": 1}
PAGE = Answer(b"<!doctype html><html><head><title>Sign in</title></head></html>", 200)
NO_KEY = replying({"error": {"message": "Incorrect API key provided"}}, 401)
NO_MODEL = replying({"error": {"message": "The model `m` does not exist"}}, 404)
NO_PATH = Answer(b"<html><head><title>404 Not Found</title></head></html>", 404)
FINE = replying(saying("Four."))


def said_of(ended: Run) -> str:
    with pytest.raises(OutcomeError) as raised:
        ended.raise_for_outcome()
    return str(raised.value)


@pytest.mark.parametrize("stream", ["never", "always"])
@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (NO_KEY, ("HTTP 401: Incorrect API key provided", "the key in api_key= was not accepted", "{url}")),
        (NO_MODEL, ("The model `m` does not exist", "{url} does not know the model", "/v1/models")),
        (NO_PATH, ('HTTP 404: an HTML page, "404 Not Found"', "nothing is at {url}", "correct the base URL")),
        (PAGE, ('the body is an HTML page, "Sign in"', "is the base URL ({url}) that of an OpenAI-")),
        (Answer(b"", 200), ("the body is empty", "({url})")),
    ],
)
def test_the_words_name_the_url_and_the_remedy(
    answer: Answer, parts: tuple[str, ...], stream: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(answer) as server:
        agent = Agent("m", base_url=server.url, api_key="key-of-the-lab", config={**ONCE, "stream": stream})
        ended = agent.run("How many?")
    said = said_of(ended)
    for part in parts:
        assert part.format(url=f"{server.url}/v1") in said
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [said]
    assert repr(ended).startswith(f"<Run {ended.outcome.name}: '")


def test_a_server_that_nobody_started_is_named_whatever_began_the_run() -> None:
    plan = Plan.of(model="m", messages="hi", config=LoopConfig(max_tries=1))
    with nobody_listens() as url, HttpEndpoint(url) as endpoint:
        agent = Agent("m", base_url=url, config=ONCE)
        first = agent.run("How many?")
        *_, last = agent.stream("How many?")
        assert isinstance(last, RunEnded)
        pickled = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own
        runs = [
            first,
            first.reply("And now?"),
            asyncio.run(agent.arun("hi")),
            last.run,
            run(plan, endpoint),
            pickled,
        ]
    for ended in runs:
        assert f"no server answers at {url}/v1: start it, or correct the base URL" in said_of(ended)


def test_of_several_servers_the_one_that_was_asked_last_is_named() -> None:
    with nobody_listens() as first, serving(NO_KEY) as second:
        there = Fallback("m", base_url=second.url, api_key="key-of-the-lab", config=ONCE)
        ended = Agent("m", base_url=first, config=ONCE, fallbacks=[there]).run("hi")
    assert f"is it the right one for {second.url}/v1?" in said_of(ended)


@pytest.mark.parametrize("answer", [NO_KEY, NO_MODEL, PAGE])
def test_a_recording_without_a_reply_is_replaced_by_the_next_try(answer: Answer, tmp_path: Path) -> None:
    with serving(answer, NO_KEY, FINE) as server:
        agent = Agent("m", base_url=server.url, config=ONCE)
        assert not agent.run("How many?", record=tmp_path / "pins").completed
        assert not agent.run("How many?", record=tmp_path / "pins").completed
        assert agent.run("How many?", record=tmp_path / "pins").text == "Four."
        assert replay(tmp_path / "pins").run.text == "Four."
        with pytest.raises(CassetteError, match="exists already"):
            agent.run("How many?", record=tmp_path / "pins")
