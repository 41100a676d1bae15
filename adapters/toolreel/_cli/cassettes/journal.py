"""``toolreel cassettes journal``: make the journals of the runs in a cassette of any client."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.options.presets import PresetChoice, preset_options
from toolreel._cli.options.recording import cassette_path
from toolreel._cli.options.settings import parse_settings, settings_option
from toolreel._cli.options.tools import tools_option
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting
from toolreel._cli.output.whole_run import as_json, show_outcome, show_plan, show_turns
from toolreel._internal.errors import JournalError, SecretFound
from toolreel._journal.format import read_journal
from toolreel._journal.seal import sealed
from toolreel._replay.from_cassette.recorded_requests import COMPARISONS, Comparison
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.scan import leaks
from toolreel.testing._recording_paths import ReelFiles
from toolreel.tools._python.named_tools import load_tools
from toolreel_core._errors import CodecError, ReplayMismatch
from toolreel_core._jsontext.canonical import Json, read
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.codec import decode_plan

if TYPE_CHECKING:
    from toolreel._replay.from_cassette.journals import RecoveredRun


@click.command("journal", epilog=EPILOG, short_help="Make the journal of any client's cassette.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The plan of the run: a journal, or a plan as JSON. By default, the plan of the journals next to "
    "the cassette; without journals, a plan inferred from the requests.",
)
@tools_option("Run these tools for real; without it, their results are taken from the requests.")
@click.option(
    "--compare",
    type=click.Choice(COMPARISONS),
    help="How a recorded request must match toolreel's own: byte-identical (the default with a plan), "
    "equal in content, or not at all.",
)
@preset_options
@settings_option("A setting of the loop or the provider, for a plan that is inferred; may be repeated.")
@click.option("--out", "name", metavar="NAME", help="Write NAME.journal.jsonl, and NAME+2 and so on.")
@click.option("--overwrite", is_flag=True, help="Replace files of that name.")
@json_option
@reporting
def journal_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: Path,
    plan_file: Path | None,
    tool_names: tuple[str, ...],
    compare: Comparison | None,
    presets: PresetChoice,
    settings: tuple[str, ...],
    name: str | None,
    overwrite: bool,
    as_machine: bool,
) -> int:
    """Make the journal of each run in a cassette by running the reducer over its tape; no network.

    FILE is a cassette of any client that speaks chat completions, Responses or Messages (NAME.yaml). With a
    journal next to it, or --plan, the journal that comes out is the one that the live run wrote.

    \b
    toolreel cassettes journal cassettes/openai-sdk/local--qwen2.5-coder-1.5b.yaml --out answers
    toolreel replay answers.journal.jsonl
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._replay.from_cassette.journals import recover_runs
    from toolreel.cassette._open_cassette import Recording
    from toolreel.tools._python.host import PythonTools

    chosen = parse_settings(settings)
    target = cassette_path(name)
    tape = Recording.load(file)
    beside = [read_journal(path) for path in ReelFiles(file).journals] if plan_file is None else []
    plans = [_plan(plan_file)] if plan_file else [recorded.plan for recorded in beside]
    with redirect_stdout(sys.stderr):
        tools = load_tools(tool_names)
        runs = recover_runs(
            tape,
            plans=plans,
            tools=PythonTools(tools) if tools else None,
            compare=compare,
            preset=presets.preset(),
            settings={**chosen.config, **chosen.provider},
        )
    for was, now in zip(beside, runs, strict=False):
        if was.text != now.recorded.text and compare in {None, "exact"}:
            raise ReplayMismatch(f"{was.source}: is not the journal that comes out of {file}")
    saved = _saved(runs, ReelFiles(target), overwrite=overwrite) if target else ()
    _show(runs, saved, identical=bool(beside), as_machine=as_machine)
    return 0


def _plan(path: Path) -> Plan:
    """The plan in a file."""
    if path.name.endswith(".jsonl"):
        return read_journal(path).plan
    try:
        tree = read(path.read_bytes().decode()).value_or(None)
        return decode_plan(tree)
    except (OSError, UnicodeDecodeError, CodecError) as error:
        raise JournalError(f"{path}: not a plan: {error}") from None


def _saved(runs: tuple[RecoveredRun, ...], files: ReelFiles, *, overwrite: bool) -> tuple[Path, ...]:
    """Write the journals; returns their paths."""
    paths = tuple(files.journal(number) for number in range(1, len(runs) + 1))
    secrets = known_secrets(os.environ)
    for path, one in zip(paths, runs, strict=True):
        if path.exists() and not overwrite:
            raise JournalError(f"{path} exists already: name another, or overwrite it (--overwrite)")
        if found := leaks(one.recorded.text, secrets):
            raise SecretFound(f"{path}: not written, it would hold {found[0].kind}")
    for path, one in zip(paths, runs, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sealed(one.recorded.text))
    return paths


def _show(
    runs: tuple[RecoveredRun, ...], saved: tuple[Path, ...], *, identical: bool, as_machine: bool
) -> None:
    if as_machine:
        trees: list[Json] = [
            as_json(one.run, {"interactions": [one.first, one.last], "journal": one.recorded.digest})
            for one in runs
        ]
        tree = {"runs": trees, "identical": identical, "saved": [str(path) for path in saved]}
        click.echo(json.dumps(tree, ensure_ascii=False).encode())
        return
    for one in runs:
        labelled(out, "interaction", f"{one.first} to {one.last}" if one.last > one.first else f"{one.first}")
        show_plan(out, one.run)
        show_turns(out, one.run)
        show_outcome(out, one.run)
        same = ", as the live run wrote it" if identical else ""
        labelled(out, "journal", f"{one.recorded.digest[:16]}{same}")
    for path in saved:
        labelled(out, "saved", str(path))
