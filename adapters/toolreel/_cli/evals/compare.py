"""``toolreel eval compare``: compare two evaluations, or two values of one axis within one."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import err
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.summarize import (
    GATES_EPILOG,
    exit_code,
    markdown_option,
    show_tables,
    write_files,
)

_SHOWN = 20
"""Flips of each kind that the console lists."""


@click.command("compare", epilog=GATES_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("others", metavar="[OTHER]...", nargs=-1)
@click.option(
    "--by",
    "axis",
    type=click.Choice(("model", "profile", "strategy", "endpoint")),
    help="Compare two values of this axis within DIR.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="GATE",
    help="A condition for the second side; repeatable: margin=0.1 (shown to be at most 10 points worse: "
    "takes 36 scenarios that agree), margin[these-scenarios]=0.1 (of these scenarios alone: takes 35 runs), "
    "no-regression (not significantly worse: takes 6 scenarios), no-regression[these-scenarios], "
    "nothing-broke (no scenario that worked broke), lower_bound>=0.85, rate[strategy=production]>=0.9.",
)
@markdown_option
@json_option
@reporting
def compare_command(
    folder: Path,
    others: tuple[str, ...],
    axis: str | None,
    gates: tuple[str, ...],
    markdown: Path | None,
    as_machine: bool,
) -> int:
    """Compare two sides run by run: losses, gains, and whether they are significant.

    Two runs form a pair if everything except the compared axis is the same, including the trial. A
    difference is about scenarios such as these, of which these are a sample. The difference of one scenario,
    and gates with [these-scenarios], are only about the scenarios that were run.

    \b
    toolreel eval compare before/ after/ --gate margin=0.1
    toolreel eval compare one-model/ other-model/
    toolreel eval compare results/ --by strategy raw production --gate no-regression
    """
    from toolreel.evals import (
        check_gates,
        compare,
        comparison_lines,
        comparison_tables,
        comparison_tree,
        gate_table,
        gate_trees,
    )
    from toolreel_core.evals import gate_option

    words = [gate_option(gate) for gate in gates]
    found = compare(folder, others, axis or "")
    results = check_gates(words, found.gate_sides)
    gated = [gate_table(results)] if results else []
    lines, incomplete = (*comparison_lines(found), *found.headers), found.incomplete
    write_files(
        "Comparison of evaluations", (*lines, incomplete), [*comparison_tables(found), *gated], markdown
    )
    if as_machine:
        say({**comparison_tree(found), "gates": gate_trees(results)})
    else:
        show_tables(lines, [*comparison_tables(found, _SHOWN), *gated])
        if incomplete:
            err.print(incomplete, style="yellow")
    return exit_code(results, complete=not incomplete and not found.unrelated)
