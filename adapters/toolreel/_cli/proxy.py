"""``toolreel proxy``: repairs and records what passes between any client and any server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from toolreel._cli.console import err, log_json
from toolreel._cli.errors import command
from toolreel._cli.options import (
    FILE_PATH,
    PresetChoice,
    SetOptions,
    port_option,
    preset_options,
    settings_option,
)
from toolreel._internal import ProxyConfigError

if TYPE_CHECKING:
    from toolreel_core._jsontext import Json

_NOWHERE = "http://replayed.invalid"
"""The upstream of a replay, which is never asked."""


@command("proxy")
@click.option("--upstream", metavar="URL", help="Server that requests go to, with or without /v1.")
@click.option(
    "--routes",
    "routes_file",
    type=FILE_PATH,
    metavar="FILE",
    help="TOML file with an upstream and presets for each model, instead of --upstream.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="HOST",
    help="Address for clients. Any other than this machine's own needs a token in TOOLREEL_PROXY_TOKEN; "
    "clients show it as their API key, or in x-toolreel-token.",
)
@port_option("Port for clients; 0 takes a free one.", default=8787)
@preset_options
@settings_option("A setting that says how replies are read, such as argument_repairs=lenient. Repeatable.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a cassette and a journal of each conversation.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Answer from these cassettes alone; a request that is in none is an error with the difference.",
)
@click.option(
    "--mode",
    type=click.Choice(("record", "auto")),
    default="record",
    help="With --record, auto answers from the cassettes in DIR, and records what is missing.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    help="Repeat a request this often after a failure that may pass. Each costs a request.",
)
@click.option(
    "--recover-empty",
    is_flag=True,
    help="Ask again, at most twice, if the model says nothing or writes a call that can't be read.",
)
@click.option(
    "--correct-arguments",
    type=click.IntRange(min=0),
    default=0,
    metavar="TIMES",
    help="Tell the model this often that its arguments are not valid, and ask again. Each costs a request.",
)
@click.option(
    "--api-key-env",
    metavar="VAR",
    help="Variable with the key for the upstream; by default the client's own key goes on.",
)
@click.option("--api-prefix", default="/v1", metavar="PATH", help="See `toolreel run`.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    metavar="SECONDS",
    help="Longest silence of an upstream.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    default=32 * 1024 * 1024,
    help="Largest request, and largest reply.",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    default=30.0,
    metavar="SECONDS",
    help="After SIGTERM or Ctrl-C: how long to wait for requests that are under way.",
)
@click.option("--quiet", is_flag=True, help="Log no requests; without it, one line of JSON each on stderr.")
def proxy_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    upstream: str | None,
    routes_file: Path | None,
    host: str,
    port: int,
    presets: PresetChoice,
    settings: SetOptions,
    record: Path | None,
    replay: Path | None,
    mode: Literal["record", "auto"],
    retries: int,
    recover_empty: bool,
    correct_arguments: int,
    api_key_env: str | None,
    api_prefix: str,
    timeout: float,
    max_bytes: int,
    drain: float,
    quiet: bool,
) -> int:
    """Pass the requests of any client on to a server, and repair what passes.

    The client needs nothing but another base URL. Calls that the model wrote as text become calls, arguments
    that are not JSON are repaired, and so on: what `toolreel run` does on one reply. Text streams at once.
    The response header x-toolreel-repairs says what was repaired.

    \b
    toolreel proxy --upstream http://127.0.0.1:8080
    export OPENAI_BASE_URL=http://127.0.0.1:8787/v1

    Record the sessions of a test suite in any language once, then run it without a network:

    \b
    toolreel proxy --upstream https://openrouter.ai/api --record recordings
    toolreel proxy --replay recordings

    When it stops, each conversation gets a journal. A second Ctrl-C leaves out those that are not made yet.
    """
    from toolreel.proxy import LOOPBACK_HOSTS, Extras, ProxyLimits, ProxySettings, Route, routes_in, serve

    if record and replay:
        raise ProxyConfigError("--record and --replay: give one of them; --record DIR --mode auto does both")
    if mode == "auto" and not record:
        raise ProxyConfigError("--mode auto: it needs a folder; write --record DIR")
    if upstream and routes_file:
        raise ProxyConfigError('--upstream and --routes: give one of them; a route for "*" takes the rest')
    if not (upstream or routes_file or replay):
        raise ProxyConfigError("--upstream: expected the base URL of a server, such as http://127.0.0.1:8080")
    host = host.removeprefix("[").removesuffix("]")
    token = os.environ.get("TOOLREEL_PROXY_TOKEN", "")
    local = host in LOOPBACK_HOSTS
    if not local and not token:
        raise ProxyConfigError(
            f"--host {host}: others can reach this address; set TOOLREEL_PROXY_TOKEN to a secret text that "
            "clients have to show, or leave out --host"
        )
    if settings.options:
        raise ProxyConfigError(f"--set {next(iter(settings.options))}: an option is the client's to send")

    one = Route(
        upstream or _NOWHERE,
        preset=presets.preset,
        api_key_env=api_key_env or "",
        api_prefix=api_prefix,
        settings={**settings.config, **settings.provider},
    )
    where = ProxySettings(
        routes=routes_in(routes_file) if routes_file else (one,),
        folder=record or replay,
        mode="replay" if replay else mode,
        extras=Extras(retries, recover_empty, correct_arguments),
        limits=replace(
            ProxyLimits(), request_bytes=max_bytes, response_bytes=max_bytes, stall_seconds=timeout
        ),
        token=token,
        hosts=LOOPBACK_HOSTS if local else (),
    )

    def ready(url: str) -> None:
        err.print(f"Base URL for clients: {url}")
        if upstream and not replay:
            err.print(f"Upstream: {upstream}")
        if where.folder:
            does = {"record": "Recording to", "replay": "Replaying", "auto": "Replaying and recording to"}
            err.print(f"{does[where.mode]} {where.folder}")
        err.print("Stop with Ctrl-C.")

    def tell(entry: Mapping[str, Json]) -> None:
        if not quiet:
            log_json(entry)

    serve(where, host, port, drain=drain, tell=tell, ready=ready)
    return 0
