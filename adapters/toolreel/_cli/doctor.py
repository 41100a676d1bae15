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
from typing import Literal, TypeAlias

import click

from toolreel._cli.console import out, print_labelled, withhold_secrets
from toolreel._cli.errors import FAILED, command, current_project_settings, json_option, print_json
from toolreel._cli.options import FILE_PATH, LiveTarget, server_options
from toolreel._cli.run_options import database_option
from toolreel._internal import CassetteError, count_with_noun
from toolreel._secrets import known_secrets
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import as_tree, list_at, read_json
from toolreel_core._settings import PATHS

_State: TypeAlias = Literal["ok", "note", "problem"]
_Examined: TypeAlias = Iterator[tuple[_State, str, str]]
"""What is in one place: a text for each thing, and a remedy."""
_STYLES: Mapping[_State, str] = {"ok": "", "note": "yellow", "problem": "bold red"}


@command("doctor")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE_PATH)
@server_options(required=False, fallbacks=False, seconds=10.0)
@database_option
@json_option
def doctor_command(
    paths: tuple[Path, ...], server: LiveTarget, database: str | None, as_machine: bool
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
    areas: dict[str, _Examined] = {
        "packages": _package_findings(),
        "settings": _settings_findings(),
        "keys": _api_key_findings(server),
        "server": _server_findings(server),
        "database": _database_findings(database),
        "recordings": _recording_findings(paths),
    }
    problems = 0
    checks: list[dict[str, str]] = []
    for area, found in areas.items():
        for state, text, remedy in found:
            problems += state == "problem"
            checks.append({"area": area, "state": state, "text": text, "remedy": remedy})
            if not as_machine:
                told = f"{text}: {remedy}" if remedy else text
                print_labelled(area, told, _STYLES[state], mark=f"{state:<9}")
    if as_machine:
        print_json({"ok": not problems, "checks": checks})
    else:
        summary = count_with_noun(problems, "problem") if problems else "no problems"
        out.print(summary, style="bold red" if problems else "green")
    return FAILED if problems else 0


# Of a requirement such as "dbos<4,>=3.4; extra == 'durable'".
_NAME = re.compile(r"[\w.-]+")
_OF_EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")


def _package_findings() -> _Examined:
    """`pip check` says whether versions fit."""
    yield "ok", f"python {platform.python_version()} ({sys.executable})", ""
    try:
        ours = distribution("toolreel")
    except PackageNotFoundError:
        yield "note", "toolreel runs from its sources, so its extras are not known", ""
        return
    yield "ok", f"toolreel {ours.version}", ""
    required: dict[str, list[str]] = {}
    for requirement in ours.requires or ():
        extra, name = _OF_EXTRA.search(requirement), _NAME.match(requirement)
        if name and name[0] != "toolreel":  # an extra that contains another one, which has a line of its own
            required.setdefault(f"toolreel[{extra[1]}]" if extra else "toolreel", []).append(name[0])
    for target, names in sorted(required.items()):
        found = {name: next((d.version for d in distributions(name=name)), "") for name in names}
        if absent := [name for name, version in found.items() if not version]:
            state: _State = "problem" if target == "toolreel" else "note"
            yield state, f"{target}: {', '.join(absent)} not installed", f"pip install '{target}'"
        else:
            yield "ok", f"{target}: {', '.join(f'{name} {version}' for name, version in found.items())}", ""


def _settings_findings() -> _Examined:
    settings = current_project_settings()
    if settings.path:
        yield "ok", f"{settings.path}: {', '.join(settings.values) or 'no [tool.toolreel]'}", ""


def _api_key_findings(server: LiveTarget) -> _Examined:
    names = sorted({*known_secrets(os.environ), *(name for name, value in server.variables.items() if value)})
    yield "ok", f"set, and kept out of recordings: {', '.join(names) or 'none'}", ""


def _server_findings(server: LiveTarget) -> _Examined:
    if not server.base_url:
        return
    try:
        import httpx

        from toolreel.http import Address, failure_event, pooled_transport

        address = Address.of(**server.endpoint_arguments)
    except (ToolreelError, ImportError) as error:  # the URL, or a variable that is not set
        yield "problem", str(error), ""
        return
    withhold_secrets(address.secrets)
    base, question, query = address.url.partition("?")
    shown, url = address.server.url, f"{base.removesuffix(PATHS['chat_completions'])}/models{question}{query}"
    transport = pooled_transport(url, connections=1)
    try:
        with httpx.Client(transport=transport, timeout=server.timeout) as client:
            answer = client.get(url, headers=dict(address.headers))
    except httpx.HTTPError as error:
        why = failure_event(0, error).message
        yield "problem", f"{shown} does not answer: {why}", "is it running, and is the URL right?"
        return
    if answer.is_success:
        models = list_at(as_tree(read_json(answer.text).value_or("")), "data")
        yield "ok", f"{shown} answers, and lists {count_with_noun(len(models), 'model')}", ""
    elif answer.status_code in {404, 405, 501}:
        yield "note", f"{shown} answers, but lists no models", "`toolreel probe` asks one"
    else:
        is_key = answer.status_code in {401, 403}
        remedy = "check the key: --api-key-env, --api-key-header" if is_key else "ask those who run it"
        yield "problem", f"{shown} answers with status {answer.status_code}", remedy


def _database_findings(given: str | None) -> _Examined:
    if not (given or os.environ.get("TOOLREEL_DATABASE_URL") or Path("toolreel.db").exists()):
        return
    try:
        from toolreel.durable import database_url, has_durable_tables

        url = database_url(given)
        if has_durable_tables(url):
            yield "ok", f"{url.render_as_string()} has the tables of durable runs", ""
        else:
            yield "note", f"{url.render_as_string()} has no tables yet", "the first use creates them"
    except (ToolreelError, ImportError) as error:
        yield "problem", str(error), ""


def _recording_findings(paths: tuple[Path, ...]) -> _Examined:
    named = paths or tuple(map(Path, current_project_settings().texts("recordings")))
    try:
        from toolreel.testing import check

        checked = check(*(named or (Path(),)), now=datetime.now(UTC), known=known_secrets(os.environ))
    except CassetteError as error:
        yield "problem" if named else "ok", str(error), ""
        return
    except ImportError as error:
        yield "note", f"not checked: {error}", ""
        return
    for finding in checked.findings:
        yield "problem", f"{finding.path}: {finding.kind}: {finding.text}", ""
    count = count_with_noun(len(checked.recordings), "recording")
    yield "ok", f"{count} read; `toolreel cassettes check --help` explains findings", ""
