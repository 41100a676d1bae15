"""Connects an evaluation, with notices: of a key that recordings may show, of presets that do not apply."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolreel._cli.console import err, withhold
from toolreel._cli.options import NO_PRESETS
from toolreel._secrets.known_values import key_notice
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import kind_of

if TYPE_CHECKING:
    from toolreel.evals._runner.connection import Connection


def connect_with_notices(plan: EvalPlan) -> Connection:
    """The way to a plan's endpoint; says so if its key is not kept out of recordings, or no presets apply.

    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    from toolreel.evals._runner.connection import connect

    connection = connect(plan)
    withhold(connection.secrets)
    ways = (connection, *connection.at_endpoints.values())
    servers = (plan.endpoint_at(name) for name in plan.endpoints)
    variables = (variable for server in servers for _, variable in server.headers_env)
    for name in dict.fromkeys((*(way.api_key_env or "" for way in ways), *variables)):
        if notice := key_notice(name, os.environ.get(name, "")):
            err.print(notice, style="yellow")
    if _loses_presets(plan):
        err.print(NO_PRESETS, style="yellow")
    return connection


def _loses_presets(plan: EvalPlan) -> bool:
    """Whether a strategy takes its settings from a provider, and none is named."""
    asks = not all(map(kind_of, plan.models))
    unnamed = any(not plan.endpoint_at(name).provider for name in plan.endpoints)
    return asks and unnamed and any(each.provider_defaults for each in plan.strategies)
