"""``toolreel eval summarize``, ``compare``, ``report`` and ``export``: what was measured, and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.box import Box

from toolreel._cli.console import err, out, table_lines
from toolreel._cli.errors import DRIFT, EPILOG, FAILED, json_option, print_json, with_error_reporting
from toolreel._cli.options import path_option
from toolreel._internal import ResultsError
from toolreel.evals import write_atomically
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree
from toolreel_core.evals import incompleteness_sentence

if TYPE_CHECKING:
    from toolreel.evals import GateResult, Results, TextTable
    from toolreel_core._jsontext import Json


GATES_EPILOG = (
    "Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete: runs are missing or void, "
    "or a gate is undecided."
)


folder_argument = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
markdown_option = path_option("--markdown", "markdown", "FILE", "Write the tables there as Markdown.")


@click.command("summarize", epilog=GATES_EPILOG)
@click.argument(
    "folders",
    metavar="[DIR]...",
    nargs=-1,
    required=True,
    envvar="OPENROUTER_REPORT_DIR",
    type=click.Path(file_okay=False, path_type=Path),
)
@path_option(
    "--out",
    "target",
    "WHOLE",
    "Join the directories, which are shards of one plan, in this new one.",
    folder=True,
)
@markdown_option
@json_option
@with_error_reporting
def summarize_command(
    folders: tuple[Path, ...],
    target: Path | None,
    markdown: Path | None,
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
        Results,
        findings_of,
        gate_trees,
        headline_sentences,
        join_results,
        plan_of_header,
        plan_results,
        report_header_lines,
        summary_tables,
        summary_trees,
        warning_sentences,
        write_summaries,
    )

    if (target is None) != (len(folders) == 1):
        raise ResultsError("name one directory, or the shards of a plan with --out WHOLE")
    folder = target or folders[0]
    if target:
        join_results(folders, target)
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    trials = write_summaries(results, plan)
    findings, gates = findings_of(trials, plan), plan_results(plan, trials)
    tables = summary_tables(trials, findings, gates)
    head = report_header_lines(trials, plan, results.header.created, str(folder))
    lines = [*headline_sentences(findings), *head, *warning_sentences(trials)]
    incomplete = incompleteness_sentence(trials, plan.options.min_coverage)
    tree = {**summary_trees(trials, findings, results, plan)["summary.json"], "gates": gate_trees(gates)}
    show_tables("Evaluation of tool calls", lines, tables, tree, markdown, incomplete, as_machine=as_machine)
    return exit_code_of_gates(gates, complete=not incomplete)


@click.command("compare", epilog=GATES_EPILOG)
@folder_argument
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
    "nothing-broke (no scenario that worked broke).",
)
@markdown_option
@json_option
@with_error_reporting
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
        Sides,
        check_gates,
        compare,
        comparison_lines,
        comparison_tables,
        comparison_tree,
        gate_table,
        gate_trees,
    )
    from toolreel_core.evals import parse_gate_option

    words = [parse_gate_option(gate) for gate in gates]
    found = compare(folder, others, axis or "")
    options, names = found.plans[1].options, (found.second, found.first)
    before, after = found.sides
    sides = Sides(after, before, found.axes, names, options.trials, options.min_coverage)
    results = check_gates(words, sides)
    gated = [gate_table(results)] if results else []
    lines, incomplete = (*comparison_lines(found), *found.headers), found.incomplete
    tree = {**comparison_tree(found), "gates": gate_trees(results)}
    tables = [*comparison_tables(found), *gated]
    show_tables("Comparison of evaluations", lines, tables, tree, markdown, incomplete, as_machine=as_machine)
    return exit_code_of_gates(results, complete=not incomplete)


def show_tables(
    title: str,
    lines: Sequence[str],
    tables: Sequence[TextTable],
    tree: Mapping[str, Json],
    markdown: Path | None = None,
    incomplete: str = "",
    *,
    as_machine: bool,
) -> None:
    """Print lines and tables.

    :param tree: is printed instead for machines
    :param markdown: a file that they are written to as well
    :param incomplete: what lacks, in a sentence
    """
    from toolreel.evals import markdown_document, without_usual_columns

    if markdown:
        write_atomically(markdown, markdown_document(title, (*lines, incomplete), tables))
    if as_machine:
        print_json(tree)
        return
    for line in lines:
        out.print(line, soft_wrap=not out.is_terminal)
    for table in map(without_usual_columns, tables):
        grid = "\n".join(table_lines(table.head, table.rows, _GRID))
        out.print(f"\n{table.title}\n{grid}")
        for note in table.notes:
            out.print(note, soft_wrap=not out.is_terminal)
    if incomplete:
        err.print(incomplete, style="yellow")


# rich takes eight lines, from the top to the bottom of a table; only bars and the rule of the head are drawn.
_GRID = Box("    \n  | \n -| \n" + "  | \n" * 4 + "    \n")


def exit_code_of_gates(results: Sequence[GateResult], *, complete: bool) -> int:
    standings = {one.standing for one in results}
    if "failed" in standings:
        return FAILED
    return 0 if complete and "undecided" not in standings else DRIFT


@click.command("report", epilog=EPILOG)
@folder_argument
@path_option("--out", "page", "FILE", "Where the page goes.  [default: report.html in DIR]")
@click.option(
    "--case-study",
    "as_study",
    is_flag=True,
    help="Print the four tables of the tool calling case study instead, of DIR and of the study; "
    "--markdown is about them.",
)
@markdown_option
@json_option
@with_error_reporting
def report_command(
    folder: Path,
    page: Path | None,
    as_study: bool,
    markdown: Path | None,
    as_machine: bool,
) -> int:
    """Write the results in DIR as one self-contained HTML page.

    It begins with the answer and the gates, and has all runs turn by turn, replayed from the cassettes. The
    same results give the same page.

    \b
    toolreel eval report results
    toolreel eval report results --case-study --markdown study.md
    """
    from toolreel.evals import Results, plan_of_header, report_page

    results = Results.open(folder)
    if as_study:
        if page:
            raise ConfigError("--case-study prints tables; leave out --out")
        return _show_case_study(results, markdown, as_machine=as_machine)
    if markdown:
        raise ConfigError("--markdown needs --case-study; other tables are in `toolreel eval summarize`")
    target = page or folder / "report.html"
    with err.status("Replaying the runs"):  # thousands take minutes
        text = report_page(results)
    write_atomically(target, text)
    plan = plan_of_header(results.header)
    lacks = incompleteness_sentence(results.trials(plan), plan.options.min_coverage)
    if as_machine:
        return print_json({"files": [str(target)], "complete": not lacks})
    if lacks:
        err.print("The evaluation is incomplete, and the page says so.", style="yellow")
    out.print(f"{target}  {len(text.encode()):,} bytes")
    return 0


def _show_case_study(results: Results, markdown: Path | None, *, as_machine: bool) -> int:
    from toolreel.evals import (
        case_study_tables,
        measured_case_study_figures,
        plan_of_header,
        published_case_study_figures,
    )

    plan = plan_of_header(results.header)
    trials = results.trials(plan)
    ours, study = measured_case_study_figures(trials, plan), published_case_study_figures()
    both = (case_study_tables(ours, "this evaluation"), case_study_tables(study, "the study"))
    tables = [table for pair in zip(*both, strict=True) for table in pair]
    tree: Tree = {"evaluation": ours, "study": study}
    lines = (f"compared with: {study['source']}",)
    show_tables("Tool calling case study", lines, tables, tree, markdown, as_machine=as_machine)
    return 0


@click.command("export", epilog="Exit codes: 0 written, 2 usage.")
@folder_argument
@click.option(
    "--to", "form", required=True, type=click.Choice(["csv", "parquet", "inspect"]), help="The format."
)
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The file; for inspect a folder, for a log of each model and strategy.",
)
@with_error_reporting
def export_command(folder: Path, form: Literal["csv", "parquet", "inspect"], target: Path) -> int:
    """Write the runs of DIR for another program.

    csv and parquet are the table of trials: a row for each run of the plan, with its scenario, model,
    endpoint, profile, strategy and trial, its outcome and why, turns, tokens, cost, times and digests.
    inspect is logs of Inspect: messages, scores, usage, limits and errors; what that format has no place for
    is in the metadata of each sample.

    \b
    toolreel eval export results --to csv --out trials.csv
    toolreel eval export results --to inspect --out logs
    """
    from toolreel.evals import write_inspect_logs, write_trials

    paths = write_inspect_logs(folder, target) if form == "inspect" else (write_trials(folder, target, form),)
    for path in paths:
        out.print(str(path), soft_wrap=True, markup=False, highlight=False)
    return 0
