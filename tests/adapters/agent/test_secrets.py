"""A key is in no repr, error, record or pickle, wherever it was given."""

from __future__ import annotations

import asyncio
import copy
import pickle
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

from tests.samples import worked
from tests.servers.chat_server import replying, serving
from toolreel import Agent, ConfigError, OutcomeError, Run
from toolreel.errors import EndpointConfigError
from toolreel.http import HttpEndpoint
from toolreel.testing import saying

KEY = "sk-3f2a90bc71d24e5f"
VARIABLES = ("TOOLREEL_BASE_URL", "TOOLREEL_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "LAB_KEY")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


GIVEN: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "itself": ({"api_key": KEY}, {}),
    "variable": ({"api_key_env": "LAB_KEY"}, {"LAB_KEY": KEY}),
    "header": ({"headers": {"X-Api-Key": KEY}}, {}),
    "toolreel": ({}, {"TOOLREEL_API_KEY": KEY}),
}


@pytest.mark.parametrize("place", GIVEN)
def test_a_key_is_sent_and_never_shown(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings, variables = GIVEN[place]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    echo = replying({"error": {"message": f"Incorrect API key: {KEY}"}}, 401)
    with serving(replying(saying("Hi.")), echo, echo) as server:
        agent = Agent("m", base_url=server.url, **settings)
        said = agent.run("hi", record=tmp_path / "run")
        failed = agent.run("hi")
        recorded = agent.run("hi", record=tmp_path / "echo")
        assert all(KEY in " ".join(seen.headers.values()) for seen in server.seen)
    with pytest.raises(OutcomeError, match=r"HTTP 401: Incorrect API key: \[value of the header") as raised:
        failed.raise_for_outcome()
    assert recorded.outcome == failed.outcome
    texts = [
        repr(agent),
        repr(said),
        repr(failed),
        str(cast("Any", failed)._repr_html_()),
        repr(asdict(agent)),
        repr(raised.value),
    ]
    texts += traceback.format_exception(raised.value)
    texts += [repr(pickle.loads(pickle.dumps(said))), repr(copy.deepcopy(agent))]  # noqa: S301 - our own
    texts += [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert [text for text in texts if KEY in text] == []
    assert KEY.encode() not in pickle.dumps(said)


def test_an_agent_with_a_key_is_not_pickled_and_one_with_its_variable_is() -> None:
    with pytest.raises(ConfigError, match="a key is not pickled; name the variable"):
        pickle.dumps(Agent("m", base_url="http://127.0.0.1:9", api_key=KEY))
    named = Agent("m", base_url="http://127.0.0.1:9", api_key_env="LAB_KEY")
    assert pickle.loads(pickle.dumps(named)) == named  # noqa: S301 - our own


def test_an_endpoint_takes_a_key_itself_and_does_not_show_it() -> None:
    with serving(replying(saying("Hi."))) as server, HttpEndpoint(server.url, api_key=KEY) as endpoint:
        assert Agent("m", endpoint=endpoint).run("hi").text == "Hi."
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in repr(endpoint) + repr(vars(endpoint))
        assert KEY in endpoint.secrets.values()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"api_key": ""}, "api_key is empty, or contains a character that no header can carry"),
        ({"api_key": f"{KEY}\n{KEY}"}, "api_key is empty, or contains a character"),
        ({"api_key": KEY, "api_key_env": "LAB_KEY"}, "api_key and api_key_env are both given"),
        ({"api_key_env": "LAB_KEY"}, "the environment variable LAB_KEY is not set; put the API key into it"),
    ],
)  # fmt: skip
def test_a_key_that_cannot_be_sent_is_refused_without_being_told(settings: dict[str, str], why: str) -> None:
    for make in (
        lambda: Agent("m", base_url="http://127.0.0.1:9", **settings).run("hi"),  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]
        lambda: HttpEndpoint("http://127.0.0.1:9", **settings),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(EndpointConfigError) as raised:
            make()
        assert str(raised.value).startswith(why)
        assert KEY not in "".join(traceback.format_exception(raised.value))


def sent(variables: dict[str, str], **settings: str) -> str | None:
    """The authorization that a server gets; the variable ``HERE`` stands for its URL."""
    with serving(replying(saying("Hi."))) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value.replace("HERE", server.url))
        given: dict[str, Any] = {name: value.replace("HERE", server.url) for name, value in settings.items()}
        assert isinstance(asyncio.run(Agent("m", **given).arun("hi")), Run)
        return server.seen[0].headers.get("authorization")


@pytest.mark.parametrize(
    ("variables", "settings", "key"),
    worked("arguments come before our variables and these before openais", "tools"),
)
def test_arguments_come_before_our_variables_and_these_before_openais(
    variables: dict[str, str], settings: dict[str, str], key: str | None
) -> None:
    assert sent(variables, **settings) == (f"Bearer {key}" if key else None)
