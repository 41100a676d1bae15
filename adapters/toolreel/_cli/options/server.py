"""Options that say how a server is asked: ``--api-prefix``, ``--api-key-env``, ``--header`` and the like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.options.fallbacks import FallbackChoice, fallback_option
from toolreel._cli.options.option_bundle import Command, bundle
from toolreel_core._settings.chat_url import API_PREFIX

if TYPE_CHECKING:
    from toolreel._cli.live.live_target import LiveTarget

API_KEY_HEADER_HELP: Final = (
    "Header that carries the key, such as api-key; in any but Authorization it goes without Bearer."
)


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The values of the options."""

    api_key_env: str | None
    api_key_header: str
    api_prefix: str
    headers: Mapping[str, str]
    """Names of variables by names of headers."""
    fallbacks: tuple[FallbackChoice, ...] = ()
    """Where the run goes on when this server fails."""

    def target(self, base_url: str, timeout: float, withheld: Mapping[str, str]) -> LiveTarget:
        """The server of a live run.

        :param withheld: further secrets to keep out of recordings, by name
        """
        from toolreel._cli.live.live_target import LiveTarget

        return LiveTarget(
            base_url,
            self.api_key_env,
            timeout,
            withheld,
            api_prefix=self.api_prefix,
            headers=self.headers,
            api_key_header=self.api_key_header,
            fallbacks={each.name: self._at(each, base_url, timeout) for each in self.fallbacks},
        )

    def _at(self, there: FallbackChoice, base_url: str, timeout: float) -> LiveTarget:
        """The server of a fallback; another one gets no key and no header of this one."""
        from toolreel._cli.live.live_target import LiveTarget

        if there.base_url:
            return LiveTarget(there.base_url, there.api_key_env or None, timeout)
        own = replace(self, api_key_env=there.api_key_env or self.api_key_env, fallbacks=())
        return own.target(base_url, timeout, {})


def header_option(parameter: str) -> Callable[[Command], Command]:
    """``--header``; the command receives names of variables by names of headers."""
    return click.option(
        "--header",
        parameter,
        multiple=True,
        metavar="NAME=VAR",
        callback=_variables,
        help="A header of each request, and the environment variable that holds its value, which is kept out "
        "of recordings like a key. Repeatable.",
    )


def _variables(context: click.Context, parameter: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
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


server_options = bundle(
    "server",
    ServerChoice,
    click.option(
        "--api-prefix",
        default=API_PREFIX,
        show_default=True,
        metavar="PATH",
        help='Appended to a URL without a version; "" for none, as for the deployments of Azure.',
    ),
    click.option(
        "--api-key-env", metavar="VAR", help="Name of the environment variable that holds the API key."
    ),
    click.option(
        "--api-key-header",
        default="Authorization",
        show_default=True,
        metavar="NAME",
        help=API_KEY_HEADER_HELP,
    ),
    header_option("headers"),
    fallback_option("fallbacks"),
)
"""Adds the options to a command, which receives them as one argument ``server``."""
