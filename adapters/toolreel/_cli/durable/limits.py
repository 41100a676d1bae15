"""``--limit``: what an account at a provider allows, kept by all workers of a database."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from toolreel._cli.options.key_values import key_values
from toolreel._driver.ports import Endpoint
from toolreel._driver.several_endpoints.endpoints import Endpoints
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name

if TYPE_CHECKING:
    from toolreel._cli.live.live_target import LiveTarget
    from toolreel.durable._limits.endpoint import LimitedEndpoint

_WHOLE: Final = ("requests", "tokens", "reply-tokens")
_DECIMAL: Final = ("window", "max-cost", "max-wait")
_NAMES: Final = ("account", "endpoint")
_NO_FALLBACKS: Final = (
    "endpoint= names a fallback, and there is none; add one with --fallback, or leave endpoint= out"
)


@dataclass(frozen=True, slots=True)
class LimitChoice:
    """The values of one ``--limit``."""

    endpoint: str = ""
    """The name of a fallback; empty for the plan's own server."""
    account: str = ""
    """By default the server's host."""
    limits: Mapping[str, int | float] = field(default_factory=dict)
    """What ``Limits`` takes, by name."""

    @classmethod
    def of(cls, text: str) -> LimitChoice:
        """Read ``key=value`` items between commas.

        >>> LimitChoice.of("requests=60,max-cost=2.5").limits
        {'requests': 60, 'max_cost': 2.5}

        :raises ConfigError: if a key does not exist, or a value is no number above 0
        """
        found = key_values("--limit", text, (*_WHOLE, *_DECIMAL, *_NAMES), "requests=60")
        numbers = {key: value for key, value in found.items() if key not in _NAMES}
        limits = {key.replace("-", "_"): _number(key, value) for key, value in numbers.items()}
        if not limits.keys() & {"requests", "tokens", "max_cost"}:
            raise ConfigError(f"--limit {text!r}: say what is limited: requests=, tokens= or max-cost=")
        return cls(found.get("endpoint", ""), found.get("account", ""), limits)


def _number(key: str, value: str) -> int | float:
    try:
        number = int(value) if key in _WHOLE else float(value)
    except ValueError:
        kind = "a whole number" if key in _WHOLE else "a number"
        raise ConfigError(f"--limit: {key}: expected {kind}, got {value!r}") from None
    if not 0 < number < float("inf"):
        raise ConfigError(f"--limit: {key}: expected a number above 0, got {value}")
    return number


def _choices(
    context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
) -> tuple[LimitChoice, ...]:
    try:
        return tuple(map(LimitChoice.of, items))
    except ConfigError as error:
        raise click.BadParameter(str(error).removeprefix("--limit: "), context, parameter) from error


limit_option: Final = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=_choices,
    help="What all workers of the database keep together at the server's account: requests= and tokens= in "
    "any window= of seconds (60), max-cost= in all, max-wait= seconds for a turn, reply-tokens= to reserve. "
    "account= names the account, by default the server's host; endpoint= limits that fallback instead. "
    "Repeatable: --limit requests=60 --limit account=daily,requests=5000,window=86400.",
)
"""Adds the option to a command, which receives the choices."""


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """The limits of a worker, kept in its database."""

    choices: Sequence[LimitChoice] = ()
    database: str | None = None

    @contextmanager
    def over(self, endpoint: Endpoint, target: LiveTarget) -> Generator[Endpoint]:
        """The endpoint of a server and its fallbacks, where each request waits for its turn.

        :raises ConfigError: if a limit names a fallback that does not exist, or two are for one account of a
            server
        """
        with ExitStack() as stack:
            yield self._over(endpoint, target, stack) if self.choices else endpoint

    def _over(self, endpoint: Endpoint, target: LiveTarget, stack: ExitStack) -> Endpoint:
        there = {"": target, **target.fallbacks}
        of: dict[str, Endpoint] = {"": endpoint}
        if isinstance(endpoint, Endpoints):
            of = {"": endpoint.first, **endpoint.fallbacks}
        taken = set[tuple[str, str]]()
        for choice in self.choices:
            name = choice.endpoint
            if name not in of:
                known = unknown_name("fallback", name, filter(None, of))
                raise ConfigError(f"--limit: {known if len(of) > 1 else _NO_FALLBACKS}")
            account = choice.account or urlsplit(there[name].base_url).hostname or there[name].base_url
            if (name, account) in taken:  # one request would count twice
                raise ConfigError(
                    f"--limit: the account {account} has two limits; name the second, such as account=daily"
                )
            taken.add((name, account))
            shared = _limited(of[name], account, choice, self.database)
            stack.callback(shared.close)
            of[name] = shared
        first = of.pop("")
        return Endpoints(first, of) if of else first


def _limited(endpoint: Endpoint, account: str, choice: LimitChoice, database: str | None) -> LimitedEndpoint:
    from toolreel.durable import Limits, limited
    from toolreel.durable._store.database import database_url

    numbers: dict[str, Any] = dict(choice.limits)
    url = database_url(database).render_as_string(hide_password=False)
    return limited(endpoint, Limits(account, url, **numbers))
