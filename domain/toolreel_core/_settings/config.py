"""How a run behaves, as data: modes, limits and policies, validated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._internal.checks import changed, check_keys, check_settings
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json
from toolreel_core._jsontext.json_repair import ArgumentRepairs
from toolreel_core._settings.token_estimates import estimator
from toolreel_core._text_calls.catalogue import DIALECTS, MARKED
from toolreel_core._transforms import KINDS, transform

ToolUseMode: TypeAlias = Literal["relaxed", "enforced", "disabled"]
"""``relaxed``: a run may do without tools; ``enforced``: at least one call, else ``no_tool_calls``;
``disabled``: tools are never sent, and calls that come anyway are ignored."""

ToolFailurePolicy: TypeAlias = Literal["fatal", "tolerated"]
"""What an enforced run makes of failed tools: ``fatal``, it ends as ``tool_error`` if the last result
of any tool is a failure; ``tolerated``, one success is enough."""

TextCallsFor: TypeAlias = Literal["all", "approved", "read_only"]
"""Which tools a call may run that was read from text: ``all``; ``approved``, all, but somebody is asked
before one that is not declared read-only; ``read_only``, those that are declared so, and no other."""


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """Limits and choices of the loop; a limit of ``None`` is off.

    :raises ConfigError: if a value is out of range; the text names the key and what is allowed
    """

    tool_use_mode: ToolUseMode = "relaxed"
    tool_failure_policy: ToolFailurePolicy = "fatal"
    max_turns: int = 12
    """Turns of the model before the run ends as ``max_turns``; retries of a turn do not count."""
    max_tool_calls_per_turn: int | None = None
    """Calls of one reply that are heard, the rest are ignored; 1 if the request says
    ``parallel_tool_calls: false`` and nothing is set here."""
    max_tool_args_bytes: int = 200_000
    """UTF-8 bytes of a call's arguments, as the model wrote them, that may reach a tool."""
    max_tool_output_bytes: int = 200_000
    """UTF-8 bytes of a tool's output that may reach the model."""
    max_argument_depth: int = 64
    """Levels of nesting in a call's arguments; at most what can be read back, 128."""
    max_tool_definitions_count: int = 128
    """Tools that may be sent to the model; those that are not exposed do not count."""
    max_tool_definitions_bytes: int = 200_000
    """UTF-8 bytes of the ``tools`` array that may be sent."""
    null_for_optional_is_absent: bool = False
    """Leave out an argument that is ``null`` where the schema neither takes null nor needs it."""
    max_total_tokens: int | None = None
    """Tokens, as far as the provider counts them, before the run ends as ``budget``."""
    max_cost: float | None = None
    """What the provider says it charges, in its currency, before the run ends as ``budget``."""
    max_wall_ms: int | None = None
    """Milliseconds since the start, by the times on events, before the run ends as ``budget``."""
    max_tool_calls: int | None = None
    """Calls that may reach a tool before the run ends as ``budget``."""
    repetition_warn: int | None = 3
    """The same call with the same result that often in a row: the model is warned."""
    repetition_stop: int | None = 5
    """That often: the run ends as ``repeated_call``."""
    nudge_no_tool_calls: int = 0
    """How often a model is asked again that answers without a successful call in an enforced
    run, or whose calls as text could not be read."""
    require_first_call: bool = False
    """Ask with ``tool_choice: required`` until a call succeeds, in an enforced run and where the provider
    is known to support it."""
    fix_empty_final: bool = True
    """Ask once more when the final text after tools is empty."""
    fix_empty_final_disable_tools: bool = True
    """Send no tools with that question."""
    fix_empty_final_text: str = "Now answer in words: what is the result?"
    final_stream: bool = False
    """Have replies streamed where the model can call no tools: in a chat, and in the turn after tools."""
    max_tries: int = 3
    """Attempts of one request, including the first, when failures are retryable."""
    retry_base_ms: int = 1_000
    """Milliseconds before the first retry, doubled for each further one, with jitter from the seed."""
    retry_cap_ms: int = 60_000
    """The longest wait; a server that asks for more with Retry-After ends the run instead."""
    fallback_without_tools: bool = False
    """Go on without tools, in relaxed mode, when the server refuses them."""
    parallel_tools: bool = False
    """Run calls of one reply at the same time if all their tools are declared read-only."""
    context_window_tokens: int | None = None
    """The model's window; a request that would not fit is shortened, or ends the run as
    ``context_overflow``."""
    reserved_response_tokens: int = 0
    """What of the window is kept for the reply."""
    estimator: str = "bytes_per_4"
    """Name of the function that estimates how many tokens a text has."""
    history_policies: tuple[str, ...] = ()
    """What may be dropped or shortened when the window is full, in the order in which it is tried.

    The plan checks that these exist, since policies are about messages, of which settings know nothing."""
    argument_repairs: ArgumentRepairs = "safe"
    """How far a reply that is not as documented is mended: ``strict``, not at all, as a control group;
    ``safe``, nothing that was cut; ``lenient``, also guesses at what was meant."""
    text_dialects: tuple[str, ...] = ()
    """Ways of writing a tool call as text that are read as calls; none unless asked for. ``marked`` stands
    for all those that nothing but a call looks like."""
    untrusted_tools: tuple[str, ...] = ()
    """Names or patterns, such as ``mcp_*``, of tools that return what strangers wrote; their results are
    told to be data."""
    dialects_in_reasoning: bool = False
    """Read them in the reasoning too, where a reply has nothing else."""
    text_calls_for: TextCallsFor = "all"
    """What such a call may run: who can make a model repeat a text can make it call tools that way."""
    message_transforms: tuple[str, ...] = ()
    """Named functions that each message passes on its way out, in order."""
    tool_transforms: tuple[str, ...] = ()
    """The same for each entry of the ``tools`` that are sent."""
    response_transforms: tuple[str, ...] = ()
    """The same for each response body, before it is read."""
    tool_call_transforms: tuple[str, ...] = ()
    """The same for each call entry of a response."""
    tool_result_transforms: tuple[str, ...] = ()
    """The same for each result, before it is written to the history."""

    def __post_init__(self) -> None:
        check_settings(self, _MINIMA)
        self._check_cost()
        self._check_consistency()
        self._check_names()

    def _check_names(self) -> None:
        dialects = (MARKED if name == "marked" else (name,) for name in self.text_dialects)
        object.__setattr__(self, "text_dialects", tuple(dict.fromkeys(chain.from_iterable(dialects))))
        for name in self.text_dialects:
            if name not in DIALECTS:
                raise ConfigError(f"text_dialects: {unknown_name('dialect', name, DIALECTS)}")
        _check_registered("estimator", (self.estimator,), estimator)
        for kind in KINDS:
            key = f"{kind}_transforms"
            _check_registered(key, getattr(self, key), partial(transform, kind))

    def _check_cost(self) -> None:
        """Check the cost and store it as a float: 1 and 1.0 must give equal plans equal digests."""
        cost = self.max_cost
        if cost is None:
            return
        if type(cost) not in {int, float} or not 0 < cost <= _MAX_COST:
            off = "or nothing to turn it off"
            raise ConfigError(
                f"max_cost: expected a number above 0 and up to {_MAX_COST}, {off}, got {cost!r}"
            )
        object.__setattr__(self, "max_cost", float(cost))

    def _check_consistency(self) -> None:
        """Check values that are valid alone and may contradict each other."""
        if self.max_argument_depth > MAX_DEPTH:
            raise ConfigError(f"max_argument_depth: at most {MAX_DEPTH}, got {self.max_argument_depth}")
        if not self.fix_empty_final_text.strip():
            raise ConfigError("fix_empty_final_text: expected a sentence, got an empty text")
        warn, stop = self.repetition_warn, self.repetition_stop
        if warn is not None and stop is not None and warn >= stop:
            raise ConfigError(f"repetition_warn: expected less than repetition_stop ({stop}), got {warn}")
        window, reserved = self.context_window_tokens, self.reserved_response_tokens
        if window is not None and reserved >= window:
            least = f"less than context_window_tokens ({window})"
            raise ConfigError(f"reserved_response_tokens: expected {least}, got {reserved}")
        if self.retry_cap_ms < self.retry_base_ms:
            least = f"at least retry_base_ms ({self.retry_base_ms})"
            raise ConfigError(f"retry_cap_ms: expected {least}, got {self.retry_cap_ms}")

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> LoopConfig:
        """The defaults with these changes.

        >>> LoopConfig.of({"max_turn": 3})
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is no setting 'max_turn'; did you mean 'max_turns'?
        """
        check_keys(cls, changes)
        return cls(**changes)

    def changes(self) -> dict[str, Json]:
        """The settings that differ from their defaults.

        >>> LoopConfig(max_turns=3).changes()
        {'max_turns': 3}
        """
        return changed(self)


_MINIMA: Final = {
    "repetition_warn": 2,
    "repetition_stop": 2,
    "nudge_no_tool_calls": 0,
    "retry_base_ms": 0,
    "retry_cap_ms": 0,
    "reserved_response_tokens": 0,
}
"""The minimum of each count for which it is not 1."""
_MAX_COST: Final = 1_000_000_000


def _check_registered(key: str, names: Iterable[str], find: Callable[[str], object]) -> None:
    for name in names:
        try:
            find(name)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None
