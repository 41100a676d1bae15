"""``toolreel eval scenario check``: prove the checks of scenarios by their scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from toolreel._cli.console import out, printable
from toolreel._cli.errors import FAILED, json_option, reporting, say
from toolreel.evals._authoring.proof import Proof, proof_of, sentences
from toolreel.evals._scenario_files.files import read_scenarios
from toolreel_core._jsontext.canonical import Json


@click.command(
    "check",
    short_help="Run the scripts of scenarios, to prove their checks.",
    epilog="Exit codes: 0 every script got its verdict, 1 one did not, 2 a file is not valid.",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--trials",
    default=None,
    type=click.IntRange(1),
    help="Trials to draw for each script; 20 by default, or 2 where tools are real.",
)
@json_option
@reporting
def check_command(files: Sequence[Path], trials: int | None, as_machine: bool) -> int:
    """Prove the checks of scenario files: good scripts have to pass, bad ones to fail, under several seeds.

    No model is asked. Tools under [real] run for real.
    """
    proofs = [proof_of(each, trials) for file in files for each in read_scenarios(file)]
    failed = not all(proof.holds for proof in proofs)
    if as_machine:
        say({"holds": not failed, "scenarios": [_tree(proof) for proof in proofs]})
        return FAILED if failed else 0
    for proof in proofs:
        out.print(printable(f"{proof.scenario}: {'holds' if proof.holds else 'does not hold'}"))
        for sentence in sentences(proof):
            out.print(printable(f"  {sentence}"))
    return FAILED if failed else 0


def _tree(proof: Proof) -> dict[str, Json]:
    return {
        "scenario": proof.scenario,
        "holds": proof.holds,
        "scripts": {
            each.kind: {
                "wanted": each.wanted,
                "results": [verdict.result for verdict in each.verdicts],
                "reasons": [*each.contrary.reasons] if each.contrary else [],
            }
            for each in proof.scripts
        },
        "never_failed": [*proof.never_failed],
    }
