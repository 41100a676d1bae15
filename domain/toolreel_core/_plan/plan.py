"""The plan: everything that a run depends on, fixed before it begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Literal, TypeAlias, cast, get_args

from toolreel_core._config_checks import check_registered
from toolreel_core._conversation import (
    Form,
    Message,
    Messages,
    UserMessage,
    history_policy,
    messages_from_input,
    parts_of_message,
    unsupported_part_error,
    wire_text,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    json_text,
    parse,
    tree_at,
)
from toolreel_core._plan.output import (
    ANSWER_TOOL,
    DIALECT,
    EARLY_ANSWER_TOOL,
    AskedBy,
    OutputSpec,
    final_tool,
    output_instruction,
    response_format,
    with_instruction,
)
from toolreel_core._plan.request import Bodies, OutputParts, RequestOptions, build_request_bodies
from toolreel_core._settings import PART_SETTINGS, LoopConfig, Price, Provider, apply_transforms
from toolreel_core._tools import SchemaLike, ToolDefinition, ToolSurface, check_surface

OWNED = ("model", "messages", "tools", "stream")
"""Keys of a body that options may not set."""
_INSTEAD = {
    **dict.fromkeys(OWNED, "give it to the plan instead"),
    "stream": 'write config=LoopConfig(stream="always"), or stream="final" for requests without tools',
}
"""What to write instead."""
_CONSTRAINED_OUTPUT = (
    "output_mode: constrained_calls makes each reply a call, so the answer is one too; "
    "write output_mode='tool', or constrained_calls='off'"
)
_ANSWER_TAKEN = (
    f"constrained_calls: the answer is a call of {ANSWER_TOOL.name!r}, and there is a tool of that name; "
    "rename the tool"
)
_FIELDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "the name of a model"),
    "config": ((LoopConfig,), "config=LoopConfig(max_turns=3)"),
    "seed": ((int,), "a whole number"),
    "provider": ((Provider,), "provider=Provider(...), or take a preset: shipped().for_(name).plan(...)"),
    "price": ((Price, NoneType), "price=Price(input=..., output=...), per million tokens"),
}
"""The kinds of the fields that users write themselves, and what to write."""
_NO_TOOLS = ToolSurface()
_DEFAULTS = LoopConfig()
_ANY = Provider()


# Further endpoints of a run: where it goes on when the endpoint before fails, and for which reasons.


FallbackReason: TypeAlias = Literal[
    "connection", "timeout", "server_error", "rate_limit", "denied", "not_found", "capability", "empty"
]
"""What ended the run at an endpoint, after its retries and recoveries. ``connection``: none, or it broke;
``timeout``: no response in time, or status 408; ``server_error``: a status of 500 and above, or a body that
is not a reply; ``rate_limit``: 429; ``denied``: 401, 402 or 403; ``not_found``: 404 or 410;
``capability``: it refuses tools, or the form of the answer; ``empty``: an empty final answer."""

ForeignReasoning: TypeAlias = Literal["pin", "drop"]
"""What becomes of signatures, and of reasoning that has to come back, which go to no other provider.
``pin``: a history that has them stays with its endpoint, and the run ends as it would without another one;
``drop``: the next endpoint gets the history without them."""

OF_ENDPOINT = ("model", "options", "provider", "overrides", "presets", "price")
"""The parts of a plan that each endpoint has of its own; its settings are partly the run's."""

REASONS: tuple[FallbackReason, ...] = get_args(FallbackReason)
_FOREIGN: tuple[ForeignReasoning, ...] = get_args(ForeignReasoning)

OF_RUN = (
    "tool_use_mode",
    "tool_failure_policy",
    "max_turns",
    "max_tool_calls_per_turn",
    "max_tool_args_bytes",
    "max_tool_output_bytes",
    "max_tool_parts_bytes",
    "max_argument_depth",
    "max_total_tokens",
    "max_cost",
    "max_wall_ms",
    "max_tool_calls",
    "max_conversation_turns",
    "max_conversation_tokens",
    "max_conversation_cost",
    "unknown_cost",
    "repetition_warn",
    "repetition_stop",
    "parallel_tools",
    "output_retries",
    "untrusted_tools",
    "text_calls_for",
    "restate_task",
    "repeated_effects",
)
"""Settings that a run has once, whichever endpoint answers: its limits, what calls may do, and what it has to
remember of them. The other settings are an endpoint's own."""


