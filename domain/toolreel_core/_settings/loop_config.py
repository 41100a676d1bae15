"""Settings of the loop: modes, limits and policies, validated once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Literal, TypeAlias

from toolreel_core._config_checks import (
    Natural,
    Settings,
    check_and_convert_settings,
    check_registered,
    unknown_name_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import MAX_DEPTH, ArgumentRepairs
from toolreel_core._settings.costs import estimator
from toolreel_core._settings.transforms import TRANSFORM_KINDS, transform
from toolreel_core._text_calls import DIALECTS, MARKED

ToolUseMode: TypeAlias = Literal["relaxed", "enforced", "disabled"]
"""``enforced``: at least one tool call, else the run ends as ``no_tool_calls``; ``disabled``: tools are never
sent, and calls are ignored."""

ToolFailurePolicy: TypeAlias = Literal["fatal", "tolerated"]
"""Failed tools in an enforced run. ``fatal``: if the last result of any tool is a failure, the run ends as
``tool_error``; ``tolerated``: one success is enough."""

StreamMode: TypeAlias = Literal["always", "final", "never"]
"""Requests that ask for a stream. ``always``: all; ``final``: those that offer the model no tools."""

TextCallsFor: TypeAlias = Literal["all", "approved", "read_only"]
"""Tools that a call in text may run. ``approved``: all, but those that are not read-only need approval;
``read_only``: only tools declared read-only."""

ResultFormat: TypeAlias = Literal["envelope", "plain"]
"""What a successful call tells the model: the envelope, or its data alone."""
UnknownCost: TypeAlias = Literal["stop", "allow"]
"""A reply whose cost nobody knows, where costs are limited. ``stop``: the run sends no further request and
ends as ``cost_unknown``; ``allow``: it does not count."""

OutputMode: TypeAlias = Literal["auto", "native", "tool", "text"]
"""How a final answer of a plan's output is asked for. ``native``: with ``response_format``; ``tool``: as the
arguments of a final tool; ``text``: as JSON in the text, by an instruction; ``auto``: by what is known of the
provider."""

ConstrainedCalls: TypeAlias = Literal["off", "response_format"]
"""The key of the request that holds the server's decoding to one call of an offered tool, or to the final
answer: llama.cpp and others take a ``json_schema`` beside ``tools`` there."""

RepeatedEffects: TypeAlias = Literal["run", "refuse"]
"""A call with an effect that equals one that succeeded in the same exchange. ``refuse``: it is not run again,
and its result says that it has already been done."""

DEFAULT_FINAL_TEXT = "Now answer in words: what is the result?"


@dataclass(frozen=True, slots=True)
class LoopConfig(Settings):
    """Limits and choices of the loop; a limit of ``None`` is off.

    :raises ConfigError: if a value is out of range; the text names the key and what is allowed
    """

    tool_use_mode: ToolUseMode = "relaxed"
    tool_failure_policy: ToolFailurePolicy = "fatal"
    max_turns: int = 12
    """Turns of the model before the run ends as ``max_turns``; retries of a turn do not count.

    This limit and the budgets apply to each exchange of a conversation: from one message of the user to
    the end. Those of ``max_conversation_`` hold for all exchanges together."""
    max_tool_calls_per_turn: int | None = None
    """Maximum calls of one reply; if unset, 1 where the request says ``parallel_tool_calls: false``."""
    max_tool_args_bytes: int = 200_000
    """UTF-8 bytes of a call's arguments, as the model wrote them, that may reach a tool."""
    max_tool_output_bytes: int = 200_000
    """UTF-8 bytes of a tool's output that may reach the model."""
    max_tool_parts_bytes: int = 20_000_000
    """Bytes of the images, audio and files in one result that may reach the model."""
    max_argument_depth: int = 64
    """Maximum levels of nesting in a call's arguments; at most 128."""
    # OpenAI refuses more (zed-industries/zed#32946).
    max_tool_definitions_count: int = 128
    """Tools that may be sent to the model; those that are not exposed do not count."""
    max_tool_definitions_bytes: int = 200_000
    """UTF-8 bytes of the ``tools`` array that may be sent."""
    null_for_optional_is_absent: bool = False
    """Drop an argument that is ``null`` if the schema neither accepts null nor requires it."""
    max_total_tokens: int | None = None
    """Maximum tokens, as counted by the provider; then the run ends as ``budget``."""
    max_cost: float | None = None
    """Maximum cost, as reported by the provider or by the plan's price; then the run ends as ``budget``."""
    max_wall_ms: int | None = None
    """Maximum milliseconds since the start, by the times on events; then the run ends as ``budget``."""
    max_tool_calls: int | None = None
    """Maximum calls that reach a tool; then the run ends as ``budget``."""
    max_conversation_turns: int | None = None
    """Maximum turns of all exchanges of a conversation; then it ends as ``conversation_budget``."""
    max_conversation_tokens: int | None = None
    """Maximum tokens of all exchanges, as counted by the provider; then ``conversation_budget``."""
    max_conversation_cost: float | None = None
    """Maximum cost of all exchanges, counted alike; then ``conversation_budget``."""
    unknown_cost: UnknownCost = "stop"
    """What a reply of unknown cost does where a cost is limited."""
    repetition_warn: Annotated[int, 2] | None = 3
    """Warn the model after this many equal calls in a row with the same result."""
    repetition_stop: Annotated[int, 2] | None = 5
    """End the run as ``repeated_call`` after this many."""
    nudge_no_tool_calls: Natural = 0
    """How often to ask again after a reply without a successful call in an enforced run, or with an
    unreadable call."""
    require_first_call: bool = False
    """Send ``tool_choice: required`` until a call succeeds, in enforced runs and if the provider supports
    it."""
    accept_suspected_calls: bool = False
    """Take a text that looks like a tool call in no enabled dialect for the answer, instead of asking again
    once and then ending the run as ``invalid_reply``. The note ``TEXT_CALL_SUSPECTED`` stays."""
    fix_empty_final: bool = True
    """Ask again, once, if the first reply is empty, and once if the final text after tools is."""
    fix_empty_final_disable_tools: bool = True
    """Send the request for a final text without tools."""
    fix_empty_final_text: str = DEFAULT_FINAL_TEXT
    output_mode: OutputMode = "auto"
    """How the final answer is asked for, if the plan has an output."""
    output_retries: Natural = 2
    """How often the model is asked again after a final answer that does not fit the plan's output; then the
    run ends as ``invalid_output``."""
    stream: StreamMode = "never"
    """Which replies are streamed: all, those to requests without tools, or none."""
    max_tries: int = 3
    """Attempts of one request, including the first, when failures are retryable."""
    retry_base_ms: Natural = 1_000
    """Milliseconds before the first retry, doubled for each further one, with jitter from the seed."""
    retry_cap_ms: Natural = 60_000
    """Maximum delay; a longer Retry-After ends the run."""
    fallback_without_tools: bool = False
    """In relaxed mode, continue without tools if the server rejects them."""
    parallel_tools: bool = False
    """Run consecutive calls to read-only tools concurrently."""
    context_window_tokens: int | None = None
    """The model's context window; a longer history is shortened, or the run ends as ``context_overflow``."""
    reserved_response_tokens: Natural = 0
    """Tokens of the window to reserve for the reply."""
    estimator: str = "bytes_per_4"
    """Name of the function that estimates the tokens of a text."""
    history_policies: tuple[str, ...] = ()
    """Names of the policies that shorten a history, in order; the plan checks that they exist."""
    argument_repairs: ArgumentRepairs = "safe"
    """Repair of malformed replies. ``strict``: none; ``safe``: nothing truncated; ``lenient``: guesses
    too."""
    text_dialects: tuple[str, ...] = MARKED
    """Dialects of tool calls in text to read; ``marked`` stands for all that no other text resembles. None:
    no call in text is read, and an opening note says so."""
    result_format: ResultFormat = "envelope"
    """What a successful call tells the model; with a warning or a notice, and of a failure, it is always the
    envelope."""
    untrusted_tools: tuple[str, ...] = ()
    """Names or patterns (``mcp_*``) of tools that return third-party text; a notice tells the model so."""
    dialects_in_reasoning: bool = False
    """Search the reasoning too if the reply has nothing else."""
    text_calls_for: TextCallsFor = "all"
    """What a call in text may run: text that the model repeats may be injected. All by default, since small
    models have no other way to call a tool; the preset ``untrusted_content`` sets ``read_only``."""
    message_transforms: tuple[str, ...] = ()
    """Names of the transforms of each message that is sent, in order."""
    tool_transforms: tuple[str, ...] = ()
    """Names of the transforms of each entry of ``tools``."""
    response_transforms: tuple[str, ...] = ()
    """Names of the transforms of each response body, before it is read."""
    tool_call_transforms: tuple[str, ...] = ()
    """Names of the transforms of each call entry of a response."""
    tool_result_transforms: tuple[str, ...] = ()
    """Names of the transforms of each result, before it joins the history."""
    constrained_calls: ConstrainedCalls = "off"
    """Where the server can constrain decoding: the key that makes a reply one valid call, or the final
    answer. In a relaxed run, only once the model has begun a call in this exchange."""
    restate_task: bool = False
    """Tell the model after each result what the task is and which calls have succeeded. The reminder is sent
    as a message of the user and not stored."""
    repeated_effects: RepeatedEffects = "run"
    """What a call does that repeats one that succeeded; tools that are read-only or polling always run."""
    withhold_repeated: Natural = 0
    """After how many repetitions of a call that brought nothing new the constraint leaves its tool out, until
    another call is made; 0 for never. It needs ``constrained_calls``."""

    def __post_init__(self) -> None:
        for key in _COSTS:
            cost = getattr(self, key)
            if cost is not None and (type(cost) not in {int, float} or not 0 < cost <= _MAX_COST):
                expected = f"a number above 0 and up to {_MAX_COST}, or nothing to turn it off"
                raise ConfigError(f"{key}: expected {expected}, got {cost!r}")
        check_and_convert_settings(self)
        if self.max_argument_depth > MAX_DEPTH:
            raise ConfigError(f"max_argument_depth: at most {MAX_DEPTH}, got {self.max_argument_depth}")
        dialects = (MARKED if name == "marked" else (name,) for name in self.text_dialects)
        object.__setattr__(self, "text_dialects", tuple(dict.fromkeys(chain.from_iterable(dialects))))
        for name in self.text_dialects:
            if name not in DIALECTS:
                raise ConfigError(f"text_dialects: {unknown_name_message('dialect', name, DIALECTS)}")
        check_registered("estimator", (self.estimator,), estimator)
        for kind in TRANSFORM_KINDS:
            key = f"{kind}_transforms"
            check_registered(key, getattr(self, key), partial(transform, kind))

    @property
    def limits_cost(self) -> bool:
        """Whether it limits what a run or a conversation costs."""
        return any(getattr(self, key) is not None for key in _COSTS)

    @property
    def needs_costs(self) -> bool:
        """Whether a run must not go on without knowing what it has cost."""
        return self.unknown_cost == "stop" and self.limits_cost

    def dialects(self, *, offered: bool) -> tuple[str, ...]:
        """The dialects to read. The default holds only where tools are offered; named dialects always do.

        >>> LoopConfig().dialects(offered=False), LoopConfig(text_dialects=("react",)).dialects(offered=False)
        ((), ('react',))
        """
        return () if self.text_dialects == MARKED and not offered else self.text_dialects


_COSTS = ("max_cost", "max_conversation_cost")
# A reply that reports a higher cost counts as one without a cost (`_replies/reply.py`).
_MAX_COST = 1_000_000_000
