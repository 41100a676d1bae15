"""``toolreel eval summarize``, and what other commands show like it: tables, JUnit, exit codes of gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import DRIFT, FAILED, json_option, reporting, say
from toolreel._internal import ResultsError
from toolreel.evals import Results, TextTable, as_markdown, without_constant_columns, write_atomically
from toolreel_core._jsontext import Json
from toolreel_core.evals import GateResult, overall_standing

GATES_EPILOG: Final = (
    "Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete: runs are missing or void, "
    "or a gate is undecided."
)

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def output_options(command: Callable[_Options, _Result]) -> Callable[_Options, _Result]:
    """The options ``--markdown`` and ``--junit``."""
    path = click.Path(dir_okay=False, path_type=Path)
    for name, what in (
        ("--junit", "Write JUnit XML there: a test case for each gate, and one for being complete."),
        ("--markdown", "Write the tables there as Markdown."),
    ):
        command = click.option(name, type=path, metavar="FILE", help=what)(command)
    return command


@click.command(
    "summarize", epilog=GATES_EPILOG, short_help="Sum an evaluation up, and judge the plan's gates."
)
@click.argument(
    "folders",
    metavar="[DIR]...",
    nargs=-1,
    required=True,
    envvar="OPENROUTER_REPORT_DIR",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="WHOLE",
    help="Join the directories, which are shards of one plan, in this new one.",
)
@output_options
@json_option
@reporting
def summarize_command(
    folders: tuple[Path, ...],
    target: Path | None,
    markdown: Path | None,
    junit: Path | None,
    as_machine: bool,
) -> int:
    """Summarize the runs in DIR, write the summary files there, and check the gates of the plan.

    The files are summary.json and tables by scenario and by strategy. Nothing is sent. Without DIR, it is
    that of the variable OPENROUTER_REPORT_DIR. The shards of several machines are joined first, with their
    recordings: a void run gives way to one that ended; different plans and runs are refused.

    \b
    toolreel eval summarize results
    toolreel eval summarize monday tuesday --out results
    """
    from toolreel.evals import (
        answer_of,
        check_gates,
        compared_strategies,
        findings_of,
        gate_table,
        gates_of,
        head_lines,
        join_results,
        plan_changes,
        plan_of_header,
        summary_of,
        summary_tables,
        summary_trees,
        with_lateness,
        write_trees,
    )

    if (target is None) != (len(folders) == 1):
        raise ResultsError("name one directory, or the shards of a plan with --out WHOLE")
    folder = target or folders[0]
    if target:
        join_results(folders, target)
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    summary = summary_of(results, plan)
    findings = findings_of(summary, plan)
    files = summary_trees(summary, findings, results, plan)
    write_trees(results.path, files)
    gate_results = with_lateness(check_gates(gates_of(plan), summary, plan), results.header)
    tables = [*summary_tables(summary, findings)]
    tables += [gate_table(gate_results)] if gate_results else []
    answer = answer_of(findings, compared_strategies(summary, findings), gate_results)
    head = head_lines(summary, plan, results.header.created, str(folder))
    lines = [*head, *answer.sentences, *plan_changes(results.header), *summary.warnings]
    incomplete = summary.incompleteness
    write_files("Evaluation of tool calls", (*lines[1:], incomplete), tables, markdown)
    write_junit(junit, gate_results, incomplete)
    if as_machine:
        say({**files["summary.json"], "gates": judged_trees(gate_results)})
    else:
        show_tables(lines, tables)
        if incomplete:
            err.print(incomplete, style="yellow")
    return exit_code(gate_results, complete=summary.complete)


def show_tables(lines: Iterable[str], tables: Iterable[TextTable]) -> None:
    """Print lines and tables; on a terminal, columns with one and the same value of little interest go."""
    for line in lines:
        out.print(printable(line))
    for table in tables:
        out.print()
        out.print(printable(table.title), style="bold blue")
        _show_table(without_constant_columns(table) if out.is_terminal else table)
        for note in table.notes:
            out.print(printable(note), style="dim")


def write_files(title: str, lines: Iterable[str], tables: Iterable[TextTable], markdown: Path | None) -> None:
    """Write what ``--markdown`` asks for.

    :raises ResultsError: if the file cannot be written
    """
    if markdown:
        write_atomically(markdown, as_markdown(title, lines, tables))


def write_junit(junit: Path | None, results: Iterable[GateResult], why_incomplete: str) -> None:
    """Write what ``--junit`` asks for: green if and only if the gates pass, and all runs were made.

    :raises ResultsError: if the file cannot be written
    """
    if junit:
        from toolreel.evals import as_junit

        write_atomically(junit, as_junit(results, why_incomplete))


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
    line = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    out.print(line.rstrip())