@dataclass(frozen=True, slots=True)
class FallbackPlan:
    """What of a plan is different at another endpoint, and when a run goes there.

    :raises ConfigError: if a part is invalid
    """

    name: str
    """Names the endpoint, in effects, notes and ports."""
    model: str
    """The model's name, as this endpoint knows it."""
    options: JsonText = NOTHING
    """A JSON object with further keys of the request body here."""
    config: LoopConfig = _DEFAULTS
    """The settings here; those that a run has once (:data:`OF_RUN`) are the plan's."""
    provider: Provider = _ANY
    """What is known of this endpoint."""
    overrides: JsonText = NOTHING
    """A JSON object that is merged deeply into the request body here, last of all."""
    presets: tuple[str, ...] = ()
    """Names of the presets that the rest was made with, for the trace."""
    price: Price | None = None
    """What a reply costs here whose cost is not reported; ``None`` if nobody knows."""
    on: tuple[FallbackReason, ...] = REASONS
    """The reasons that lead here; by default, all."""
    foreign_reasoning: ForeignReasoning = "pin"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError("name: expected a name for the endpoint, got an empty text")
        if not self.on or not all(word in REASONS for word in self.on):
            raise ConfigError(f"on: expected some of {', '.join(REASONS)}, got {self.on!r}")
        if self.foreign_reasoning not in _FOREIGN:
            raise ConfigError(f"foreign_reasoning: expected pin or drop, got {self.foreign_reasoning!r}")

    def config_in(self, run: LoopConfig) -> LoopConfig:
        """The settings at this endpoint in a run with these."""
        return replace(self.config, **{key: getattr(run, key) for key in OF_RUN})

    def covered(self, *, price: bool) -> Json:
        """What a plan's digest covers.

        :param price: whether what a reply costs decides anything
        """
        known = self.price if price else None
        amounts = [] if known is None else [known.input, known.output, known.cached_input]
        rules: list[Json] = [[*self.on], self.foreign_reasoning]
        settings: list[Json] = [self.config.changes(), self.provider.changes()]
        return [self.name, self.model, self.options, self.overrides, *settings, *rules, amounts]


