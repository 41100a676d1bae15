"""``toolreel eval scenario``: write scenarios of your own, and prove that their checks hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote

import click

from toolreel._cli.console import err, out, print_labelled, printable
from toolreel._cli.errors import FAILED, json_option, print_json, with_error_reporting
from toolreel._cli.options import path_option
from toolreel._internal import toml_text
from toolreel.evals import (
    expand_path_pattern,
    proof_of,
    proof_sentences,
    read_scenarios,
    scenario_of_session,
    scenario_template,
    write_new_file,
)
from toolreel_core._jsontext import Json


@click.command("new", short_help="Write a commented scenario to start from.")
@click.argument("name", metavar="NAME")
@with_error_reporting
def new_command(name: str) -> int:
    """Write NAME.toml: a scenario with everything that one can have, explained line by line.

    NAME may be the file itself, such as scenarios/refund.toml. It passes `toolreel eval scenario check` as it
    stands; change it piece by piece.

    \b
    toolreel eval scenario new refund
    """
    file = Path(name if name.endswith(".toml") else f"{name}.toml")
    write_new_file(file, scenario_template(file.stem))
    place = quote(str(file))
    out.print(printable(f"{file} is written."))
    print_labelled(
        "next",
        f"toolreel eval scenario check {place}\n"
        f"toolreel eval run --scenarios {place} --model scripted:good --out results",
    )
    return 0


@click.command(
    "check",
    short_help="Run the scripts of scenarios, to prove their checks.",
    epilog="Exit codes: 0 every script got its verdict, 1 one did not, 2 a file is not valid.",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--trials",
    default=None,
    type=click.IntRange(1),
    help="Trials to draw for each script; 20 by default, or 2 where tools are real.",
)
@json_option
@with_error_reporting
def check_command(files: Sequence[str], trials: int | None, as_machine: bool) -> int:
    """Prove the checks of scenario files: good scripts have to pass, bad ones to fail, under several seeds.

    FILE may be a pattern, as in `eval run --scenarios`. No model is asked. Tools under [real] run for real.

    \b
    toolreel eval scenario check refund.toml
    """
    proofs = [
        proof_of(each, trials)
        for word in files
        for path in expand_path_pattern(word)
        for each in read_scenarios(path)
    ]
    failed = not all(proof.holds for proof in proofs)
    if as_machine:
        trees: list[Json] = [{"holds": proof.holds, **asdict(proof)} for proof in proofs]
        print_json({"holds": not failed, "scenarios": trees})
        return FAILED if failed else 0
    for proof in proofs:
        out.print(printable(f"{proof.scenario}: {'holds' if proof.holds else 'does not hold'}"))
        for sentence in proof_sentences(proof):
            out.print(printable(f"  {sentence}"))
    return FAILED if failed else 0


@click.command(
    "from",
    short_help="Make a scenario of a recorded session.",
    epilog="Exit codes: 0 written, 2 usage, 3 the recording cannot be read as a run.",
)
@click.argument("recording", metavar="RECORDING", type=click.Path(path_type=Path))
@path_option("--out", "path", "FILE", "Where to write it; the scenario's name and .toml by default.")
@click.option(
    "--name", default="", metavar="NAME", help="Name of the scenario; made of the recording's by default."
)
@with_error_reporting
def from_command(recording: Path, path: Path | None, name: str) -> int:
    """Make a scenario of RECORDING: a journal (NAME.journal.jsonl), or the name or cassette of one.

    Texts, tools and results are those of the recording; the calls that worked become the good script, and
    what they did becomes the checks. The file's comments say what you have to decide. `toolreel cassettes
    journal` makes the journals of any client's cassette.

    \b
    toolreel eval scenario from session --name release_status
    """
    tree, decisions = scenario_of_session(recording, name)
    file = path or Path(f"{tree['name']}.toml")
    about = (f"Made of {recording.name}, without what is null, and without images and files of the user.",)
    write_new_file(file, toml_text(tree, (*about, *(f"Decide: {each}" for each in decisions))))
    out.print(printable(f"{file} is written."))
    for each in decisions:
        err.print(printable(f"Decide: {each}."), style="yellow")
    print_labelled("next", f"toolreel eval scenario check {quote(str(file))}")
    return 0


@click.group(
    "scenario",
    commands=(check_command, from_command, new_command),
    epilog="Exit codes: 0 success, 1 a script got another verdict than it has to, 2 usage.",
)
def scenario_command() -> None:
    """Write scenarios of your own: a TOML file with texts, tools, checks, and scripts that prove the checks.

    toolreel eval scenario new refund, then: toolreel eval scenario check refund.toml
    """
