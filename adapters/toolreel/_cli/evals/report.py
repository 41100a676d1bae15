"""``toolreel eval report`` and ``export``: the results as one HTML page, or as logs of another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from toolreel._cli.console import err, out
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel._cli.evals.replay import folder_argument
from toolreel._cli.evals.summarize import show_tables
from toolreel.evals import write_atomically
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree
from toolreel_core.evals import incompleteness

if TYPE_CHECKING:
    from toolreel.evals import Results


@click.command("report", epilog=EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes.  [default: report.html in DIR]",
)
@click.option(
    "--case-study",
    "as_study",
    is_flag=True,
    help="Print the four tables of the tool calling case study instead, of DIR and of the study.",
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --case-study: write the tables there as Markdown, too.",
)
@json_option
@reporting
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
        return _case_study(results, markdown, as_machine=as_machine)
    if markdown:
        raise ConfigError("--markdown needs --case-study; other tables are in `toolreel eval summarize`")
    target = page or folder / "report.html"
    with err.status("Replaying the runs"):  # thousands take minutes
        text = report_page(results)
    write_atomically(target, text)
    plan = plan_of_header(results.header)
    lacks = incompleteness(results.trials(plan), plan.options.min_coverage)
    if as_machine:
        return say({"files": [str(target)], "complete": not lacks})
    if lacks:
        err.print("The evaluation is incomplete, and the page says so.", style="yellow")
    out.print(f"{target}  {len(text.encode()):,} bytes")
    return 0


def _case_study(results: Results, markdown: Path | None, *, as_machine: bool) -> int:
    """The four tables of the study, each of this evaluation and of the study."""
    from toolreel.evals import (
        case_study,
        case_study_figures,
        case_study_lines,
        case_study_tables,
        plan_of_header,
    )

    plan = plan_of_header(results.header)
    trials = results.trials(plan)
    ours, study = case_study_figures(trials, plan), case_study()
    lines = [*case_study_lines(trials, ours)]
    both = (case_study_tables(ours, "this evaluation"), case_study_tables(study, "the study"))
    tables = [table for pair in zip(*both, strict=True) for table in pair]
    tree: Tree = {"lines": lines, "evaluation": ours, "study": study}
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
@reporting
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