def check_fallbacks(fallbacks: object, price: Price | None) -> None:
    """Check that a plan's fallbacks can be told apart, and that their costs can be added up."""
    if not isinstance(fallbacks, tuple) or not all(isinstance(each, FallbackPlan) for each in fallbacks):
        raise ConfigError("fallbacks: Plan(...) takes a tuple of FallbackPlan; write Plan.of(...)")
    names = [fallback.name for fallback in fallbacks]
    currencies = {one.currency for one in (price, *(each.price for each in fallbacks)) if one is not None}
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ConfigError(f"fallbacks[{at}]: there are two named {name!r}; give each a name of its own")
    if len(currencies) > 1:
        named = " and ".join(sorted(currencies))
        raise ConfigError(f"fallbacks: prices in {named} cannot be added up; write all in one currency")


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the requests of a run depend on: model, messages, tools, settings, seed.

    :raises ConfigError: if the parts are invalid or contradict each other
    """

    model: str
    """The model's name, as the provider knows it."""
    messages: tuple[Message, ...]
    """The conversation so far; at least one message."""
    options: JsonText = NOTHING
    """A JSON object with further keys of the request body, such as ``temperature``."""
    tools: ToolSurface = _NO_TOOLS
    config: LoopConfig = _DEFAULTS
    seed: int = 0
    """The seed of everything random in the run, such as retry jitter."""
    provider: Provider = _ANY
    """What is known of the endpoint."""
    overrides: JsonText = NOTHING
    """A JSON object that is merged deeply into the request body, last of all; keys that are the run's own
    are ignored, and a note says so."""
    presets: tuple[str, ...] = ()
    """Names of the presets that the rest was made with, for the trace."""
    output: OutputSpec | None = None
    """What the final answer has to be; ``None`` for any text."""
    price: Price | None = None
    """What a reply costs whose cost the provider does not report; ``None`` if nobody knows."""
    fallbacks: tuple[FallbackPlan, ...] = ()
    """Further endpoints in order, where the run goes on when the one before fails."""
    digest: str = field(init=False, repr=False, compare=False)
    """SHA-256 over all of the above but the presets' names; names the run."""
    bodies: Bodies = field(init=False, repr=False, compare=False)
    """The parts of the requests' bodies that follow the messages."""
    reading: LoopConfig = field(init=False, repr=False, compare=False)
    """The settings to read replies with: where no tool is offered, the default reads no call in text."""
    asked_by: AskedBy | None = field(init=False, repr=False, compare=False)
    """How the final answer is asked for; ``None`` without an output."""
    callable_tools: ToolSurface = field(init=False, repr=False, compare=False)
    """The tools, and the final tool, if the answer is asked for by one."""
    at_fallbacks: tuple[Plan, ...] = field(init=False, repr=False, compare=False)
    """The plan as it is at each fallback."""

    def __post_init__(self) -> None:
        self._check_parts()
        check_fallbacks(self.fallbacks, self.price)
        self._choose_final_tool()
        try:
            check_surface(self.tools, self.config)
            object.__setattr__(self, "bodies", self._request_bodies())
            object.__setattr__(self, "digest", self._digest())
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.end]
            raise ConfigError(f"a text holds the lone surrogate {half!r}, which cannot be sent") from None
        # A reply that is held to a call is JSON in the text, whichever dialects the settings name.
        dialects = self.config.dialects(offered=self.offers_tools)
        if self.constrains_calls and DIALECT not in dialects:
            dialects = (*dialects, DIALECT)
        same = dialects == self.config.text_dialects
        reading = self.config if same else replace(self.config, text_dialects=dialects)
        object.__setattr__(self, "reading", reading)
        plans = list[Plan]()
        for number, there in enumerate(self.fallbacks):
            try:
                parts = {part: getattr(there, part) for part in OF_ENDPOINT}
                # Without fallbacks of its own, or each plan would make plans of the others without end.
                plans.append(replace(self, config=there.config_in(self.config), fallbacks=(), **parts))
            except ConfigError as error:
                raise ConfigError(f"fallbacks[{number}]: {error}") from error
        object.__setattr__(self, "at_fallbacks", tuple(plans))

    def _check_parts(self) -> None:  # noqa: PLR0912 - one check after the other
        for key, (kinds, instead) in _FIELDS.items():
            if not isinstance(value := getattr(self, key), kinds):
                raise ConfigError(f"{key}: got {type(value).__name__}; write {instead}")
        given: object = self.messages
        if not (isinstance(given, tuple) and all(isinstance(message, Message) for message in given)):
            raise ConfigError("messages: Plan(...) takes it only in its final form; write Plan.of(...)")
        if not self.model.strip():
            raise ConfigError("model: expected the name of a model, got an empty text")
        if not self.messages:
            raise ConfigError("messages: expected at least one message to begin with")
        for number, message in enumerate(self.messages):
            if isinstance(message, UserMessage) and (
                why := unsupported_part_error(message.parts, self.provider)
            ):
                raise ConfigError(f"messages[{number}]: {why}")
        for key in ("options", "overrides"):
            if not getattr(self, key).startswith("{"):
                raise ConfigError(f"{key}: expected a JSON object, got {getattr(self, key)}")
        owned = dict(_INSTEAD)
        if self.output is not None:
            owned["response_format"] = "the output sets it; leave it out"
        for key in as_tree(parse(self.options)):
            if key in owned:
                raise ConfigError(f"options: {key!r} is set by the run itself; {owned[key]}")
        if self.config.tool_use_mode == "enforced" and not self.tools.definitions:
            wants = "tool_use_mode: an enforced run has to call a tool, and there is none"
            raise ConfigError(f"{wants}; give it tools, or relax the mode")
        if self.cost_is_unknown and self.provider.reports_cost == "no":
            raise ConfigError(unknown_price_error_text(self.config, self.model))
        check_registered("history_policies", self.config.history_policies, history_policy)

    def _choose_final_tool(self) -> None:
        spec, tools, last, mode = self.output, self.tools, self.answer_tool, None
        if spec is not None:
            mode = self._output_mode(spec)
            last = final_tool(spec) if mode == "tool" else None
            if self.constrains_calls and last is None:
                raise ConfigError(_CONSTRAINED_OUTPUT)
        elif last is not None and last.name in tools.known:
            raise ConfigError(_ANSWER_TAKEN)
        if last is not None:
            early = last is EARLY_ANSWER_TOOL
            whole = (last, *tools.definitions) if early else (*tools.definitions, last)
            tools = ToolSurface(whole, tools.masked)
        object.__setattr__(self, "asked_by", mode)
        object.__setattr__(self, "callable_tools", tools)

    def _output_mode(self, spec: OutputSpec) -> AskedBy:
        provider, mode = self.provider, self.config.output_mode
        offers = self.sends_tools and bool(self.tools.names)
        if mode == "tool" and not self.sends_tools:
            raise ConfigError(
                "output_mode: 'tool' does not work, because this run sends no tools; use 'auto'"
            )
        if mode == "auto":
            takes_schema = (
                provider.supports_json_schema == "yes" and provider.supports_response_format != "no"
            )
            beside_tools = not offers or provider.supports_response_format_with_tools == "yes"
            if takes_schema and beside_tools and not self.constrains_calls:
                mode = "native"
            else:
                may_call = offers or (self.sends_tools and provider.supports_tools == "yes")
                mode = "tool" if may_call else "text"
        if mode == "tool" and spec.name in self.tools.known:
            raise ConfigError(f"output: there is a tool {spec.name!r} already; give the output another name")
        return mode

    @property
    def answer_tool(self) -> ToolDefinition | None:
        """The tool whose call is an answer in text, if decoding is constrained to calls."""
        if self.output is not None or not self.constrains_calls:
            return None
        return ANSWER_TOOL if self.config.tool_use_mode == "enforced" else EARLY_ANSWER_TOOL

    @property
    def opening(self) -> tuple[Message, ...]:
        """The messages that the run begins with: its own, with the instruction for the output, if any."""
        if self.output is None or self.asked_by != "text":
            return self.messages
        return with_instruction(self.messages, output_instruction(self.output))

    @property
    def calls_per_turn(self) -> int | None:
        """Maximum calls of one reply, ``None`` for no limit; further calls are ignored.

        Some models make several calls although the request forbids it. Where it doesn't, nothing is ignored
        without a limit of the settings.
        """
        limit = self.config.max_tool_calls_per_turn
        return 1 if limit is None and self.bodies.one_call else limit

    @property
    def cost_is_unknown(self) -> bool:
        """Whether costs are limited and no price is known, so that only the provider can say them."""
        return self.config.needs_costs and self.price is None

    @property
    def sends_tools(self) -> bool:
        """Whether requests may contain tools."""
        return self.config.tool_use_mode != "disabled" and self.provider.supports_tools != "no"

    @property
    def constrains_calls(self) -> bool:
        """Whether requests with tools hold their replies to one call."""
        return self.config.constrained_calls != "off" and self.sends_tools and bool(self.tools.names)

    @property
    def offers_tools(self) -> bool:
        """Whether the model can be offered a tool."""
        return self.sends_tools and bool(self.callable_tools.names)

    @property
    def form(self) -> Form:
        """How messages are written."""
        # Estimating takes time for each message, and only a window needs the figure.
        estimator = self.config.estimator if self.config.context_window_tokens is not None else ""
        return Form(self.provider, self.config.message_transforms, estimator)

    @classmethod
    def of(  # noqa: PLR0913 - a plan has that many parts, each by its name
        cls,
        *,
        model: str,
        messages: Messages,
        options: Mapping[str, Json] | None = None,
        tools: ToolSurface | Iterable[ToolDefinition] = (),
        config: LoopConfig | None = None,
        seed: int = 0,
        provider: Provider | None = None,
        overrides: Mapping[str, Json] | None = None,
        presets: Iterable[str] = (),
        output: SchemaLike | OutputSpec | None = None,
        price: Price | None = None,
        fallbacks: Iterable[FallbackPlan] = (),
    ) -> Plan:
        """A plan from everyday values.

        >>> Plan.of(model="m", messages="Say hello.", options={"temperature": 0}).messages
        (UserMessage(content='Say hello.'),)
        """
        said = messages_from_input(messages)
        last = said[-1] if said else None
        if isinstance(last, UserMessage) and not last.parts and not last.content.strip():
            raise ConfigError("messages: the prompt is empty; write what the user says")
        return cls(
            model,
            said,
            json_text(options or {}, "options"),
            _as_tool_surface(tools),
            config or _DEFAULTS,
            seed,
            provider or _ANY,
            json_text(overrides or {}, "overrides"),
            tuple(presets),
            None if output is None else OutputSpec.of(output),
            price,
            tuple(fallbacks),
        )

    def as_fallback(
        self,
        name: str,
        on: Iterable[FallbackReason] = REASONS,
        foreign_reasoning: ForeignReasoning = "pin",
    ) -> FallbackPlan:
        """What this plan, which was made for one endpoint, says of it: a fallback for another plan."""
        parts = {part: getattr(self, part) for part in OF_ENDPOINT}
        return FallbackPlan(
            name, config=self.config, on=tuple(on), foreign_reasoning=foreign_reasoning, **parts
        )

    def options_without(self, withheld: Collection[str]) -> RequestOptions:
        """The options of a request with tools whose reply may not be a call of these.

        :param withheld: inner names; the others and the final answer are left
        """
        return self._request_bodies(withheld).with_tools

    def _request_bodies(self, withheld: Collection[str] = ()) -> Bodies:
        trees = cast("list[Tree]", parse(self.tools.text)) if self.sends_tools else []
        entries, changed = self._transform_tools(trees)
        final: Json = None if self.answer_tool is None else self.answer_tool.tree()
        native: Json = None
        if self.output is not None and self.asked_by != "text":
            # The schema of a ``response_format`` passes the transforms of tools too: a provider takes the
            # same subset of JSON Schema in both.
            (entry,), more = self._transform_tools([cast("Tree", final_tool(self.output).tree())])
            changed = (*changed, *more)
            if self.asked_by == "tool":
                final = entry
            else:
                native = response_format(self.output, tree_at(entry, "function")["parameters"])
        held_to = None
        if self.constrains_calls:
            names = [self.tools.inner_name(str(tree_at(entry, "function")["name"])) for entry in entries]
            pairs = zip(names, entries, strict=True)
            held_to = tuple(entry for name, entry in pairs if name not in withheld)
        output = OutputParts(final, self.answer_tool is not None, native, held_to)
        options, overrides = as_tree(parse(self.options)), as_tree(parse(self.overrides))
        bodies = build_request_bodies(options, overrides, entries, self.provider, self.config, output)
        return bodies._replace(quirks=(*dict.fromkeys(changed), *bodies.quirks))

    def _transform_tools(self, trees: Iterable[Tree]) -> tuple[tuple[Tree, ...], tuple[str, ...]]:
        schemas = self.provider.schema_transform
        names = (*(() if schemas == "none" else (f"schema_{schemas}",)), *self.config.tool_transforms)
        applied = [apply_transforms("tool", names, entry) for entry in trees]
        changed = dict.fromkeys(name for each in applied for name in each.changed)
        return tuple(each.tree for each in applied), tuple(changed)

    def _digest(self) -> str:
        tools = self.tools.text if self.tools.is_sent_whole else self.tools.fingerprint
        provider = self.provider.changes()
        if not any(map(parts_of_message, self.messages)):
            # Without a part, the settings of parts decide nothing, so a catalogue that knows more of a
            # provider does not make recordings stale.
            provider = {key: value for key, value in provider.items() if key not in PART_SETTINGS}
        # Parts count only if they are set, so that a new one changes no digest.
        parts = {
            "config": canonical(self.config.changes()),
            "provider": canonical(provider),
            "overrides": self.overrides,
        }
        if (spec := self.output) is not None:
            parts["output"] = canonical([spec.schema, spec.name, spec.description])
        # Without a limit, a price decides nothing: a new price list must not make recordings stale.
        if (price := self.price) is not None and self.config.limits_cost:
            parts["price"] = canonical([price.input, price.output, price.cached_input])
        if self.fallbacks:
            counts = self.config.limits_cost
            parts["fallbacks"] = canonical([there.covered(price=counts) for there in self.fallbacks])
        given = [part for key, text in parts.items() if text != NOTHING for part in (key, text)]
        head = ("plan", self.model, self.options, tools, str(self.seed))
        return chained_digest(*head, *given, "messages", *map(wire_text, self.messages))


def unknown_price_error_text(config: LoopConfig, model: str) -> str:
    """What to write instead of a limit of costs that nobody can count."""
    key = "max_cost" if config.max_cost is not None else "max_conversation_cost"
    return (
        f"{key}: the price of {model!r} is unknown; write price=Price(input=..., output=...) per million "
        'tokens, reports_cost="yes" if the provider reports costs, or unknown_cost="allow" to run regardless'
    )


def _as_tool_surface(tools: object) -> ToolSurface:
    if isinstance(tools, ToolSurface):
        return tools
    if isinstance(tools, Iterable):
        return ToolSurface(tuple(tools))
    remedy = "host.surface" if hasattr(tools, "surface") else "PythonTools([function, ...]).surface"
    raise ConfigError(
        f"tools: expected the surface of a tool host, got {type(tools).__name__}; write tools={remedy}"
    )
