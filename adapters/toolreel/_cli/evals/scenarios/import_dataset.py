"""``toolreel eval scenario import``: the cases of a public data set as scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final, Literal, TypeAlias, assert_never, get_args

import click

from toolreel._cli.console import err, labelled, out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel._internal.errors import EvalPlanError
from toolreel._internal.toml_files import read_file
from toolreel.evals._authoring.public_formats.bfcl import bfcl_cases
from toolreel.evals._authoring.public_formats.cases import ImportedCase, write_imported
from toolreel.evals._authoring.public_formats.tau2 import Tau2Options, tau2_cases

_Format: TypeAlias = Literal["bfcl", "tau2"]
_FORMATS: Final[tuple[_Format, ...]] = get_args(_Format)
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "import",
    short_help="Make scenarios of a public data set.",
    epilog="Exit codes: 0 written, 2 usage, or no case could be carried over.",
)
@click.argument("file", metavar="FILE", type=_FILE)
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(_FORMATS),
    help="bfcl: multi-turn cases of the Berkeley function-calling leaderboard; tau2: tasks of tau2.",
)
@click.option(
    "--out",
    "path",
    required=True,
    type=_FILE,
    metavar="FILE.jsonl",
    help="Where the scenarios go, one a line.",
)
@click.option("--answers", default=None, type=_FILE, help="bfcl: the file of the right calls.")
@click.option(
    "--functions",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="bfcl: the folder with the functions of each class.",
)
@click.option("--user-model", default="", metavar="MODEL", help="tau2: the model that plays the user.")
@click.option(
    "--judge-model", default="", metavar="MODEL", help="tau2: the model that judges assertions in words."
)
@click.option("--system", default=None, type=_FILE, help="tau2: the policy, as a system message.")
@click.option(
    "--tools", default=None, type=_FILE, help="tau2: tool definitions, as chat completions take them."
)
@json_option
@reporting
def import_command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    file: Path,
    form: _Format,
    path: Path,
    answers: Path | None,
    functions: Path | None,
    user_model: str,
    judge_model: str,
    system: Path | None,
    tools: Path | None,
    as_machine: bool,
) -> int:
    """Make scenarios of the cases in FILE, one a line of a new file in JSON lines.

    The worlds of these data sets are code, which is not carried over: tools note their calls, and the right
    calls become checks. What a scenario lacks is named, case by case; a case that would be another task
    without it is left out, and the reason is named too.
    """
    if path.suffix != ".jsonl":
        raise EvalPlanError(f"--out: a file of several scenarios ends in .jsonl, got {str(path)!r}")
    match form:
        case "bfcl":
            cases = tuple(bfcl_cases(file, answers, functions))
        case "tau2":
            if not user_model:
                raise EvalPlanError("--user-model: name the model that plays the user of the tasks")
            policy = read_file(system, EvalPlanError, "there is no such file") if system else ""
            cases = tuple(tau2_cases(file, Tau2Options(user_model, judge_model, policy, tools)))
        case _:
            assert_never(form)
    _tell(cases, as_machine=as_machine)
    write_imported(cases, path)
    written = sum(case.tree is not None for case in cases)
    if as_machine:
        return say(
            {
                "file": str(path),
                "written": written,
                "cases": [
                    {"case": one.case, "written": one.tree is not None, "left_out": [*one.left_out]}
                    for one in cases
                ],
            }
        )
    out.print(printable(f"{path} is written: {written} of {len(cases)} cases."))
    labelled(out, "next", f"toolreel eval scenario check {quote(str(path))}")
    return 0


def _tell(cases: Sequence[ImportedCase], *, as_machine: bool) -> None:
    """What is not carried over, on stderr."""
    if as_machine:
        return
    for case in cases:
        how = "left out of it" if case.tree is not None else "not imported"
        for what in case.left_out:
            err.print(printable(f"{case.case}: {how}: {what}"))
