"""The connection of a command that asks a provider: its secrets are not printed."""

from __future__ import annotations

import os

from toolreel._cli.output.console import err, withhold
from toolreel._secrets.known_values import key_notice
from toolreel.evals._runner.connection import Connection, connect
from toolreel_core.evals._plan.eval_plan import EvalPlan


def live_connection(plan: EvalPlan) -> Connection:
    """The way to a plan's endpoint; says so if its key is not kept out of recordings.

    :raises EndpointConfigError: if the key's variable is not set, and not all models are scripts
    """
    connection = connect(plan)
    withhold(connection.secrets)
    name = connection.api_key_env
    if name and (notice := key_notice(name, os.environ.get(name, ""))):
        err.print(notice, style="yellow")
    return connection
