"""``Agent``: a model with tools and instructions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Unpack, overload

from toolreel._agent.agent_run import (
    AgentEvent,
    AgentRun,
    AgentRuns,
    RunSettings,
    Value_co,
)
from toolreel._agent.offered_tools import (
    AgentTools,
    Approve,
    OfferedTools,
    approver_of,
    check_approve_argument,
)
from toolreel._agent.settings import (
    AgentSettings,
    Fallback,
    PresetLike,
    check_types,
    merged_preset,
    server_settings,
)
from toolreel._driver import (
    AsyncEndpoint,
    AsyncEndpoints,
    AsyncPorts,
    Endpoint,
    Endpoints,
    Incoming,
    Journal,
    Observer,
    Ports,
    Resting,
    arun,
    astream,
    await_if_awaitable,
    check_run_arguments,
    enter_without_suspending,
    immediately,
    items_without_suspending,
    run,
    secrets_of_ports,
    stream,
)
from toolreel._internal import OutputError
from toolreel._secrets import Secret, url_safe_to_log
from toolreel.tools import Output, Threaded, Tool, ToolError, begin_spending, current_call, output_of
from toolreel_core._conversation import Messages, SystemMessage, messages_from_input
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, as_tree, parse
from toolreel_core._plan import Plan, Preset, exact_config_patch, unknown_price_error_text
from toolreel_core._protocol import Completed
from toolreel_core._settings import LoopConfig, Price
from toolreel_core._tools import ToolFlags

_OF_MODEL = ("model", "preset", "options", "config", "price")
_OF_SERVER = ("base_url", "api_key", "api_key_env", "headers", "endpoint")


@dataclass(frozen=True, slots=True, repr=False)
class Agent(Generic[Value_co]):
    """A model with tools and instructions: a value, of which each run makes its plan and its ports.

    ::

        agent = Agent("your-model", base_url="https://your.server/v1", tools=[stock])
        print(agent.run("How many pins are in stock?").text)

    :raises ConfigError: if a setting is not usable; says what to write
    """

    model: str
    """The model's name, as the server knows it."""
    _: KW_ONLY
    base_url: str | None = None
    """URL of the server, with or without ``/v1``; by default, that in ``TOOLREEL_BASE_URL``, else in
    ``OPENAI_BASE_URL``."""
    output: object = None
    """What the final answer is: a type (pydantic model, dataclass, msgspec struct, ``TypedDict``, ...), a
    JSON Schema, or an :class:`Output`; by default a text. ``run.output`` has its type."""
    tools: AgentTools = ()
    """Typed functions, tools, tool hosts, Agent Skills, or a list of any of these."""
    instructions: str = ""
    """The system message."""
    provider: str = ""
    """The provider whose presets apply, such as ``openrouter``; by default, only those of the model do."""
    preset: PresetLike = None
    """Presets by name, or TOML files with presets, on top of those; a :class:`Preset` instead of them, so
    that ``Preset()`` is none."""
    api_key: str | Secret | None = None
    """The API key itself; it is never shown, recorded or pickled."""
    api_key_env: str | None = None
    """The variable that holds the key; by default ``TOOLREEL_API_KEY``, else, for OpenAI and the server of
    ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``."""
    headers: Mapping[str, str | Secret] | None = None
    """Further headers of each request; their values are treated like the key."""
    options: Mapping[str, Json] | None = None
    """Further keys of the request, such as ``temperature``."""
    config: LoopConfig | Mapping[str, Any] | None = None
    """Settings of the loop, over those of the presets; in an object also settings of the provider. A list of
    names adds to the presets' and the default, an empty one clears, and ``{"only": [...]}`` replaces. Of a
    ``LoopConfig`` counts what differs from its defaults, and its lists replace."""
    price: Price | None = None
    """What the model costs, if its provider does not report costs; by default, the catalogue's price."""
    seed: int = 0
    """The seed of everything random in a run, such as retry jitter."""
    endpoint: Endpoint | AsyncEndpoint | None = None
    """An endpoint of your own instead of a server; it stays open."""
    approve: Approve | None = None
    """Decides about tools that need approval: a function of name and arguments that returns ``True``,
    ``False``, a reason for a denial, or ``None`` to leave it open; or an approver. By default, the run rests
    until :meth:`AgentRun.approve` or :meth:`AgentRun.deny`."""
    fallbacks: Sequence[Fallback] = ()
    """Further models and servers in order, where a run goes on when the one before fails."""
    at_fallbacks: Mapping[str, Agent[Any]] = field(init=False, compare=False)
    """The agent at each fallback, by its name."""
    _offered: OfferedTools = field(init=False, compare=False)
    _output: Output[Value_co] | None = field(init=False, compare=False)
    _preset: Preset = field(init=False, compare=False)
    _keyless: bool = field(init=False, compare=False, default=False)
    """Whether the key of the environment is another server's."""

    if TYPE_CHECKING:  # a dataclass has no overloads, and the type of `output` is that of the agent
        # fmt: off
        @overload
        def __init__(
            self: Agent[str], model: str, *, output: None = None, **settings: Unpack[AgentSettings]
        ) -> None: ...
        @overload
        def __init__(
            self: Agent[Json], model: str, *, output: Mapping[str, Json], **settings: Unpack[AgentSettings]
        ) -> None: ...
        @overload
        def __init__(
            self,
            model: str,
            *,
            output: Output[Value_co] | type[Value_co],
            **settings: Unpack[AgentSettings],
        ) -> None: ...
        @overload
        def __init__(
            self: Agent[Any], model: str, *, output: object, **settings: Unpack[AgentSettings]
        ) -> None: ...
        def __init__(
            self, model: str, *, output: object = None, **settings: Unpack[AgentSettings]
        ) -> None: ...
        # fmt: on

    def __post_init__(self) -> None:
        check_types(**{name: getattr(self, name) for name in (*AgentSettings.__annotations__, "model")})
        for name in ("base_url", "api_key", "api_key_env", "headers"):
            if self.endpoint is not None and getattr(self, name):
                raise ConfigError(f"{name} and endpoint are both given; give it to the endpoint")
        if self.endpoint is not None and not hasattr(self.endpoint, "send"):
            kind = type(self.endpoint).__name__
            raise ConfigError(f"endpoint: expected an endpoint, got {kind}; write base_url= for a URL")
        check_approve_argument(self.approve)
        secret = None if self.api_key is None else Secret(self.api_key)
        headers = self.headers and {name: Secret(value) for name, value in self.headers.items()}
        is_ready = self.output is None or isinstance(self.output, Output)
        made = {
            "api_key": secret,
            "headers": headers,
            "_output": self.output if is_ready else output_of(self.output),
            "_offered": OfferedTools.of(self.tools),
            "_preset": merged_preset(self.preset, self.provider, self.model),
            "at_fallbacks": _fallback_agents(self, self.fallbacks),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)
        self.plan("?")  # so that a wrong setting is an error here, not in the first run

    def plan(self, prompt: Messages, *, streams: bool = False) -> Plan:
        """The plan of a run: what :meth:`run` runs, for the layer below.

        :param prompt: a text, a message, an object in the chat-completions form, or a list of those; images,
            audio and files in a list are one message with the texts next to them
        :param streams: whether it is that of :meth:`stream`, whose replies are streamed unless ``config`` or
            a preset say otherwise
        """
        told = "\n\n".join(filter(None, (self.instructions, self._offered.message)))
        messages, system = messages_from_input(prompt), SystemMessage(told)
        if told and messages[:1] != (system,):  # a prompt that goes on with an earlier run begins with it
            messages = (system, *messages)
        config = self.config or {}
        if isinstance(config, LoopConfig):
            config = as_tree(parse(exact_config_patch(config)))
        always = streams and "stream" not in self._preset.changes()["config"]
        plan = self._preset.plan(
            model=self.model,
            messages=messages,
            tools=self._offered.surface,
            options=self.options,
            settings={**({"stream": "always"} if always else {}), **config},
            seed=self.seed,
            output=None if self._output is None else self._output.spec,
            price=self.price,
        )
        if self.fallbacks:
            others = zip(self.fallbacks, self.at_fallbacks.items(), strict=True)
            fallbacks = [
                at.plan(prompt, streams=streams).as_fallback(name, there.on, there.foreign_reasoning)
                for there, (name, at) in others
            ]
            plan = replace(plan, fallbacks=tuple(fallbacks))
        for each in (plan, *plan.at_fallbacks):
            if each.cost_is_unknown and each.provider.reports_cost != "yes":
                raise ConfigError(unknown_price_error_text(each.config, each.model))
        return plan

    def run(
        self,
        prompt: Messages,
        *,
        record: str | Path | None = None,
        overwrite: bool = False,
        journal: Journal | None = None,
        inbox: Incoming | None = None,
        observe: Observer | None = None,
    ) -> AgentRun[Value_co]:
        """Run until the model has answered, a limit is reached, or a call needs approval.

        A provider that fails and a model that misbehaves do not raise: ``outcome`` says how the run ended,
        and ``raise_for_outcome()`` raises unless it completed. ``reply`` goes on with the conversation.

        :param prompt: as for :meth:`plan`
        :param record: record the run as ``<record>.yaml`` and ``<record>.journal.jsonl``, which ``replay``
            takes; with an endpoint of your own there is only the journal
        :param overwrite: whether the recording may replace another one
        :param journal: instead, a journal of your own
        :param inbox: what the user says meanwhile, an :class:`Inbox`; the next request sends it
        :param observe: called with each note (a decision of the run) as soon as it is made
        :raises ConfigError: before the first request, if a setting is not usable
        :raises EndpointConfigError: if no server is named, or its settings are not usable
        :raises SecretFound: if the recording would hold a secret
        """
        plan = self.plan(prompt)
        runs = self._agent_runs(
            plan, record=record, overwrite=overwrite, journal=journal, inbox=inbox, observe=observe
        )
        return immediately(runs.perform(partial(run, plan), plan))

    async def arun(
        self,
        prompt: Messages,
        *,
        record: str | Path | None = None,
        overwrite: bool = False,
        journal: Journal | None = None,
        inbox: Incoming | None = None,
        observe: Observer | None = None,
    ) -> AgentRun[Value_co]:
        """The async version of :meth:`run`, for asyncio and trio; what blocks runs in threads."""
        plan = self.plan(prompt)
        runs = self._agent_runs(
            plan, record=record, overwrite=overwrite, journal=journal, inbox=inbox, observe=observe
        )
        return await runs.perform(partial(arun, plan), plan, awaits=True)

    def stream(
        self,
        prompt: Messages,
        *,
        record: str | Path | None = None,
        overwrite: bool = False,
        journal: Journal | None = None,
        inbox: Incoming | None = None,
    ) -> Generator[AgentEvent[Value_co], None, None]:
        """Run like :meth:`run`, and yield what there is to show, as it happens.

        The last event, ``RunEnded``, has the run. Closing the generator before its end closes the connection;
        the recording then ends with a ``CancelRequested``.
        """
        plan = self.plan(prompt, streams=True)
        runs = self._agent_runs(plan, record=record, overwrite=overwrite, journal=journal, inbox=inbox)
        return items_without_suspending(runs.perform_stream(partial(stream, plan), plan))

    def astream(
        self,
        prompt: Messages,
        *,
        record: str | Path | None = None,
        overwrite: bool = False,
        journal: Journal | None = None,
        inbox: Incoming | None = None,
    ) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`stream`.

        If you may stop before the last event, use it with ``contextlib.aclosing``.
        """
        plan = self.plan(prompt, streams=True)
        runs = self._agent_runs(plan, record=record, overwrite=overwrite, journal=journal, inbox=inbox)
        return runs.perform_stream(partial(astream, plan), plan, awaits=True)

    def as_tool(
        self,
        name: str = "ask_agent",
        description: str = "",
        *,
        record: str | Path | None = None,
        **flags: Unpack[ToolFlags],
    ) -> Tool:
        """This agent as a tool of another: each call with a ``prompt`` is a run of its own.

        The result has the ``answer``, so a replay of the outer run needs no inner one. What the inner run
        took counts in ``usage``, ``cost`` and the limits of the outer run.

        :param name: of the tool
        :param description: what the model is told about it; by default the agent's instructions
        :param record: a folder, in which each inner run is recorded under the idempotency key of its call
        :param flags: such as ``needs_approval=True`` or ``deadline_ms=60_000``
        """
        check_types(name=name, description=description, record=record)
        folder = None if record is None else Path(record)

        is_async = self._offered.needs_async or iscoroutinefunction(getattr(self.endpoint, "send", None))
        run_agent: Any = self.arun if is_async else self.run

        async def aask(prompt: str) -> dict[str, Json]:
            if not prompt.strip():
                raise ToolError("prompt: it is empty; write what the agent shall do")
            bill = begin_spending()
            run = await await_if_awaitable(run_agent(prompt, record=_unused_recording_path(folder)))
            bill.add_ended_run(run.spent)
            return _tool_result_of_agent_run(run)

        def ask(prompt: str) -> dict[str, Json]:
            return immediately(aask(prompt))

        told = description or self.instructions or "Ask an assistant; it does not know this conversation."
        return Tool.of(aask if is_async else ask, name=name, description=told, **flags)

    def ports(self, transport: Any = None) -> AbstractContextManager[Ports]:  # noqa: ANN401 - of httpx, an extra
        """The ports of a run, for ``run``, ``go_on`` and ``resume``; the endpoint is open inside the block.

        :param transport: of httpx, for example a cassette's
        """
        return enter_without_suspending(self.open_ports(transport))

    def aports(self, transport: Any = None) -> AbstractAsyncContextManager[AsyncPorts]:  # noqa: ANN401 - see above
        """The async version of :meth:`ports`."""
        return self.open_ports(transport, awaits=True)

    @asynccontextmanager
    async def open_ports(self, transport: Any, *, awaits: bool = False) -> AsyncGenerator[Any]:  # noqa: ANN401
        """The ports of a sync or async run, for :meth:`ports` and :meth:`aports`."""
        host, approver = self._offered.host(awaits=awaits), approver_of(self.approve, awaits=awaits)
        async with AsyncExitStack() as opened:
            endpoint = await self._open_endpoint(opened, transport, awaits=awaits)
            yield (AsyncPorts if awaits else Ports)(endpoint, host, approver)

    async def _open_endpoint(self, opened: AsyncExitStack, transport: Any, *, awaits: bool) -> Any:  # noqa: ANN401
        first: Any = self.endpoint
        if first is None:
            from toolreel.http import AsyncHttpEndpoint, HttpEndpoint

            settings = {**self._connection_settings(), "transport": transport}
            if awaits:
                first = await opened.enter_async_context(AsyncHttpEndpoint(**settings))
            else:
                first = opened.enter_context(HttpEndpoint(**settings))
        elif awaits and not iscoroutinefunction(first.send):
            first = Threaded(first)
        elif iscoroutinefunction(first.send) and not awaits:
            raise ConfigError(f"endpoint: {type(first).__name__} is async; write await agent.arun(...)")
        others = {
            name: await at._open_endpoint(opened, transport, awaits=awaits)
            for name, at in self.at_fallbacks.items()
        }
        if not others:
            return first
        return AsyncEndpoints(first, others) if awaits else Endpoints(first, others)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that its runs send, by name; nothing shows or records them."""
        from toolreel.http import Address

        own: object = self.endpoint
        if own is None:
            connection = self._connection_settings()
            own = Address.of(connection.pop("base_url"), connection.pop("api_key_env"), **connection)
        return secrets_of_ports(own, *self._offered.hosts, *self.at_fallbacks.values())

    def __repr__(self) -> str:
        where = ""
        if self.endpoint is not None:
            where = f", endpoint={type(self.endpoint).__name__}"
        elif self.base_url is not None:
            where = f", base_url={url_safe_to_log(self.base_url)!r}"
        return f"Agent({self.model!r}{where}, tools=[{', '.join(self._offered.surface.names)}])"

    def _agent_runs(self, plan: Plan, **how: Unpack[RunSettings]) -> AgentRuns:  # noqa: ARG002 - for a reel
        record, journal = how.get("record"), how.get("journal")
        check_types(record=record, overwrite=how.get("overwrite", False))
        check_run_arguments(journal=journal, observe=how.get("observe"), inbox=how.get("inbox"))
        if record is not None and journal is not None:
            raise ConfigError("record and journal are both given; a recording has a journal of its own")
        path = None
        if record is not None:
            from toolreel._journal import cassette_path  # most runs are not recorded

            path = cassette_path(record)
        settings: dict[str, Any] = {**how, "record": path}
        return AgentRuns(self, self._output, **settings)

    def _connection_settings(self) -> dict[str, Any]:
        given = None if self.api_key is None else Secret(self.api_key)
        url, key, variable = server_settings(
            self.base_url, given, self.api_key_env, own_key=not self._keyless
        )
        headers = {name: Secret(value).reveal() for name, value in (self.headers or {}).items()}
        return {"base_url": url, "api_key": key, "api_key_env": variable, "headers": headers}


