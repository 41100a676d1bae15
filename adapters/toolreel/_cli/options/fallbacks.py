"""``--fallback``: another model or server, where a run goes on when the one before fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, cast

import click

from toolreel._cli.options.key_values import key_values
from toolreel._cli.options.option_bundle import Command
from toolreel._cli.options.presets import at_provider
from toolreel.presets._catalogues import with_files
from toolreel_core._errors import ConfigError
from toolreel_core._plan.fallback import REASONS, FallbackPlan, FallbackReason, ForeignReasoning
from toolreel_core._plan.plan import Plan

_LISTS: Final = ("preset", "on")


@dataclass(frozen=True, slots=True)
class FallbackChoice:
    """The values of one ``--fallback``."""

    model: str
    name: str = ""
    """By default the model's name."""
    base_url: str = ""
    """Empty for the run's own server."""
    api_key_env: str = ""
    provider: str = ""
    preset: tuple[str, ...] = ()
    on: tuple[str, ...] = REASONS
    foreign_reasoning: str = "pin"

    @classmethod
    def of(cls, text: str) -> FallbackChoice:
        """Read ``key=value`` items between commas; ``+`` is between the items of a list.

        >>> FallbackChoice.of("model=b,base-url=http://127.0.0.1:8081,on=timeout+empty").on
        ('timeout', 'empty')

        :raises ConfigError: if a key does not exist, or no model is named
        """
        known = [field.name.replace("_", "-") for field in fields(cls)]
        items = key_values("--fallback", text, known, "model=NAME")
        found = {
            key.replace("-", "_"): tuple(value.split("+")) if key in _LISTS else value
            for key, value in items.items()
        }
        if "model" not in found:
            raise ConfigError(f"--fallback {text!r}: name the model; write model=NAME,...")
        given: dict[str, Any] = {**found}  # each key is a field, and the lists are tuples
        made = cls(**given)
        return made if made.name else replace(made, name=made.model)

    def planned(self, plan: Plan, catalogues: Sequence[Path]) -> FallbackPlan:
        """What of a plan is different here."""
        collection = with_files(catalogues)
        preset = at_provider(collection, self.provider, self.model).merged(collection.merged(self.preset))
        own = preset.plan(
            model=self.model, messages=plan.messages, tools=plan.tools, output=plan.output, seed=plan.seed
        )
        on = cast("tuple[FallbackReason, ...]", self.on)
        return own.as_fallback(self.name, on, cast("ForeignReasoning", self.foreign_reasoning))


def fallback_option(parameter: str) -> Callable[[Command], Command]:
    """``--fallback``; the command receives the choices."""
    return click.option(
        "--fallback",
        parameter,
        multiple=True,
        metavar="KEY=VALUE,...",
        callback=_choices,
        help="Where the run goes on when the server before fails: model=NAME, and if they differ base-url=, "
        "api-key-env=, provider=, preset=, name=; on=timeout+server_error for some reasons only; "
        "foreign-reasoning=drop to leave signatures behind. Repeatable, in order; resume takes it too.",
    )


def _choices(
    context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
) -> tuple[FallbackChoice, ...]:
    try:
        return tuple(map(FallbackChoice.of, items))
    except ConfigError as error:
        raise click.BadParameter(str(error).removeprefix("--fallback: "), context, parameter) from error


def with_fallbacks(plan: Plan, choices: Iterable[FallbackChoice], catalogues: Sequence[Path]) -> Plan:
    """A plan with its fallbacks.

    :raises ConfigError: if one contradicts the plan
    """
    others = tuple(choice.planned(plan, catalogues) for choice in choices)
    return replace(plan, fallbacks=others) if others else plan
