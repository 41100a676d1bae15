"""The server that a command asks, those that it falls back on, and their options."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from toolreel._cli.options import Command, PresetChoice, bundle, choices, key_values
from toolreel._cli.shared_option import SharedOption
from toolreel._driver import Endpoint, Endpoints, Listener
from toolreel._secrets import key_as_secret, key_notice, known_secrets
from toolreel_core._errors import ConfigError
from toolreel_core._plan import REASONS, FallbackPlan, FallbackReason, ForeignReasoning, Plan
from toolreel_core._settings import API_PREFIX

if TYPE_CHECKING:
    from toolreel.cassette import Session

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
        known = [each.name.replace("_", "-") for each in fields(cls)]
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
        preset = PresetChoice(self.provider, self.preset, None, catalogues).preset(self.model)
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


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The server of a live run, and its fallbacks: the values of the options."""

    base_url: str | None = field(default=None, repr=False)
    """Its query may hold a key, so that it has no ``repr``."""
    api_key_env: str | None = None
    api_key_header: str = "Authorization"
    api_prefix: str = API_PREFIX
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of each request, by name, and the environment variables that hold their values."""
    timeout: float = 300.0
    """Seconds to wait for a reply, or for the next chunk of a streamed reply."""
    fallbacks: tuple[FallbackChoice, ...] = ()
    """Where the run goes on when this server fails."""
    withheld: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further secrets to keep out of recordings, such as credentials of tools, by name."""

    @property
    def servers(self) -> dict[str, LiveTarget]:
        """This server under an empty name, then those of the fallbacks by theirs.

        Another server gets no key and no header of this one.
        """
        here = replace(self, fallbacks=(), withheld={})
        return {"": here} | {
            each.name: LiveTarget(each.base_url, each.api_key_env or None, timeout=self.timeout)
            if each.base_url
            else replace(here, api_key_env=each.api_key_env or self.api_key_env)
            for each in self.fallbacks
        }

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings and off the terminal.

        The API keys, what the URLs and the headers hold, variables that look like secrets, and the
        credentials of tools.

        :raises EndpointConfigError: if a URL is invalid, or the variable of a header is not set
        """
        from toolreel.http import Address, header_values

        found = known_secrets(os.environ)
        for there in self.servers.values():
            headers = header_values(there.headers, os.environ)
            found |= Address.of(
                there.base_url or "", None, api_prefix=there.api_prefix, headers=headers
            ).secrets
            for name, value in there._variables:
                found |= key_as_secret(name, value)
        return found | dict(self.withheld)

    @property
    def key_notice(self) -> str:
        """What to say about a key for which recordings are not searched; empty if there is nothing to say."""
        sent = (each for there in self.servers.values() for each in there._variables)
        return "\n".join(filter(None, (key_notice(name, value) for name, value in sent)))

    @property
    def _variables(self) -> tuple[tuple[str, str], ...]:
        """The variables whose values are sent, and the values."""
        names = (self.api_key_env or "", *self.headers.values())
        return tuple((name, os.environ.get(name, "")) for name in names)

    @contextmanager
    def opened(self, on_delta: Listener | None, tape: Session | None) -> Generator[Endpoint]:
        """The endpoint of the server, with those of the fallbacks.

        :raises MissingExtra: if httpx is not installed
        """
        import httpx  # after what says which extra has it

        from toolreel.http import HttpEndpoint, header_values

        with ExitStack() as stack:
            first, *others = (
                stack.enter_context(
                    HttpEndpoint(
                        there.base_url or "",
                        api_key_env=there.api_key_env,
                        api_prefix=there.api_prefix,
                        headers=header_values(there.headers, os.environ),
                        api_key_header=there.api_key_header,
                        timeout=httpx.Timeout(min(30.0, there.timeout), read=there.timeout),
                        stall_timeout=there.timeout,
                        on_delta=on_delta,
                        transport=tape.transport() if tape else None,
                    )
                )
                for there in self.servers.values()
            )
            names = [each.name for each in self.fallbacks]
            yield Endpoints(first, dict(zip(names, others, strict=True))) if others else first


def header_option(parameter: str, kind: type[click.Option] = click.Option) -> Callable[[Command], Command]:
    """``--header``; the command receives the names of variables by names of headers."""
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
        LiveTarget,
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
            help="Header that carries the key, such as api-key; in any but Authorization, it goes without "
            "Bearer.",
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
