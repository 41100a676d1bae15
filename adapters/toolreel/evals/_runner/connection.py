"""The connection of an evaluation, shared by all runs, its header, and the cassette of each run."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from toolreel._driver import Clock, SystemClock
from toolreel._internal import MissingExtra
from toolreel._secrets import key_as_secret, known_secrets
from toolreel.cassette import Session
from toolreel.evals._results import Header
from toolreel.evals._runner.scenario_files import catalogue_digest
from toolreel.http import (
    HttpEndpoint,
    header_values,
    request_headers,
)
from toolreel_core._jsontext import chain
from toolreel_core.evals import (
    TAXONOMY,
    EvalPlan,
    kind_of,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("http", "httpx") from error


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach the servers of a plan, shared by all threads."""

    endpoints: Mapping[str, Callable[[Session], HttpEndpoint]] = field(repr=False)
    """What sends the requests of one run, recorded by its session, by the name of the plan's endpoint."""
    networks: tuple[httpx.BaseTransport, ...]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that must not be written."""
    clock: Clock = field(default_factory=SystemClock)
    pause: Callable[[float], object] = time.sleep
    """Waits that many seconds before a run is tried again."""

    def close(self) -> None:
        """Close the connections."""
        for each in self.networks:
            each.close()


class _SharedTransport(httpx.BaseTransport):
    def __init__(self, inner: httpx.BaseTransport, headers: Mapping[str, str]) -> None:
        self._inner = inner
        self._headers = headers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers.update(self._headers)
        return self._inner.handle_request(request)


def new_header(plan: EvalPlan, now: datetime) -> Header:
    """The header of an evaluation that begins now."""
    # Of all scenarios, presets, models and profiles that the plan could choose from.
    catalogue = (*plan.presets.presets, *plan.presets.models, *plan.presets.profiles)
    return Header(
        plan=plan.tree(),
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        versions={"python": platform.python_version()}
        | {name: version(name) for name in ("toolreel", "httpx", "jsonschema", "vcrpy")},
        catalogue=chain("catalogue", catalogue_digest(), *map(repr, catalogue)),
        taxonomy=TAXONOMY,
        shard=str(plan.shard or ""),
    )


def connect(plan: EvalPlan, environ: Mapping[str, str] | None = None) -> Connection:
    """The way to a plan's endpoints, for as many threads as it has jobs.

    :param environ: environment that holds the key; by default that of this process
    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    environ = os.environ if environ is None else environ
    asks = not all(map(kind_of, plan.models))
    limits = httpx.Limits(max_connections=plan.options.jobs, max_keepalive_connections=plan.options.jobs)
    endpoints, networks, secrets = {}, list[httpx.BaseTransport](), known_secrets(environ)
    for name, each in plan.endpoints.items():
        key_env, variables = (each.api_key_env, dict(each.headers_env)) if asks else ("", {})
        credentials = header_values(variables, environ)
        # Says at once what is wrong.
        request_headers(key_env or None, environ, credentials, each.api_key_header)
        for variable in (each.api_key_env, *variables.values()):
            secrets |= key_as_secret(variable, environ.get(variable, ""))
        networks.append(httpx.HTTPTransport(limits=limits))
        endpoints[name] = partial(
            _make_endpoint,
            _SharedTransport(networks[-1], dict(each.headers)),
            base_url=each.chat_url,
            api_key_env=key_env or None,
            headers=credentials,
            api_key_header=each.api_key_header,
            timeout=httpx.Timeout(
                each.timeout or None, connect=each.open_timeout or None, read=each.read_timeout or None
            ),
            environ=environ,
        )
    return Connection(endpoints, tuple(networks), secrets)


def _make_endpoint(shared: httpx.BaseTransport, session: Session, **settings: Any) -> HttpEndpoint:  # noqa: ANN401
    return HttpEndpoint(transport=session.transport(shared), **settings)
