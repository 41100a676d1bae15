from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.agent.shop import ASKS, ON, ORDERS, WAYS, Way, agent, order, results, stock
from tests.adapters.agent.typing_of_agents import amain, main
from tests.samples import complaint, worked
from tests.servers.chat_server import replying, serving
from toolreel import (
    Agent,
    Always,
    AsyncPythonTools,
    Completed,
    ConfigError,
    LoopConfig,
    Never,
    OutcomeError,
    Ports,
    Preset,
    PythonTools,
    Run,
    SystemMessage,
    Tool,
    UserMessage,
    current_call,
    replay,
    resume,
    tool,
)
from toolreel._driver import Resting
from toolreel._replay import story
from toolreel.testing import ScriptedEndpoint, calling, saying


async def price(part: str) -> float:
    """What a part costs."""
    await asyncio.sleep(0)
    return {"pin": 0.5}[part]


FOUR = saying("There are 4.")


@pytest.mark.parametrize("run", ON)
@pytest.mark.parametrize(
    "tools",
    [
        stock,
        [stock],
        (Tool.of(stock),),
        PythonTools([stock]),
        [PythonTools([order]), [stock]],
        [[], [[stock]], PythonTools([])],
    ],
)
def test_tools_are_functions_and_hosts_in_lists(run: Callable[..., Run], tools: Any) -> None:  # noqa: ANN401
    ended = run(agent(ASKS, FOUR, tools=tools), "How many pins?")
    assert (ended.outcome, ended.text) == (Completed("There are 4."), "There are 4.")
    assert [result["data"] for result in results(ended)] == [{"value": 4}]


def test_async_functions_and_hosts_run_in_async_runs() -> None:
    calls = calling(("price", {"part": "pin"}))
    for tools in ([stock, price], [AsyncPythonTools([price]), stock]):
        ended = asyncio.run(agent(calls, ASKS, FOUR, tools=tools).arun("?"))
        assert [result["data"] for result in results(ended)] == [{"value": 0.5}, {"value": 4}]


def test_a_sync_run_works_inside_a_running_loop() -> None:
    async def handler() -> str:
        return agent(ASKS, FOUR, tools=[stock]).run("How many?").text

    assert asyncio.run(handler()) == "There are 4."


@pytest.mark.parametrize(
    "prompt",
    [
        "hi",
        UserMessage("hi"),
        {"role": "user", "content": "hi"},
        ["hi"],
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        iter([UserMessage("hi")]),
    ],
)
def test_a_prompt_is_whatever_says_something(prompt: Any) -> None:  # noqa: ANN401 - see agent()
    assert agent().plan(prompt).messages == (UserMessage("hi"),)


