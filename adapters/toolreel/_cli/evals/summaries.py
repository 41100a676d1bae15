"""``toolreel eval summarize``, ``compare`` and ``report``: tables, files for a build, pages and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import click

from toolreel._cli.output.console import err, out, printable
from toolreel._cli.output.errors import DRIFT, EPILOG, json_option, reporting, say
from toolreel.evals._report.transcript_data import TRANSCRIPTS
from toolreel.evals._store.results import write_atomically
from toolreel.evals._tables.table import TextTable, as_markdown, without_constant_columns
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._statistics.gates import GateResult, overall_standing

if TYPE_CHECKING:
    from toolreel.evals._tables.junit import Case  # imports SciPy, which --help does not need

_GATES_EPILOG: Final = (
    "Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete: runs are missing or void, "
    "or a gate is undecided."
)
FAILED: Final = 1

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def output_options(command: Callable[_Options, _Result]) -> Callable[_Options, _Result]:
    """The options ``--markdown`` and ``--junit``."""
    path = click.Path(dir_okay=False, path_type=Path)
    for name, what in (
        ("--junit", "Write JUnit XML there, a test case for each cell and each gate."),
        ("--markdown", "Write the tables there as Markdown."),
    ):
        command = click.option(name, type=path, metavar="FILE", help=what)(command)
    return command


def show_tables(lines: Iterable[str], tables: Iterable[TextTable]) -> None:
    """Print lines and tables; on a terminal, columns with one and the same value of little interest go."""
    for connection in lines:
        out.print(printable(connection))
    for table in tables:
        out.print()
        out.print(printable(table.title), style="bold blue")
        _show_table(without_constant_columns(table) if out.is_terminal else table)
        for note in table.notes:
            out.print(printable(note), style="dim")


def write_files(
    title: str,
    lines: Iterable[str],
    tables: Iterable[TextTable],
    suites: Iterable[tuple[str, Sequence[Case]]],
    *,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    """Write what ``--markdown`` and ``--junit`` ask for.

    :raises ResultsError: if a file cannot be written
    """
    if markdown:
        write_atomically(markdown, as_markdown(title, lines, tables))
    if junit:
        from toolreel.evals._tables.junit import as_junit

        write_atomically(junit, as_junit(suites))


def judged_trees(results: Iterable[GateResult]) -> list[Json]:
    """The results of the gates."""
    return [{"standing": one.standing, "sentence": one.sentence} for one in results]


def exit_code(results: Sequence[GateResult], *, complete: bool) -> int:
    """The number that a command ends with."""
    standing = overall_standing(results)
    if standing == "failed":
        return FAILED
    return 0 if complete and standing == "passed" else DRIFT


def _show_table(table: TextTable) -> None:
    rows = [tuple(map(printable, row)) for row in table.rows]
    widths = [max(len(row[column]) for row in (table.head, *rows)) for column in range(len(table.head))]
    _print_row(table.head, widths)
    out.print("-|-".join("-" * width for width in widths))
    for row in rows:
        _print_row(row, widths)


def _print_row(row: Sequence[str], widths: Sequence[int]) -> None:
    connection = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    out.print(connection.rstrip())


@click.command(
    "summarize", epilog=_GATES_EPILOG, short_help="Sum an evaluation up, and judge the plan's gates."
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--runs", is_flag=True, help="Also write one file for each run, into DIR/runs.")
@output_options
@json_option
@reporting
def summarize_command(
    folder: Path, runs: bool, markdown: Path | None, junit: Path | None, as_machine: bool
) -> int:
    """Summarize the runs in DIR, write the summary files there, and check the gates of the plan.

    The files are summary.json and tables by scenario, by strategy and by language policy. Nothing is sent.
    """
    from toolreel.evals._replay.reference_run_files import write_run_files
    from toolreel.evals._store.plan_sources import plan_of_header
    from toolreel.evals._store.results import Results
    from toolreel.evals._summary.export import summary_trees, write_summaries
    from toolreel.evals._summary.figures import findings_of
    from toolreel.evals._summary.plan_gates import check_gates, gates_of
    from toolreel.evals._tables.junit import cell_cases, gate_cases
    from toolreel.evals._tables.summary_tables import gate_table, head_lines, incompleteness, summary_tables

    results = Results.open(folder)
    plan = plan_of_header(results.header)
    summary = write_summaries(results, plan)
    gate_results = check_gates(gates_of(plan), summary, plan)
    tables = [*summary_tables(summary, findings_of(summary, plan))]
    tables += [gate_table(gate_results)] if gate_results else []
    lines = [*head_lines(summary, plan, results.header.created, str(folder)), *summary.warnings]
    incomplete = incompleteness(summary)
    write_files(
        "Evaluation of tool calls",
        (*lines[1:], incomplete),
        tables,
        (("cells", cell_cases(summary)), ("gates", gate_cases(gate_results))),
        markdown=markdown,
        junit=junit,
    )
    if runs:
        write_run_files(results, plan, summary)
    if as_machine:
        files = summary_trees(summary, results, plan)
        say({**files["summary.json"], "gates": judged_trees(gate_results)})
    else:
        show_tables(lines, tables)
        if incomplete:
            err.print(incomplete, style="yellow")
    return exit_code(gate_results, complete=summary.complete)


_SHOWN = 20
"""Flips of each kind that the console lists."""


@click.command(
    "compare", epilog=_GATES_EPILOG, short_help="Compare two evaluations, or two strategies of one."
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
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
@output_options
@json_option
@reporting
def compare_command(
    folder: Path,
    others: tuple[str, ...],
    axis: str | None,
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
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._summary.comparison import compare, read_sides
    from toolreel.evals._summary.comparison_gates import GateOption, check_gate_options
    from toolreel.evals._tables.comparison_tables import comparison_lines, comparison_tables, comparison_tree
    from toolreel.evals._tables.junit import gate_cases, match_cases
    from toolreel.evals._tables.summary_tables import gate_table

    words = [GateOption.of(gate) for gate in gates]
    first, second = read_sides(folder, others, axis or "")
    comparison = compare(first.side, second.side, first.axis)
    results = check_gate_options(words, comparison, second.figures)
    gated = [gate_table(results)] if results else []
    lines = (*comparison_lines(comparison), *first.headers_beside(second))
    lacking = f"Incomplete: {comparison.lacking} runs are missing or void." if comparison.lacking else ""
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
    return exit_code(results, complete=not comparison.lacking)


@click.command("report", epilog=EPILOG, short_help="Show the results as one HTML page, and as pictures.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes.  [default: report.html in DIR]",
)
@click.option(
    "--svg",
    "pictures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write heatmap.svg, strategies.svg, failures.svg and cost.svg into this directory.",
)
@click.option(
    "--transcripts",
    type=click.IntRange(min=0),
    default=TRANSCRIPTS,
    show_default=True,
    metavar="N",
    help="Maximum number of transcripts; failures and first passes are chosen first.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@json_option
@reporting
def report_command(
    folder: Path, page: Path | None, pictures: Path | None, transcripts: int, opens: bool, as_machine: bool
) -> int:
    """Write the results in DIR as one self-contained HTML page.

    Transcripts are replayed from the cassettes. The same results give the same page.

    \b
    toolreel eval report results
    toolreel eval report results --out report.html --svg pictures --open
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel.evals._report.page import report_content, report_page, report_pictures
    from toolreel.evals._store.results import Results, write_atomically

    found = report_content(Results.open(folder))
    target = page or folder / "report.html"
    files = {target: report_page(found, transcripts)}
    if pictures is not None:
        files |= {pictures / name: text for name, text in report_pictures(found).items()}
    for path, text in files.items():
        write_atomically(path, text)
    if opens:
        click.launch(target.resolve().as_uri())
    if as_machine:
        return say({"files": [str(path) for path in files], "complete": found.summary.complete})
    if not found.summary.complete:
        err.print("The evaluation is incomplete, and the page says so.", style="yellow")
    for path, text in files.items():
        out.print(f"{path}  {len(text.encode()):,} bytes")
    return 0
