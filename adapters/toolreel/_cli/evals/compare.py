"""``toolreel eval compare``: compare two evaluations, or two values of one axis within one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from toolreel._cli.console import err
from toolreel._cli.errors import DRIFT, FAILED, json_option, reporting, say
from toolreel._cli.evals.summarize import (
    GATES_EPILOG,
    exit_code,
    judged_trees,
    output_options,
    show_tables,
    write_files,
    write_junit,
)
from toolreel._internal import ResultsError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json

_AXES: Final = click.Choice(("model", "profile", "strategy", "fallback", "endpoint"))

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
    "--equivalence",
    "margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="MARGIN",
    help="Say whether the sides are equivalent: 0.05 is within 5 points, on these scenarios. Exits with 1 if "
    "they are different, with 3 if it is undecided.",
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
@click.option(
    "--with",
    "study",
    type=click.Choice(("case-study",)),
    help="Compare DIR with the published figures of the tool calling case study.",
)
@output_options
@json_option
@reporting
def compare_command(  # noqa: PLR0913, PLR0917 - one for each option
    folder: Path,
    others: tuple[str, ...],
    axis: str | None,
    pairing: tuple[str, ...],
    study: str | None,
    margin: float | None,
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
    toolreel eval compare results/ --with case-study
    """
    from toolreel.evals import (
        GateOption,
        check_gate_options,
        compare,
        comparison_lines,
        comparison_tables,
        comparison_tree,
        gate_table,
        read_sides,
    )
    from toolreel_core.evals import equivalence

    if study:
        if others or axis or gates or junit:
            raise ConfigError("--with case-study: name one directory, and no --by, --gate or --junit")
        return _beside_study(folder, markdown, as_machine=as_machine)
    words = [GateOption.of(gate) for gate in gates]
    first, second = read_sides(folder, others, axis or "", pairing)
    comparison = compare(first.side, second.side, first.axis, *pairing)
    results = check_gate_options(words, comparison, second.figures)
    gated = [gate_table(results)] if results else []
    whole = comparison.whole.these
    equal = equivalence(whole, margin) if margin and whole else None
    shown = [f"equivalence, on these scenarios: {equal.sentence}"] if equal else []
    lines = (*comparison_lines(comparison), *shown, *first.headers_beside(second))
    lacking = f"Incomplete (runs missing or void: {comparison.lacking})." if comparison.lacking else ""
    if not comparison.lacking and not comparison.complete and not comparison.unrelated:
        lacking = "Incomplete: too many runs are void and accepted for min_coverage."
    write_files(
        "Comparison of evaluations",
        (*lines, lacking),
        [*comparison_tables(comparison), *gated],
        markdown,
    )
    write_junit(junit, results, lacking or comparison.unrelated)
    if as_machine:
        equality = {**asdict(equal), "sentence": equal.sentence} if equal else None
        more: dict[str, Json] = {"equivalence": equality} if margin else {}
        say({**comparison_tree(comparison), **more, "gates": judged_trees(results)})
    else:
        show_tables(lines, [*comparison_tables(comparison, _SHOWN), *gated])
        if lacking:
            err.print(lacking, style="yellow")
    code = exit_code(results, complete=comparison.complete)
    if not margin or code == FAILED:
        return code
    if equal and equal.verdict == "different":
        return FAILED
    return code if equal and equal.verdict == "equivalent" else DRIFT


def _beside_study(folder: Path, markdown: Path | None, *, as_machine: bool) -> int:
    """The evaluation compared with the case study."""
    from toolreel.evals import (
        Results,
        beside_case_study,
        beside_tables,
        beside_tree,
        plan_of_header,
        summary_of,
    )

    results = Results.open(folder)
    found = beside_case_study(summary_of(results, plan_of_header(results.header)))
    if not found.rows:
        raise ResultsError(f"{folder}: it has none of the study's scenarios; run --scenarios case-study")
    tables = beside_tables(found)
    write_files("An evaluation compared with the case study", found.notes, tables, markdown)
    if as_machine:
        return say(beside_tree(found))
    show_tables((f"compared with: {found.study.source}", *found.notes), tables)
    return 0
