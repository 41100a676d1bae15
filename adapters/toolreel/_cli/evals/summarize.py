"""``toolreel eval summarize``: sum an evaluation up, and judge the gates of its plan."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import err
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.table_output import (
    GATES_EPILOG,
    exit_code,
    judged_trees,
    output_options,
    show_tables,
    write_files,
    write_junit,
)
from toolreel._internal.errors import ResultsError


@click.command(
    "summarize", epilog=GATES_EPILOG, short_help="Sum an evaluation up, and judge the plan's gates."
)
@click.argument(
    "folder",
    metavar="[DIR]",
    envvar="OPENROUTER_REPORT_DIR",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--runs", is_flag=True, help="Also write one file for each run, into DIR/runs.")
@output_options
@json_option
@reporting
def summarize_command(
    folder: Path, runs: bool, markdown: Path | None, junit: Path | None, junit_cells: bool, as_machine: bool
) -> int:
    """Summarize the runs in DIR, write the summary files there, and check the gates of the plan.

    The files are summary.json and tables by scenario, by strategy and by language policy. Nothing is sent.
    DIR may be a directory of the reference harness; nothing is written there. Without DIR, it is that of the
    variable OPENROUTER_REPORT_DIR.
    """
    from toolreel.evals._runner.plan_loader import plan_of_header
    from toolreel.evals._summary.plan_changes import plan_changes, with_lateness
    from toolreel.evals._summary.plan_gates import check_gates, gates_of
    from toolreel.evals._summary.reference_results import is_reference, opened_results
    from toolreel.evals._summary.run_files_in_reference_format import write_run_files
    from toolreel.evals._summary.summary_files import summary_of, summary_trees, write_trees
    from toolreel.evals._summary.summary_statistics import findings_of
    from toolreel.evals._tables.junit import cell_cases
    from toolreel.evals._tables.summary_tables import gate_table, head_lines, summary_tables

    if runs and is_reference(folder):
        raise ResultsError("--runs: DIR has the run files of the reference harness; leave it out")
    results = click.get_current_context().with_resource(opened_results(folder))
    plan = plan_of_header(results.header)
    summary = summary_of(results, plan)
    findings = findings_of(summary, plan)
    files = summary_trees(summary, findings, results, plan)
    write_trees(results.path, files)
    gate_results = with_lateness(check_gates(gates_of(plan), summary, plan), results.header)
    tables = [*summary_tables(summary, findings)]
    tables += [gate_table(gate_results)] if gate_results else []
    head = head_lines(summary, plan, results.header.created, str(folder))
    lines = [*head, *plan_changes(results.header), *summary.warnings]
    incomplete = summary.incompleteness
    write_files("Evaluation of tool calls", (*lines[1:], incomplete), tables, markdown)
    write_junit(junit, cell_cases(summary), gate_results, incomplete, all_cells=junit_cells)
    if runs:
        write_run_files(results, plan, summary)
    if as_machine:
        say({**files["summary.json"], "gates": judged_trees(gate_results)})
    else:
        show_tables(lines, tables)
        if incomplete:
            err.print(incomplete, style="yellow")
    return exit_code(gate_results, complete=summary.complete)
