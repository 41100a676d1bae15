"""Options for the server that a command asks, and for those that it falls back on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from toolreel._cli.options import Command, bundle, choices, key_values
from toolreel._cli.shared_option import SharedOption
from toolreel.presets import at_provider, named_presets, with_files
from toolreel_core._errors import ConfigError
from toolreel_core._plan import REASONS, FallbackPlan, FallbackReason, ForeignReasoning, Plan
from toolreel_core._settings import API_PREFIX

if TYPE_CHECKING:
    from toolreel._cli.live_target import LiveTarget

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
        named = named_presets(collection, self.preset)
        preset = at_provider(collection, self.provider, self.model).merged(named)
        own = preset.plan(
            model=self.model, messages=plan.messages, tools=plan.tools, output=plan.output, seed=plan.seed
        )
        on = cast("tuple[FallbackReason, ...]", self.on)
        return own.as_fallback(self.name, on, cast("ForeignReasoning", self.foreign_reasoning))


fallback_option: Final = click.option(
    "--fallback",
    "fallbacks",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=choices("--fallback", FallbackChoice.of),
    help="Where the run goes on when the server before fails: model=NAME, and if they differ base-url=, "
    "api-key-env=, provider=, preset=, name=; on=timeout+server_error for some reasons only; "
    "foreign-reasoning=drop to leave signatures behind. Repeatable, in order; resume takes it too.",
)
"""``--fallback``; the command receives the choices as ``fallbacks``."""


def with_fallbacks(plan: Plan, wanted: Iterable[FallbackChoice], catalogues: Sequence[Path]) -> Plan:
    """A plan with its fallbacks.

    :raises ConfigError: if one contradicts the plan
    """
    others = tuple(choice.planned(plan, catalogues) for choice in wanted)
    return replace(plan, fallbacks=others) if others else plan


API_KEY_HEADER_HELP: Final = (
    "Header that carries the key, such as api-key; in any but Authorization it goes without Bearer."
)


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The values of the options."""

    base_url: str | None
    api_key_env: str | None
    api_key_header: str
    api_prefix: str
    headers: Mapping[str, str]
    """Names of variables by names of headers."""
    timeout: float
    fallbacks: tuple[FallbackChoice, ...] = ()
    """Where the run goes on when this server fails."""

    def target(self, withheld: Mapping[str, str] | None = None) -> LiveTarget:
        """The server of a live run.

        :param withheld: further secrets to keep out of recordings, by name
        """
        from toolreel._cli.live_target import LiveTarget

        return LiveTarget(
            self.base_url or "",
            self.api_key_env,
            self.timeout,
            withheld or {},
            api_prefix=self.api_prefix,
            headers=self.headers,
            api_key_header=self.api_key_header,
            fallbacks={each.name: self._target_of_fallback(each) for each in self.fallbacks},
        )

    def _target_of_fallback(self, there: FallbackChoice) -> LiveTarget:
        """The server of a fallback; another one gets no key and no header of this one."""
        from toolreel._cli.live_target import LiveTarget

        if there.base_url:
            return LiveTarget(there.base_url, there.api_key_env or None, self.timeout)
        return replace(self, api_key_env=there.api_key_env or self.api_key_env, fallbacks=()).target()


def header_option(parameter: str, kind: type[click.Option] = click.Option) -> Callable[[Command], Command]:
    """``--header``; the command receives names of variables by names of headers."""
    return click.option(
        "--header",
        parameter,
        cls=kind,
        multiple=True,
        metavar="NAME=VAR",
        callback=_header_variables,
        help="A header of each request, and the environment variable that holds its value, which is kept out "
        "of recordings like a key. Repeatable.",
    )


def _header_variables(
    context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items:
        name, _, variable = item.partition("=")
        if not (name and variable):
            raise click.BadParameter(
                f"{name}: expected NAME=VARIABLE, for example X-Tenant=MY_TENANT", context, parameter
            )
        if name.lower() in {each.lower() for each in found}:
            raise click.BadParameter(f"{name} is given twice", context, parameter)
        found[name] = variable
    return found


def server_options(
    *, required: bool = True, fallbacks: bool = True, seconds: float = 300.0
) -> Callable[[Command], Command]:
    """Options for the server; the command receives them as one argument ``server``.

    :param required: whether ``--base-url`` has to be given
    :param fallbacks: whether there is ``--fallback``
    :param seconds: the default of ``--timeout``
    """
    return bundle(
        "server",
        ServerChoice,
        click.option(
            "--base-url",
            cls=SharedOption,
            required=required,
            metavar="URL",
            help="URL of an OpenAI-compatible server, with or without /v1, such as http://127.0.0.1:8080.",
        ),
        click.option(
            "--api-prefix",
            cls=SharedOption,
            default=API_PREFIX,
            show_default=True,
            metavar="PATH",
            help='Appended to a URL without a version; "" for none, as for the deployments of Azure.',
        ),
        click.option(
            "--api-key-env",
            cls=SharedOption,
            metavar="VAR",
            help="Name of the environment variable that holds the API key.",
        ),
        click.option(
            "--api-key-header",
            cls=SharedOption,
            default="Authorization",
            show_default=True,
            metavar="NAME",
            help=API_KEY_HEADER_HELP,
        ),
        header_option("headers", SharedOption),
        *((fallback_option,) if fallbacks else ()),
        click.option(
            "--timeout",
            cls=SharedOption,
            type=click.FloatRange(min=0, min_open=True),
            default=seconds,
            show_default=True,
            metavar="SECONDS",
            help="Longest wait for a reply, or for the next chunk of a streamed reply.",
        ),
    )