def test_instructions_come_first_and_once() -> None:
    one = agent(FOUR, saying("Yes."), instructions="Be brief.")
    first = one.run("How many?")
    assert first.messages[0] == SystemMessage("Be brief.")
    second = one.run([*first.messages, "Sure?"])
    assert [each["role"] for each in second.messages_as_dicts()] == [
        "system", "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert one.plan([*first.messages_as_dicts(), "Sure?"]) == one.plan([*first.messages, "Sure?"])


def test_presets_are_those_of_the_model_and_of_the_provider_that_is_named() -> None:
    assert agent().plan("hi").presets == ("default_tool_calling",)
    assert "openrouter" in agent(provider="openrouter").plan("hi").presets
    assert "untrusted_content" in agent(preset="untrusted_content").plan("hi").presets
    assert agent(preset=Preset()).plan("hi").presets == ()
    assert agent(config=LoopConfig(max_turns=3)).plan("hi").config.max_turns == 3
    settings = {"max_turns": 5, "id_style": "kimi"}
    changed = agent(config=settings, options={"temperature": 0}).plan("hi")
    assert (changed.config.max_turns, changed.provider.id_style) == (5, "kimi")
    assert "temperature" in changed.options


@pytest.mark.parametrize(
    ("settings", "ran"),
    worked("calls are ignored only where the request or a limit rules them out and are always told", "tools"),
)
def test_calls_are_ignored_only_where_the_request_or_a_limit_rules_them_out_and_are_always_told(
    settings: dict[str, Any], ran: int, caplog: pytest.LogCaptureFixture
) -> None:
    script = [calling(("stock", {"part": "pin"}), ("stock", {"part": "shim"})), saying("4 and 0.")]
    ended = Agent("m", tools=[stock], endpoint=ScriptedEndpoint(script), **settings).run("How many?")
    ignored = 2 - ran
    assert (ended.state.tally.tool_calls, ended.state.tally.ignored_calls) == (ran, ignored)
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [message.split()[0] for message in warned] == ["calls_ignored"] * ignored
    page = ended._repr_html_()  # pyright: ignore[reportPrivateUsage] - as a notebook calls it
    assert ("1 ignored" in repr(ended), "ignored calls" in page) == (ignored == 1,) * 2
    assert (ignored == 1) == any(
        "ignored: stock" in remark for turn in story(ended) for remark in turn.remarks
    )


@pytest.mark.parametrize(
    ("approve", "said"),
    [
        (lambda _, arguments: arguments["count"] < 3, "'ok': True"),
        (lambda *_: False, "TOOL_DENIED"),
        (lambda name, _: f"no {name} today", "no order today"),
        (Always(), "'ok': True"),
        (Never("never"), "never"),
    ],
)
@pytest.mark.parametrize("run", ON)
def test_a_function_or_an_approver_decides(run: Callable[..., Run], said: str, approve: Any) -> None:  # noqa: ANN401 - see agent()
    ended = run(agent(ORDERS, FOUR, tools=[order], approve=approve), "Order two.")
    assert ended.completed
    assert said in str(results(ended)[0])


def test_an_async_function_decides_in_async_runs() -> None:
    async def ask(name: str, arguments: Mapping[str, Any]) -> bool:
        await asyncio.sleep(0)
        return name == "order" and arguments["count"] == 2

    ended = asyncio.run(agent(ORDERS, FOUR, tools=[order], approve=ask).arun("Order two."))
    assert results(ended)[0]["ok"]
    words = "approve: it is async; write await agent.arun(...)"
    assert complaint(ConfigError, lambda: agent(ORDERS, tools=[order], approve=ask).run("Order.")) == words


@pytest.mark.parametrize("approve", [None, lambda *_: None])
def test_without_a_decision_the_run_rests_and_goes_on_later(approve: Any) -> None:  # noqa: ANN401 - see agent()
    one = agent(ORDERS, FOUR, tools=[order], approve=approve)
    resting = one.run("Order two.")
    assert isinstance(resting.outcome, Resting)
    assert resting.text == ""
    with pytest.raises(OutcomeError, match=r"order\(\{.*\}\) needs approval.*run\.approve\(\)"):
        resting.raise_for_outcome()
    ended = resting.approve()
    assert ended.raise_for_outcome() is ended
    assert results(ended)[0]["ok"]
    assert ended.notes[: len(resting.notes)] == resting.notes


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_denied_call_does_not_run_and_the_model_reads_why(way: Way) -> None:
    ran: list[int] = []

    @tool(needs_approval=True)
    def pay(amount: int) -> None:
        """Pay."""
        ran.append(amount)

    resting = way.begin(agent(calling(("pay", {"amount": 2})), FOUR, tools=[pay]), "Pay two.")
    ended = way.run(resting, "deny", "too much")
    assert ended.completed
    assert ran == []
    assert "too much" in json.dumps(results(ended)[0])


def test_an_agent_is_a_value_of_which_another_is_made() -> None:
    one = agent(FOUR, tools=[stock], approve=Always())
    other = replace(one, model="other", tools=[])
    assert (other.model, other.plan("hi").tools.definitions, other.approve) == ("other", (), Always())
    assert repr(one) == "Agent('m', endpoint=ScriptedEndpoint, tools=[stock])"
    assert repr(Agent("m", base_url="http://h/v1?key=1a2b3c4d5e6f")).count("1a2b3c4d5e6f") == 0


def test_a_run_is_recorded_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "pins"
    with serving(replying(ASKS), replying(FOUR)) as server:
        Agent("m", base_url=server.url, tools=[stock]).run("How many?", record=path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pins.journal.jsonl", "pins.yaml"]
    assert replay(path).run.text == replay(path, tools=lambda: [stock]).run.text == "There are 4."
    with pytest.raises(Exception, match=r"exists already: .* \(overwrite=True\)"):
        Agent("m", base_url="http://127.0.0.1:9", tools=[stock]).run("How many?", record=path)
    with serving(replying(FOUR)) as server:
        one = Agent("m", base_url=server.url, tools=[stock])
        asyncio.run(one.arun("How many?", record=f"{path}.yaml", overwrite=True))
    assert len(replay(path).recorded.records) == 1


def test_a_run_on_an_endpoint_of_ones_own_is_recorded_as_a_journal(tmp_path: Path) -> None:
    agent(ASKS, FOUR, tools=[stock]).run("How many?", record=tmp_path / "pins")
    assert [file.name for file in tmp_path.iterdir()] == ["pins.journal.jsonl"]
    assert replay(tmp_path / "pins").run.text == "There are 4."


def test_a_recorded_run_that_is_stopped_in_its_first_call_keeps_what_happened(tmp_path: Path) -> None:
    """The model has answered, and the tool may have had effects: no result of it is needed for a record."""
    ordered: list[str] = []

    def stock(part: str) -> int:
        ordered.append(current_call().key)
        if len(ordered) == 1:
            raise KeyboardInterrupt
        return len(part)

    with pytest.raises(KeyboardInterrupt):
        agent(ASKS, tools=[stock]).run("How many?", record=tmp_path / "pins")
    assert [file.name for file in tmp_path.iterdir()] == ["pins.journal.jsonl.part"]
    ports = Ports(ScriptedEndpoint([FOUR]), PythonTools([stock]))
    assert resume(tmp_path / "pins.journal.jsonl", ports).completed
    assert ordered[0] == ordered[1], "the tool is called again under its key"


def test_a_host_that_is_not_open_yet_says_so() -> None:
    from toolreel.tools.mcp import McpTools

    words = "tools: McpTools offers no tool yet; make the agent inside `with McpTools(...) as host:`"
    assert complaint(ConfigError, lambda: agent(tools=[McpTools([])])) == words


def test_what_type_checkers_see_also_runs() -> None:
    assert main().text == "Hi."
    assert asyncio.run(amain()).text == "Hi."


@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_limited_cost_is_refused_before_the_first_request_where_no_price_is_known(limit: str) -> None:
    assert complaint(ConfigError, lambda: agent(config={limit: 1})) == (
        f"{limit}: the price of 'm' is unknown; write price=Price(input=..., output=...) per million tokens, "
        'reports_cost="yes" if the provider reports costs, or unknown_cost="allow" to run regardless'
    )
    allowed = agent(FOUR, config={limit: 1, "unknown_cost": "allow"})
    assert allowed.run("hi").completed


def test_the_price_of_a_catalogue_is_that_of_the_model_and_its_seller() -> None:
    sold = Agent("gpt-4.1", base_url="http://x", provider="openai", config={"max_cost": 1})
    price = sold.plan("hi").price
    assert price
    assert (price.input, price.output, price.cached_input) == (2, 8, 0.5)
    assert Agent("gpt-4.1", base_url="http://x").plan("hi").price is None
    wrong: Any = {"input": 1, "output": 2}
    said = complaint(ConfigError, lambda: Agent("m", base_url="http://x", price=wrong))
    assert said == "price: expected Price, got dict"