def _fallback_agents(agent: Agent[Any], fallbacks: Iterable[object]) -> dict[str, Agent[Any]]:
    found = dict[str, Any]()
    for number, there in enumerate(fallbacks):
        if not isinstance(there, Fallback):
            kind = type(there).__name__
            raise ConfigError(f"fallbacks[{number}]: expected a Fallback, got {kind}; write Fallback(model)")
        if (name := there.name or there.model) in found:
            raise ConfigError(f"fallbacks[{number}]: there are two named {name!r}; write name= in one")
        is_elsewhere = there.base_url is not None or there.endpoint is not None
        settings: dict[str, Any] = {key: getattr(there, key) for key in _OF_MODEL}
        settings |= {key: getattr(there if is_elsewhere else agent, key) for key in _OF_SERVER}
        settings["provider"] = there.provider or ("" if is_elsewhere else agent.provider)
        try:
            check_types(name=there.name, on=there.on)
            found[name] = replace(agent, **settings, fallbacks=())
        except ConfigError as error:
            raise ConfigError(f"fallbacks[{number}]: {error}") from error
        # The key of the environment is for the agent's own server.
        object.__setattr__(found[name], "_keyless", is_elsewhere)
    return found


def _unused_recording_path(folder: Path | None) -> Path | None:
    """A free name for the recording of an inner run: the key of the outer call, which its journal has too."""
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    key = current_call().key
    # A call that is repeated after a crash, or in a fork, has the same key: no recording is replaced.
    names = (f"{key}-{number}" if number > 1 else key for number in count(1))
    return folder / next(name for name in names if not any(folder.glob(f"{name}.*")))


def _tool_result_of_agent_run(run: AgentRun[Any]) -> dict[str, Json]:
    outcome, why = run.outcome, run.outcome.name
    if isinstance(outcome, Resting):
        why = "the agent wants to call a tool that needs approval, which nobody can give here"
        raise ToolError(why, "AGENT_RESTS")
    if isinstance(outcome, Completed):
        try:
            _ = run.output  # checks of its type that JSON Schema cannot say
            return {"answer": outcome.content if outcome.value is None else parse(outcome.value)}
        except OutputError as error:
            why = str(error)
    raise ToolError(f"the agent did not answer: {why}", "AGENT_DID_NOT_ANSWER")
