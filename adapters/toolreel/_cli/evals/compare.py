"""``toolreel eval compare``: compare two evaluations, or two values of one axis within one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from toolreel._cli.evals.table_output import (
    GATES_EPILOG,
    exit_code,
    judged_trees,
    output_options,
    show_tables,
    write_files,
)
from toolreel._cli.output.console import err
from toolreel._cli.output.errors import json_option, reporting, say

_AXES: Final = click.Choice(("model", "profile", "strategy", "fallback", "language", "endpoint"))

_SHOWN = 20
"""Flips of each kind that the console lists."""


@click.command(
    "compare", epilog=GATES_EPILOG, short_help="Compare two evaluations, or two strategies of one."
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@click.option(
    "--by",
    "axis",
    type=_AXES,
    help="Compare two values of this axis within DIR.",
)
@click.option(
    "--as",
    "pairing",
    type=_AXES,
    multiple=True,
    help="Compare two directories that have one value of this axis each, such as one model; repeatable.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="GATE",
    help="A condition for the second side; repeatable: margin=0.1 (shown to be at most 10 points worse: "
    "takes 36 scenarios that agree), margin[these-scenarios]=0.1 (of these scenarios alone: takes 35 runs), "
    "no-regression (not significantly worse: takes 6 scenarios), no-regression[these-scenarios], "
    "lower_bound>=0.85, rate[strategy=production]>=0.9.",
)
@output_options
@json_option
@reporting
def compare_command(
    folder: Path,
    others: tuple[str, ...],
    axis: str | None,
    pairing: tuple[str, ...],
    gates: tuple[str, ...],
    markdown: Path | None,
    junit: Path | None,
    as_machine: bool,
) -> int:
    """Compare two sides run by run: losses, gains, and whether they are significant.

    Two runs form a pair if everything except the compared axis is the same, including the trial. A
    difference is about scenarios such as these, of which these are a sample. The difference of one scenario,
    and gates with [these-scenarios], are only about the scenarios that were run.

    \b
    toolreel eval compare before/ after/ --gate margin=0.1
    toolreel eval compare one-model/ other-model/ --as model
    toolreel eval compare results/ --by strategy raw production --gate no-regression
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._summary.comparison import compare
    from toolreel.evals._summary.comparison_gates import GateOption, check_gate_options
    from toolreel.evals._summary.comparison_sides import read_sides
    from toolreel.evals._tables.comparison_tables import comparison_lines, comparison_tables, comparison_tree
    from toolreel.evals._tables.junit import gate_cases, match_cases
    from toolreel.evals._tables.summary_tables import gate_table

    words = [GateOption.of(gate) for gate in gates]
    first, second = read_sides(folder, others, axis or "", pairing)
    comparison = compare(first.side, second.side, first.axis, *pairing)
    results = check_gate_options(words, comparison, second.figures)
    gated = [gate_table(results)] if results else []
    lines = (*comparison_lines(comparison), *first.headers_beside(second))
    lacking = f"Incomplete (runs missing or void: {comparison.lacking})." if comparison.lacking else ""
    if not comparison.lacking and not comparison.complete and not comparison.unrelated:
        lacking = "Incomplete: too many runs are void and accepted for min_coverage."
    write_files(
        "Comparison of evaluations",
        (*lines, lacking),
        [*comparison_tables(comparison), *gated],
        (("tasks", match_cases(comparison)), ("gates", gate_cases(results))),
        markdown=markdown,
        junit=junit,
    )
    if as_machine:
        say({**comparison_tree(comparison), "gates": judged_trees(results)})
    else:
        show_tables(lines, [*comparison_tables(comparison, _SHOWN), *gated])
        if lacking:
            err.print(lacking, style="yellow")
    return exit_code(results, complete=comparison.complete)
