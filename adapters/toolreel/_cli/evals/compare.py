"""``toolreel eval compare``: compare two evaluations, or two values of one axis within one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.output.console import err
from toolreel._cli.output.errors import json_option, reporting, say
from toolreel._internal.errors import ResultsError
from toolreel_core._errors import ConfigError

if TYPE_CHECKING:
    pass  # imports SciPy, which --help does not need
from toolreel._cli.evals.table_output import (
    GATES_EPILOG,
    exit_code,
    judged_trees,
    output_options,
    show_tables,
    write_files,
)

_SHOWN = 20
"""Flips of each kind that the console lists."""


@click.command(
    "compare", epilog=GATES_EPILOG, short_help="Compare two evaluations, or two strategies of one."
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("others", metavar="[OTHER]...", nargs=-1)
@click.option(
    "--by",
    "axis",
    type=click.Choice(("model", "profile", "strategy", "fallback", "language")),
    help="Compare two values of this axis within DIR.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="GATE",
    help="A condition for the second side; repeatable: no-regression, margin=0.02, "
    "lower_bound>=0.85, rate[strategy=production]>=0.9.",
)
@click.option(
    "--with",
    "study",
    type=click.Choice(("case-study",)),
    help="Set DIR beside the published figures of the tool calling case study.",
)
@output_options
@json_option
@reporting
def compare_command(
    folder: Path,
    others: tuple[str, ...],
    axis: str | None,
    study: str | None,
    gates: tuple[str, ...],
    markdown: Path | None,
    junit: Path | None,
    as_machine: bool,
) -> int:
    """Compare two sides run by run: losses, gains, and whether they are significant.

    Two runs form a pair if everything except the compared axis is the same, including the trial.

    \b
    toolreel eval compare before/ after/ --gate no-regression
    toolreel eval compare results/ --by strategy raw production --gate margin=0.02
    toolreel eval compare results/ --with case-study
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._summary.comparison import compare, read_sides
    from toolreel.evals._summary.comparison_gates import GateOption, check_gate_options
    from toolreel.evals._tables.comparison_tables import comparison_lines, comparison_tables, comparison_tree
    from toolreel.evals._tables.junit import gate_cases, match_cases
    from toolreel.evals._tables.summary_tables import gate_table

    if study:
        if others or axis or gates or junit:
            raise ConfigError("--with case-study: name one directory, and no --by, --gate or --junit")
        return _beside_study(folder, markdown, as_machine=as_machine)
    words = [GateOption.of(gate) for gate in gates]
    first, second = read_sides(folder, others, axis or "")
    comparison = compare(first.side, second.side, first.axis)
    results = check_gate_options(words, comparison, second.figures)
    gated = [gate_table(results)] if results else []
    lines = (*comparison_lines(comparison), *first.headers_beside(second))
    lacking = f"Incomplete (runs missing or void: {comparison.lacking})." if comparison.lacking else ""
    if not comparison.lacking and not comparison.complete:
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


def _beside_study(folder: Path, markdown: Path | None, *, as_machine: bool) -> int:
    """The evaluation beside the case study."""
    from toolreel.evals._advice.case_study import beside_case_study, beside_tables, beside_tree
    from toolreel.evals._runner.plan_loader import plan_of_header
    from toolreel.evals._summary.reference_results import opened_results
    from toolreel.evals._summary.summary_files import summary_of

    with opened_results(folder) as results:
        found = beside_case_study(summary_of(results, plan_of_header(results.header)))
    if not found.rows:
        raise ResultsError(f"{folder}: it has none of the study's scenarios; run --scenarios case-study")
    tables = beside_tables(found)
    write_files("An evaluation beside the case study", found.notes, tables, (), markdown=markdown, junit=None)
    if as_machine:
        return say(beside_tree(found))
    show_tables((f"beside: {found.study.source}", *found.notes), tables)
    return 0
