"""Several models and servers for one agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.agent.shop import ON, stock
from tests.samples import complaint
from tests.servers.chat_server import replying, serving
from toolreel import (
    Agent,
    ConfigError,
    Fallback,
    FileJournal,
    Ports,
    Price,
    Run,
    replay,
    resume,
)
from toolreel.journals import read_journal
from toolreel.ports import Endpoints
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel_core import ReplayMismatch
from toolreel_core._protocol import EndpointChanged

DOWN = Lost("status", "down", 503)
ONCE = {"max_tries": 1}


@pytest.mark.parametrize("on", ON)
def test_a_run_goes_on_at_another_server_and_replays(on: Callable[..., Run], tmp_path: Path) -> None:
    record = tmp_path / "told"
    with (
        serving(replying({"error": {"message": "no"}}, status=403)) as first,
        serving(replying(saying("Hello."))) as second,
    ):
        agent = Agent("a", base_url=first.url, fallbacks=[Fallback("b", base_url=second.url)])
        ended = on(agent, "hi", record=record)
    assert ended.text == "Hello."
    assert json.loads(second.seen[0].body)["model"] == "b"
    assert ended.state.endpoint_name == "b"
    again = replay(f"{record}.yaml")
    assert again.run.state == ended.state
    recorded = read_journal(f"{record}.journal.jsonl")
    assert recorded.plan.fallbacks[0].model == "b"


def test_another_model_at_the_same_server_gets_its_key_and_another_server_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLREEL_API_KEY", "sk-of-the-first-server")
    down = replying({"error": {"message": "no"}}, status=403)
    with serving(down, down) as first, serving(replying(saying("Hello."))) as second:
        there = [Fallback("b"), Fallback("c", base_url=second.url)]
        assert Agent("a", base_url=first.url, fallbacks=there).run("hi").text == "Hello."
    assert [seen.headers.get("authorization") for seen in first.seen] == ["Bearer sk-of-the-first-server"] * 2
    assert "authorization" not in second.seen[0].headers


def test_each_reply_costs_by_the_price_of_its_endpoint() -> None:
    def counted(reply: Mapping[str, Any], prompt: int) -> dict[str, Any]:
        return {**reply, "usage": {"prompt_tokens": prompt, "completion_tokens": 1}}

    def pin() -> str:
        """A pin."""
        return "pin"

    first = ScriptedEndpoint([counted(calling(("pin", {})), 2_000_000), Lost("status", "gone", 404)])
    middle = ScriptedEndpoint([Lost("status", "gone", 404)])
    last = ScriptedEndpoint([counted(saying("Here."), 3_000_000)])
    agent = Agent(
        "a",
        tools=[pin],
        endpoint=first,
        price=Price(1, 0),
        fallbacks=[
            Fallback("b", endpoint=middle, price=Price(1, 0)),
            Fallback("c", endpoint=last, price=Price(10, 0)),
        ],
    )
    done = agent.run("Go.")
    assert done.cost == 32.0
    changes = [note for note in done.notes if isinstance(note, EndpointChanged)]
    assert [(note.after, note.prompt_tokens, note.cost) for note in changes] == [
        ("b", 2_000_000, 2.0),
        ("c", 2_000_000, 2.0),
    ]


@pytest.mark.parametrize(
    ("fallbacks", "wrong"),
    [
        (["b"], "fallbacks[0]: expected a Fallback, got str; write Fallback(model)"),
        (3, "fallbacks: expected Sequence, got int"),
        ([Fallback("b"), Fallback("b")], "fallbacks[1]: there are two named 'b'; write name= in one"),
        ([Fallback("b", provider="nobody")], "fallbacks[0]: provider: there is no provider 'nobody'"),
    ],
)
def test_a_fallback_that_is_not_usable_is_named(fallbacks: Any, wrong: str) -> None:  # noqa: ANN401
    made = partial(Agent, "a", base_url="http://127.0.0.1:1", fallbacks=fallbacks)
    assert complaint(ConfigError, made).startswith(wrong)


def test_a_limited_cost_has_to_be_known_at_every_endpoint() -> None:
    there = [Fallback("b", endpoint=ScriptedEndpoint([]))]
    limited = partial(Agent, "a", endpoint=ScriptedEndpoint([]), config={"max_cost": 1}, price=Price(1, 1))
    assert "the price of 'b' is unknown" in complaint(ConfigError, partial(limited, fallbacks=there))


def test_secrets_of_all_endpoints_are_kept() -> None:
    there = Fallback("b", base_url="http://127.0.0.1:2", api_key="sk-second")
    agent = Agent("a", base_url="http://127.0.0.1:1", api_key="sk-first", fallbacks=[there])
    assert {"sk-first", "sk-second"} <= set(agent.secrets.values())
    assert "sk-second" not in f"{agent!r} {there!r}"
    assert repr(there) == "Fallback('b', base_url='http://127.0.0.1:2')"
    assert repr(Fallback("b")) == "Fallback('b')"


def test_a_run_that_was_killed_goes_on_at_its_endpoint(tmp_path: Path) -> None:
    first, second = ScriptedEndpoint([DOWN]), ScriptedEndpoint([calling(("stock", {"part": "pin"}))])
    agent = Agent("a", endpoint=first, tools=[stock], config=ONCE, fallbacks=[Fallback("b", endpoint=second)])
    journal, plan = tmp_path / "told.journal.jsonl", agent.plan("How many pins?")
    with FileJournal(journal, plan) as kept, pytest.raises(ReplayMismatch):  # the script is over
        agent.run("How many pins?", journal=kept)
    more = ScriptedEndpoint([saying("Four.")])
    with agent.ports() as ports:
        ended = resume(journal, Ports(Endpoints(first, {"b": more}), ports.tools))
    assert ended.text == "Four."
