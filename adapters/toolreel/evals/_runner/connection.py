"""The connection of an evaluation, shared by all runs, its header, and the cassette of each run."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toolreel._driver import Clock, InstantClock, SystemClock
from toolreel._driver import Endpoint as EndpointPort
from toolreel._internal import CassetteError, MissingExtra
from toolreel._secrets import key_as_secret, known_secrets
from toolreel.cassette import Session
from toolreel.evals._results import Header, recording_of
from toolreel.evals._runner.scenario_files import catalogue_digest
from toolreel.evals._runner.trial import Job, RunContext, ScriptedEndpoint, live_tools, recorded_tools
from toolreel.http import (
    HttpEndpoint,
    header_values,
    request_headers,
)
from toolreel_core._jsontext import chain
from toolreel_core.evals import (
    TAXONOMY,
    Attempt,
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
    pause: Callable[[float], None] = time.sleep
    """Waits that many seconds before a run is tried again."""

    def close(self) -> None:
        """Close the connections."""
        for each in self.networks:
            each.close()


@contextmanager
def recorded_context(
    connection: Connection, job: Job, cassette: Path, refused: list[str]
) -> Generator[tuple[RunContext, Callable[[], bool]]]:
    """The context of one run, and a function that saves its recording and says whether there is one.

    :param refused: gets why a run has no cassette that should have one, such as a secret in a reply
    """
    outside = live_tools(job.scenario, job.sample.seed)
    if kind := kind_of(job.sample.cell.model):
        scripted = ScriptedEndpoint(kind, job.scenario.scripts(job.sample.seed))
        yield RunContext(scripted, connection.clock, outside=outside), lambda: False
        return
    session = Session.of(cassette, "record")

    def saved() -> bool:
        try:
            return bool(session.save(connection.secrets))
        except CassetteError as error:
            refused.append(str(error))
            return False

    with connection.endpoints[job.sample.cell.endpoint](session) as endpoint:
        yield RunContext(endpoint, connection.clock, connection.pause, outside=outside), saved


@contextmanager
def replay_context(
    folder: Path, name: str, base_url: str, job: Job, attempts: Sequence[Attempt]
) -> Generator[RunContext]:
    """The world of one run, out of its cassette; a scripted model needs none.

    :param name: the path of the cassette, relative to the folder
    :param attempts: have the results of real tools
    :raises CassetteError: if there is no cassette, or it cannot be read or trusted
    :raises toolreel.ReplayMismatch: if the run is not the recorded one
    """
    if kind := kind_of(job.sample.cell.model):
        scripts = job.scenario.scripts(job.sample.seed)
        yield offline_context(ScriptedEndpoint(kind, scripts), attempts)
        return
    if not name:
        raise CassetteError(
            f"{folder}: the run {job.sample.key[:12]} was not recorded, so it cannot be replayed"
        )
    session = recording_of(folder, name)
    with HttpEndpoint(base_url, transport=session.transport()) as endpoint:
        yield offline_context(endpoint, attempts)
        session.finish()


def offline_context(endpoint: EndpointPort, attempts: Sequence[Attempt]) -> RunContext:
    """The world of a run for which no time passes, and whose real tools answer from a record."""
    return RunContext(endpoint, InstantClock(), lambda _: None, lambda: 0.0, recorded_tools(attempts))


class _SharedTransport(httpx.BaseTransport):
    """A transport of all runs, which outlives each of them."""

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
