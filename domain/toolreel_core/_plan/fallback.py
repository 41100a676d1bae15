"""Further endpoints of a run: where it goes on when the endpoint before fails, and for which reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText
from toolreel_core._settings import LoopConfig, Price, Provider

FallbackReason: TypeAlias = Literal[
    "connection", "timeout", "server_error", "rate_limit", "denied", "not_found", "capability", "empty"
]
"""What ended the run at an endpoint, after its retries and recoveries. ``connection``: none, or it broke;
``timeout``: no response in time, or status 408; ``server_error``: a status of 500 and above, or a body that
is no reply; ``rate_limit``: 429; ``denied``: 401, 402 or 403; ``not_found``: 404 or 410; ``capability``: it
refuses tools, or the form of the answer; ``empty``: an empty final answer."""

ForeignReasoning: TypeAlias = Literal["pin", "drop"]
"""What becomes of signatures, and of reasoning that has to come back, which go to no other provider.
``pin``: a history that has them stays with its endpoint, and the run ends as it would without another one;
``drop``: the next endpoint gets the history without them."""

OF_ENDPOINT: Final = ("model", "options", "provider", "overrides", "presets", "price")
"""The parts of a plan that each endpoint has of its own; its settings are partly the run's."""

REASONS: Final[tuple[FallbackReason, ...]] = get_args(FallbackReason)
_FOREIGN: Final[tuple[ForeignReasoning, ...]] = get_args(ForeignReasoning)
_DEFAULTS: Final = LoopConfig()
_ANY: Final = Provider()

OF_RUN: Final = (
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
