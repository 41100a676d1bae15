"""The connection of an evaluation, shared by all runs, its header, and the cassette of each run."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from importlib.metadata import version
from itertools import starmap
from operator import or_
from pathlib import Path

from toolreel._driver import Clock, InstantClock, SystemClock
from toolreel._driver import Endpoint as EndpointPort
from toolreel._internal import CassetteError, MissingExtra
from toolreel._secrets import key_as_secret, known_secrets
from toolreel.cassette import Session
from toolreel.evals._catalogue import catalogue_digest
from toolreel.evals._results import Header, recording_of
from toolreel.evals._runner.endpoints import ScriptedEndpoint
from toolreel.evals._runner.trial import Job, RunContext, live_tools, recorded_tools
from toolreel.http import (
    AUTHORIZATION,
    TIMEOUT,
    HttpEndpoint,
    PlainTransport,
    header_values,
    request_headers,
)
from toolreel_core._jsontext import chain
from toolreel_core.evals import (
    TAXONOMY,
    Attempt,
    Endpoint,
    EvalPlan,
    kind_of,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("http", "httpx") from error


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach the provider: URL, key, headers, timeouts and transport, shared by all threads."""

    base_url: str = field(repr=False)
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request, and never recorded."""
    timeout: httpx.Timeout = field(default_factory=lambda: TIMEOUT)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that must not be written."""
    network: httpx.BaseTransport = field(default_factory=PlainTransport, repr=False)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """Holds the key."""
    clock: Clock = field(default_factory=SystemClock)
    pause: Callable[[float], None] = time.sleep
    """Waits that many seconds before a run is tried again."""
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers of each request, kept secret like the key."""
    api_key_header: str = AUTHORIZATION
    at_endpoints: Mapping[str, Connection] = field(default_factory=dict, repr=False)
    """How to reach endpoints with names; clock, pauses and secrets are those of the connection
    that holds them."""

    def at(self, endpoint: str) -> Connection:
        """How to reach an endpoint, by its name."""
        return self.at_endpoints.get(endpoint, self)

    def endpoint(self, transport: httpx.BaseTransport) -> HttpEndpoint:
        """What sends the requests of one run."""
        return HttpEndpoint(
            self.base_url,
            api_key_env=self.api_key_env,
            headers=self.credentials,
            api_key_header=self.api_key_header,
            timeout=self.timeout,
            transport=transport,
            environ=self.environ,
        )

    def close(self) -> None:
        """Close the connections."""
        self.network.close()
        for each in self.at_endpoints.values():
            each.close()


class RunRecorder:
    """Gives each run what it needs from the world, and keeps its recording.

    :param folder: the directory of the results, where recordings go; ``None``: nothing is recorded
    """

    def __init__(self, connection: Connection, folder: Path | None) -> None:
        self._connection = connection
        self._folder = folder
        self.refused: list[CassetteError] = []
        """Why runs have no cassette that should have one, such as a secret in a reply."""

    @contextmanager
    def context(self, job: Job, name: str) -> Generator[tuple[RunContext, Callable[[], str]]]:
        """The context of one run, and a function that saves its recording and returns the path.

        :param name: the path of the cassette, relative to the directory of the results
        """
        connection = self._connection
        outside = live_tools(job.scenario, job.sample.seed)
        if kind := kind_of(job.sample.cell.model):
            scripts = job.scenario.scripts(job.sample.seed)
            endpoint_of = ScriptedEndpoint(kind, scripts)
            yield RunContext(endpoint_of, connection.clock, outside=outside), lambda: ""
            return
        server = connection.at(job.sample.cell.endpoint)
        shared = _SharedTransport(server.network, server.headers)
        session = Session.of(self._folder / name, "record") if self._folder else None
        transport = session.transport(shared) if session else shared
        with server.endpoint(transport) as endpoint:
            context = RunContext(endpoint, connection.clock, connection.pause, outside=outside)
            yield context, lambda: self._saved(session, name)

    def _saved(self, session: Session | None, name: str) -> str:
        if session is None:
            return ""
        try:
            return name if session.save(self._connection.secrets) else ""
        except CassetteError as error:
            self.refused.append(error)
            return ""


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
    session = Session(recording_of(folder, name), "replay")
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


_PACKAGES = ("toolreel", "httpx", "jsonschema", "vcrpy")


def new_header(plan: EvalPlan, now: datetime) -> Header:
    """The header of an evaluation that begins now."""
    return Header(
        plan=plan.tree(),
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        catalogue=catalogue_of(plan),
        taxonomy=TAXONOMY,
        shard=str(plan.shard or ""),
    )


def catalogue_of(plan: EvalPlan) -> str:
    """The digest of all scenarios, presets, models and profiles that a plan could choose from."""
    presets = plan.presets
    catalogue = (*presets.presets, *presets.models, *presets.profiles)
    return chain("catalogue", catalogue_digest(), *map(repr, catalogue))


def connect(plan: EvalPlan, environ: Mapping[str, str] | None = None) -> Connection:
    """The way to a plan's endpoints, for as many threads as it has jobs.

    :param environ: environment that holds the key; by default that of this process
    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    environ = os.environ if environ is None else environ
    first, *others = (_connect(plan, each, environ) for each in plan.endpoints.values())
    if "" in plan.endpoints:
        return first
    ways = (first, *others)
    secrets = reduce(or_, (dict(each.secrets) for each in ways))
    return replace(
        first,
        secrets=secrets,
        network=PlainTransport(),
        at_endpoints=dict(zip(plan.endpoints, ways, strict=True)),
    )


def _connect(plan: EvalPlan, endpoint: Endpoint, environ: Mapping[str, str]) -> Connection:
    asks = not all(map(kind_of, plan.models))
    key_env = (endpoint.api_key_env or None) if asks else None
    variables = dict(endpoint.headers_env) if asks else {}
    credentials = header_values(variables, environ)
    request_headers(key_env, environ, credentials, endpoint.api_key_header)  # says at once what is wrong
    held = {name: environ.get(name, "") for name in (endpoint.api_key_env, *variables.values())}
    jobs = plan.options.jobs
    return Connection(
        endpoint.chat_url,
        key_env,
        dict(endpoint.headers),
        httpx.Timeout(
            endpoint.timeout or None,
            connect=endpoint.open_timeout or None,
            read=endpoint.read_timeout or None,
        ),
        reduce(or_, starmap(key_as_secret, held.items()), known_secrets(environ)),
        httpx.HTTPTransport(limits=httpx.Limits(max_connections=jobs, max_keepalive_connections=jobs)),
        environ,
        credentials=credentials,
        api_key_header=endpoint.api_key_header,
    )
