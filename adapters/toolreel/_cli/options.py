"""Options that commands share: bundles, ``KEY=VALUE``, ``--set``, presets, and the server that is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

import click

from toolreel._cli.errors import SharedOption
from toolreel._driver import Endpoint, Endpoints, Listener
from toolreel._internal import MissingExtra
from toolreel._secrets import api_key_if_secret, key_notice, known_secrets
from toolreel.presets import chosen_preset
from toolreel_core._config_checks import unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, read_json
from toolreel_core._plan import FallbackPlan, Plan, Preset
from toolreel_core._settings import API_PREFIX, LoopConfig, Provider

if TYPE_CHECKING:
    from toolreel._agent import Fallback
    from toolreel.cassette import Session


Command: TypeAlias = Callable[..., int]
Decorator: TypeAlias = Callable[[Command], Command]
Texts: TypeAlias = tuple[str, ...]
"""The values of an option that may be repeated."""
FILE_PATH = click.Path(path_type=Path)
_Choice = TypeVar("_Choice")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def bundle_options(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Adds options to a command, which gets them as one dataclass with a field for each.

    :param kind: its class, a dataclass with a field for the parameter of each option
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(**values: object) -> int:
            own = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            return command(**{name: kind(**own)}, **values)

        decorated: Command = bundled
        for option in reversed(options):  # the decorator applied last comes first in the help
            decorated = option(decorated)
        return decorated

    return decorate


def parse_key_values(
    option: str, items: Iterable[str], example: str, known: Collection[str] = ()
) -> dict[str, str]:
    found = dict[str, str]()
    for item in items:
        key, equals, value = item.strip().partition("=")
        if not (key and equals and value):
            raise ConfigError(f"{option}: {item!r}: expected NAME=VALUE, for example {example}")
        if known and key not in known:
            raise ConfigError(f"{option}: {unknown_name_message('key', key, known)}")
        if key in found:
            raise ConfigError(f"{option}: {key} is given twice")
        found[key] = value
    return found


def parsing_callback(option: str, read: Callable[[Texts], _Choice]) -> Callable[..., _Choice]:
    def callback(context: click.Context, parameter: click.Parameter, items: Texts) -> _Choice:
        try:
            return read(items)
        except ConfigError as error:
            raise click.BadParameter(
                str(error).removeprefix(option).lstrip(": "), context, parameter
            ) from error

    return callback


OPTIONS = (
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "min_p",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "seed",
    "stop",
    "temperature",
    "tool_choice",
    "top_k",
    "top_p",
)
"""Request options that need no prefix; other keys of the body are written ``body.<key>``."""


_TEXT_SETTINGS = frozenset({"tool_turn_content"})
"""Settings whose value is always text: ``null`` is a choice of theirs, not JSON null."""


def overwrite_option(text: str = "Replace a file of that name.") -> Decorator:
    return click.option("--overwrite", is_flag=True, help=text)


def settings_option(text: str) -> Decorator:
    """The command receives the values as one argument ``settings``, of :class:`SetOptions`."""
    callback = parsing_callback("--set", parse_settings)
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", callback=callback, help=text)


def model_option(*, required: bool = True) -> Decorator:
    return click.option(
        "--model",
        cls=SharedOption,
        required=required,
        metavar="NAME",
        help="Model name, as the server lists it.",
    )


def tools_option(text: str) -> Decorator:
    return click.option(
        "--tools", "tool_names", cls=SharedOption, multiple=True, metavar="MODULE:ATTR", help=text
    )


class SetOptions(NamedTuple):
    config: dict[str, Json]
    options: dict[str, Json]
    provider: dict[str, Json]


def parse_settings(items: Iterable[str]) -> SetOptions:
    """A value of ``key=value`` is parsed as JSON if possible, else it is text."""
    found = SetOptions({}, {}, {})
    homes = {
        **{setting.name: found.config for setting in fields(LoopConfig)},
        **{setting.name: found.provider for setting in fields(Provider)},
        **dict.fromkeys(OPTIONS, found.options),
    }
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {item}: expected key=value, for example temperature=0")
        value = text if key in _TEXT_SETTINGS else read_json(text).value_or(text)
        if key.startswith("body.") and key != "body.":
            found.options[key.removeprefix("body.")] = value
        elif key in homes:
            homes[key][key] = value
        else:
            remedy = f"Another key of the body is written body.{key}."
            raise ConfigError(f"--set {item}: {unknown_name_message('setting', key, homes, remedy)}")
    return found


def port_option(text: str, *, name: str = "--port", default: int | None = None) -> Decorator:
    return click.option(name, type=click.IntRange(0, 65_535), default=default, metavar="N", help=text)


NO_PRESETS = (
    "No provider is named, so no provider's presets apply; name it with --provider (`toolreel presets` lists "
    "them)."
)

provider_option = click.option(
    "--provider",
    cls=SharedOption,
    metavar="NAME",
    help="Use the defaults for this provider and the workarounds for the model; `toolreel presets` lists "
    "them.",
)


@dataclass(frozen=True, slots=True)
class PresetChoice:
    provider: str | None
    presets: Texts
    sampling: str | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.provider or self.presets)

    def preset(self, model: str = "") -> Preset:
        return chosen_preset(self.provider, self.presets, model, self.sampling)


preset_options = bundle_options(
    "presets",
    PresetChoice,
    provider_option,
    click.option(
        "--preset",
        "presets",
        cls=SharedOption,
        multiple=True,
        metavar="NAME",
        help="Apply a named preset on top of --provider (`toolreel presets` lists them), or all presets of a "
        "TOML file, such as one of `toolreel probe`. Repeatable.",
    ),
    click.option(
        "--sampling",
        cls=SharedOption,
        metavar="PROFILE",
        help="Apply a sampling profile on top of presets; `toolreel presets sampling` lists them.",
    ),
)


_FALLBACK_KEYS = (
    *("model", "name", "base-url", "api-key-env", "provider", "preset", "on", "foreign-reasoning"),
)


def parse_fallback(text: str) -> Fallback:
    """``key=value`` items between commas; ``+`` is between the items of a list.

    >>> parse_fallback("model=b,base-url=http://127.0.0.1:8081,on=timeout+empty").on
    ['timeout', 'empty']
    """
    from toolreel._agent import Fallback  # most commands have none

    items = parse_key_values("--fallback", text.split(","), "model=NAME", _FALLBACK_KEYS)
    if "model" not in items:
        raise ConfigError(f"--fallback {text!r}: name the model; write model=NAME,...")
    given: dict[str, Any] = {
        key.replace("-", "_"): value.split("+") if key in {"preset", "on"} else value
        for key, value in items.items()
    }
    return Fallback(**{"name": items["model"], **given})


fallback_option = click.option(
    "--fallback",
    "fallbacks",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=parsing_callback("--fallback", lambda items: tuple(map(parse_fallback, items))),
    help="Where the run goes on when the server before fails: model=NAME, and if they differ base-url=, "
    "api-key-env=, provider=, preset=, name=; on=timeout+server_error for some reasons only; "
    "foreign-reasoning=drop to leave signatures behind. Repeatable, in order; resume takes it too.",
)


def plan_with_fallbacks(plan: Plan, fallbacks: Iterable[Fallback]) -> Plan:
    others = list[FallbackPlan]()
    for there in fallbacks:
        names = cast("Texts", there.preset or ())
        preset = chosen_preset(there.provider, names, there.model)
        own = preset.plan(model=there.model, messages=plan.messages, tools=plan.tools, seed=plan.seed)
        others.append(own.as_fallback(there.name, tuple(there.on), there.foreign_reasoning))
    return replace(plan, fallbacks=tuple(others)) if others else plan


@dataclass(frozen=True, slots=True)
class LiveTarget:
    base_url: str | None = field(default=None, repr=False)
    """Its query may hold a key, so that it has no ``repr``."""
    api_key_env: str | None = None
    api_key_header: str = "Authorization"
    api_prefix: str = API_PREFIX
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of each request, by name, and the environment variables that hold their values."""
    timeout: float = 300.0
    """Seconds to wait for a reply, or for the next chunk of a streamed reply."""
    fallbacks: tuple[Fallback, ...] = ()
    withheld: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further secrets to keep out of recordings, such as credentials of tools, by name."""

    @property
    def servers(self) -> dict[str, LiveTarget]:
        """This server under an empty name, then those of the fallbacks by theirs.

        Another server gets no key and no header of this one.
        """
        return {"": self} | {
            each.name: LiveTarget(each.base_url, each.api_key_env, timeout=self.timeout)
            if each.base_url
            else replace(self, api_key_env=each.api_key_env or self.api_key_env)
            for each in self.fallbacks
        }

    @property
    def endpoint_arguments(self) -> dict[str, Any]:
        """The URL and what requests to it carry, as keywords of an endpoint or an address."""
        from toolreel.http import headers_from_environment

        return {
            "base_url": self.base_url or "",
            "api_key_env": self.api_key_env,
            "api_prefix": self.api_prefix,
            "headers": headers_from_environment(self.headers, os.environ),
            "api_key_header": self.api_key_header,
        }

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings and off the terminal, also those in URLs and headers."""
        from toolreel.http import Address

        found = known_secrets(os.environ)
        for there in self.servers.values():
            # The key has the name of its variable, below.
            found |= Address.of(**{**there.endpoint_arguments, "api_key_env": None}).secrets
        for name, value in self.variables.items():
            found |= api_key_if_secret(name, value)
        return found | dict(self.withheld)

    @property
    def key_notice(self) -> str:
        return "\n".join(filter(None, (key_notice(name, value) for name, value in self.variables.items())))

    @property
    def variables(self) -> dict[str, str]:
        """The variables whose values are sent, also to fallbacks; one that is not set is empty."""
        servers = self.servers.values()
        names = (name for there in servers for name in (there.api_key_env, *there.headers.values()) if name)
        return {name: os.environ.get(name, "") for name in names}

    @contextmanager
    def open_endpoint(self, on_delta: Listener | None, tape: Session | None) -> Generator[Endpoint]:
        try:
            import httpx
        except ImportError:
            raise MissingExtra.of("http", "httpx") from None
        from toolreel.http import HttpEndpoint

        with ExitStack() as stack:
            opened: dict[str, Endpoint] = {
                name: stack.enter_context(
                    HttpEndpoint(
                        **there.endpoint_arguments,
                        # A slow model may take long to reply, but not its server to accept a connection.
                        timeout=httpx.Timeout(min(30.0, there.timeout), read=there.timeout),
                        stall_timeout=there.timeout,
                        on_delta=on_delta,
                        transport=tape.transport() if tape else None,
                    )
                )
                for name, there in self.servers.items()
            }
            first = opened.pop("")
            yield Endpoints(first, opened) if opened else first


def path_option(
    flag: str, parameter: str, metavar: str, about: str, *, folder: bool = False, required: bool = False
) -> Callable[[_Decorated], _Decorated]:
    kind = click.Path(file_okay=not folder, dir_okay=folder, path_type=Path)
    return click.option(flag, parameter, type=kind, metavar=metavar, help=about, required=required)


def header_option(parameter: str, kind: type[click.Option] = click.Option) -> Decorator:
    """The command receives the names of variables by names of headers."""
    return click.option(
        "--header",
        parameter,
        cls=kind,
        multiple=True,
        metavar="NAME=VAR",
        callback=parsing_callback(
            "--header", lambda items: parse_key_values("--header", items, "X-Tenant=MY_TENANT")
        ),
        help="A header of each request, and the environment variable that holds its value, which is kept out "
        "of recordings like a key. Repeatable.",
    )


def server_options(*, required: bool = True, fallbacks: bool = True, seconds: float = 300.0) -> Decorator:
    """Options for the server; the command receives them as one argument ``server``.

    :param required: whether ``--base-url`` has to be given
    """
    return bundle_options(
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
            metavar="SECONDS",
            help="Longest wait for a reply, or for the next chunk of a streamed reply.",
        ),
    )
