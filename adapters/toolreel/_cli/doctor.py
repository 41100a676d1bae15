"""``toolreel doctor``: whether what a run needs is here: packages, keys, server, database, recordings."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import click

from toolreel._cli.console import labelled, out, withhold
from toolreel._cli.errors import FAILED, command, json_option, say, shared_settings
from toolreel._cli.options import LiveTarget, model_option, server_options
from toolreel._cli.run_options import database_option
from toolreel._internal import CassetteError, counted
from toolreel._secrets import known_secrets
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import as_tree, items_of, read
from toolreel_core._settings import PATHS

_State: TypeAlias = Literal["ok", "note", "problem"]
_STYLES: Final[Mapping[_State, str]] = {"ok": "", "note": "yellow", "problem": "bold red"}


class Examined(NamedTuple):
    """What was found in one place."""

    area: str
    state: _State
    text: str
    remedy: str = ""


@command("doctor")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@server_options(required=False, fallbacks=False, seconds=10.0)
@model_option(required=False)
@database_option
@json_option
def doctor_command(
    paths: tuple[Path, ...],
    server: LiveTarget,
    model: str | None,
    database: str | None,
    as_machine: bool,
) -> int:
    """Check what runs need here: packages and extras, settings, keys, the server, the database, recordings.

    The server is that of --base-url or of [tool.toolreel] in pyproject.toml; it is asked for its models,
    which costs nothing. Recordings are those below PATH; by default, below the folder that pyproject.toml
    names, or this one. Nothing is changed, and no value of a key is shown.

    \b
    toolreel doctor
    toolreel doctor tests/reels --base-url http://127.0.0.1:8080 --json

    Exits with 1 if there is a problem. Notes, such as an extra that is not installed, are none.
    """
    examined = [
        *_examine_packages(),
        *_examine_settings(),
        *_examine_keys(server),
        *(_examine_server(server, model) if server.base_url else ()),
        *_examine_database(database),
        *_examine_recordings(paths),
    ]
    problems = sum(each.state == "problem" for each in examined)
    if as_machine:
        say({"ok": not problems, "checks": [each._asdict() for each in examined]})
        return FAILED if problems else 0
    for area, state, text, remedy in examined:
        labelled(area, f"{text}: {remedy}" if remedy else text, _STYLES[state], mark=f"{state:<9}")
    summary = counted(problems, "problem") if problems else "no problems"
    out.print(summary, style="bold red" if problems else "green")
    return FAILED if problems else 0


_NAME: Final = re.compile(r"[\w.-]+")
_OF_EXTRA: Final = re.compile(r"extra == ['\"]([\w-]+)['\"]")


def _examine_packages() -> Iterator[Examined]:
    """Python, toolreel, and what it depends on: with which versions, and which extras are not complete.

    `pip check` says whether versions fit.
    """
    yield Examined("python", "ok", f"{platform.python_version()} ({sys.executable})")
    try:
        ours = distribution("toolreel")
    except PackageNotFoundError:
        yield Examined("toolreel", "note", "runs from its sources, so its extras are not known")
        return
    yield Examined("toolreel", "ok", ours.version)
    required: dict[str, list[str]] = {}
    for requirement in ours.requires or ():
        extra, name = _OF_EXTRA.search(requirement), _NAME.match(requirement)
        if name and name[0] != "toolreel":  # an extra that contains another one, which has a line of its own
            required.setdefault(f"toolreel[{extra[1]}]" if extra else "toolreel", []).append(name[0])
    for wanted, names in sorted(required.items()):
        found = {name: next((d.version for d in distributions(name=name)), "") for name in names}
        if absent := [name for name, version in found.items() if not version]:
            text = f"{wanted}: {', '.join(absent)} not installed"
            state: _State = "problem" if wanted == "toolreel" else "note"
            yield Examined("packages", state, text, f"pip install '{wanted}'")
        else:
            listed = ", ".join(f"{name} {version}" for name, version in found.items())
            yield Examined("packages", "ok", f"{wanted}: {listed}")


def _examine_settings() -> Iterator[Examined]:
    settings = shared_settings()
    keys = ", ".join(settings.values) or "no [tool.toolreel]"
    if settings.path:
        yield Examined("settings", "ok", f"{settings.path}: {keys}")


def _examine_keys(server: LiveTarget) -> Iterator[Examined]:
    """The variables that hold keys: those that the server needs, and those that look like one."""
    needed = [name for name in (server.api_key_env, *server.headers.values()) if os.environ.get(name or "")]
    names = sorted({*known_secrets(os.environ), *map(str, needed)})
    yield Examined("keys", "ok", f"set, and kept out of recordings: {', '.join(names) or 'none'}")


def _examine_server(server: LiveTarget, model: str | None) -> Iterator[Examined]:
    """Whether the server answers when it is asked for its models."""
    try:
        import httpx

        from toolreel.http import Address, failure_event, header_values, sync_transport
    except ImportError:
        yield Examined("server", "problem", "httpx is not installed", "pip install 'toolreel[http]'")
        return
    try:
        address = Address.of(
            server.base_url or "",
            server.api_key_env,
            api_prefix=server.api_prefix,
            headers=header_values(server.headers, os.environ),
            api_key_header=server.api_key_header,
        )
    except ToolreelError as error:  # the URL, or a variable that is not set
        yield Examined("server", "problem", str(error))
        return
    withhold(address.secrets)
    base, question, query = address.url.partition("?")
    shown, url = address.server.url, f"{base.removesuffix(PATHS['chat_completions'])}/models{question}{query}"
    try:
        with httpx.Client(
            transport=sync_transport(url, proxy=None, http2=False, connections=1), timeout=server.timeout
        ) as client:
            answer = client.get(url, headers=dict(address.headers))
            body = answer.text
    except httpx.HTTPError as error:
        why = failure_event(0, error).message
        yield Examined(
            "server", "problem", f"{shown} does not answer: {why}", "is it running, and is the URL right?"
        )
        return
    if answer.status_code in {404, 405, 501}:
        yield Examined("server", "note", f"{shown} answers, but lists no models", "`toolreel probe` asks one")
    elif not answer.is_success:
        is_key = answer.status_code in {401, 403}
        remedy = "check the key: --api-key-env, --api-key-header" if is_key else "ask those who run it"
        yield Examined("server", "problem", f"{shown} answers with status {answer.status_code}", remedy)
    else:
        names = [str(as_tree(each).get("id")) for each in items_of(as_tree(read(body).value_or("")), "data")]
        yield Examined("server", "ok", f"{shown} answers, and lists {counted(len(names), 'model')}")
        if model and names and model not in names:
            yield Examined("server", "note", f"its list: {unknown_name('model', model, names)}")


def _examine_database(given: str | None) -> Iterator[Examined]:
    """The database of durable runs, if one is named or lies in this folder."""
    named = given or os.environ.get("TOOLREEL_DATABASE_URL")
    if not named and not Path("toolreel.db").exists():
        return
    try:
        from toolreel.durable import database_url, tables_in

        url = database_url(given)
        shown = url.render_as_string()
        if tables_in(url):
            yield Examined("database", "ok", f"{shown} has the tables of durable runs")
        else:
            yield Examined("database", "note", f"{shown} has no tables yet", "the first use creates them")
    except (ToolreelError, ImportError) as error:
        yield Examined("database", "problem", str(error))


def _examine_recordings(paths: tuple[Path, ...]) -> Iterator[Examined]:
    """What is wrong with recordings, as `toolreel cassettes check` says it."""
    named = paths or tuple(map(Path, shared_settings().texts("recordings")))
    try:
        from toolreel.testing import check

        checked = check(*(named or (Path(),)), now=datetime.now(UTC), known=known_secrets(os.environ))
    except CassetteError as error:
        yield Examined("recordings", "problem" if named else "ok", str(error))
        return
    except ImportError as error:
        yield Examined("recordings", "note", f"not checked: {error}")
        return
    for finding in checked.findings:
        yield Examined("recordings", "problem", f"{finding.path}: {finding.kind}: {finding.text}")
    count = counted(len(checked.recordings), "recording")
    yield Examined("recordings", "ok", f"{count} read; `toolreel cassettes check --help` explains findings")
