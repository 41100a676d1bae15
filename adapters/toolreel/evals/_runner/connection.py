"""What an evaluation begins with: its header, and the way to the provider."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version

import httpx

from toolreel._secrets.known_values import known_secrets
from toolreel.evals._runner.cassettes import Connection
from toolreel.evals._runner.rate_limit import ModelLimits
from toolreel.evals._store.files import Header
from toolreel.http._exchange import request_headers
from toolreel_core._jsontext.digest import chain
from toolreel_core._plan.presets.collection import Presets
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import CATALOGUE, kind_of
from toolreel_core.evals._verdicts.failure_taxonomy import TAXONOMY

_PACKAGES = ("toolreel", "httpx", "jsonschema", "vcrpy")


def new_header(plan: EvalPlan, now: datetime) -> Header:
    """The header of an evaluation that begins now."""
    return Header(
        plan=plan.tree(),
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        catalogue=_digest(plan.presets),
        taxonomy=TAXONOMY,
    )


def connect(plan: EvalPlan, environ: Mapping[str, str] = os.environ) -> Connection:
    """The way to a plan's endpoint, for as many threads as it has jobs.

    :raises EndpointConfigError: if the key's variable is not set, and not all models are scripts
    """
    endpoint = plan.endpoint
    key_env = endpoint.api_key_env if not all(map(kind_of, plan.models)) else ""
    request_headers(key_env or None, environ)  # says at once what is wrong with the key
    key = environ.get(endpoint.api_key_env, "").strip()
    return Connection(
        endpoint.url,
        key_env or None,
        dict(endpoint.headers),
        httpx.Timeout(
            endpoint.timeout or None,
            connect=endpoint.open_timeout or None,
            read=endpoint.read_timeout or None,
        ),
        known_secrets(environ) | ({endpoint.api_key_env: key} if key else {}),
        ModelLimits(plan.jobs),
        httpx.HTTPTransport(
            limits=httpx.Limits(max_connections=plan.jobs, max_keepalive_connections=plan.jobs)
        ),
        environ,
    )


def _digest(presets: Presets) -> str:
    """SHA-256 of the scenarios, and of the catalogue of presets as its values are written."""
    items = (*presets.presets, *presets.models, *presets.profiles)
    return chain("catalogue", CATALOGUE, *map(repr, items))
