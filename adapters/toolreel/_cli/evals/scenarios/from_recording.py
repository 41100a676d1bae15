"""``toolreel eval scenario from``: a recorded session as a scenario."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from toolreel._cli.console import err, labelled, out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.options import PresetChoice, parse_settings, preset_options, settings_option
from toolreel.evals._authoring.recorded_session import read_session
from toolreel.evals._authoring.scenario_of_session import draft_of
from toolreel.evals._authoring.template import write_new


@click.command(
    "from",
    short_help="Make a scenario of a recorded session.",
    epilog="Exit codes: 0 written, 2 usage, 3 the recording cannot be read as a run.",
)
@click.argument("recording", metavar="RECORDING", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "path",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it; the scenario's name and .toml by default.",
)
@click.option(
    "--name", default="", metavar="NAME", help="Name of the scenario; made of the recording's by default."
)
@click.option(
    "--run",
    "number",
    default=None,
    type=click.IntRange(1),
    metavar="N",
    help="Which run of a cassette without a journal; by default the last one that has tools.",
)
@preset_options
@settings_option("How the replies of a cassette without a journal are read; may be repeated.")
@json_option
@reporting
def from_command(
    recording: Path,
    path: Path | None,
    name: str,
    number: int | None,
    presets: PresetChoice,
    settings: tuple[str, ...],
    as_machine: bool,
) -> int:
    """Make a scenario of RECORDING: a cassette (NAME.yaml, of any client) or a journal (NAME.journal.jsonl).

    Texts, tools and results are those of the recording; the calls that worked become the good script, and
    what they did becomes the checks. The file's comments say what you have to decide.
    """
    chosen = parse_settings(settings)
    session = read_session(
        recording, number or 0, preset=presets.preset(), settings={**chosen.config, **chosen.provider}
    )
    draft = draft_of(session, name)
    file = path or Path(f"{draft.name}.toml")
    write_new(file, draft.text(recording.name))
    if as_machine:
        return say(
            {
                "scenario": draft.name,
                "file": str(file),
                "holds": draft.proof.holds,
                "decide": [*draft.decisions],
            }
        )
    out.print(
        printable(f"{file} is written; its checks {'hold' if draft.proof.holds else 'do not hold yet'}.")
    )
    for each in draft.decisions:
        err.print(printable(f"Decide: {each}."), style="yellow")
    labelled(out, "next", f"toolreel eval scenario check {quote(str(file))}")
    return 0
