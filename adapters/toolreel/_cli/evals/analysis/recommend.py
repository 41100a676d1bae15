"""``toolreel eval recommend``: which models to use for tools, by the intervals of an evaluation."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.table_output import show_tables

_RECOMMEND_EPILOG = "Exit codes: 0 done, 2 usage."


@click.command("recommend", epilog=_RECOMMEND_EPILOG, short_help="Say which models to use for tools.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--strategy",
    default="",
    metavar="STRATEGY",
    help="Whose runs decide; by default production.",
)
@click.option(
    "--endpoint", default="", metavar="NAME", help="Only the runs at this one of the plan's [endpoints.NAME]."
)
@click.option("--works", default=0.75, show_default=True, help="Pass rate from which on a model works.")
@click.option(
    "--coverage",
    default=0.95,
    show_default=True,
    help="Share of valid runs below which yes becomes conditional.",
)
@click.option(
    "--about",
    type=click.Choice(("these", "like-these")),
    default="these",
    show_default=True,
    help="Whether to decide about these scenarios, or about scenarios like these.",
)
@click.option(
    "--toml",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a catalogue there, for --catalogue.",
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the table there as Markdown.",
)
@json_option
@reporting
def recommend_command(  # noqa: PLR0913, PLR0917 - options of a command
    folder: Path,
    strategy: str,
    endpoint: str,
    works: float,
    coverage: float,
    about: str,
    toml: Path | None,
    markdown: Path | None,
    as_machine: bool,
) -> int:
    """Recommend models by the evaluation in DIR: the best profile of each, yes, conditional, no or undecided.

    Intervals decide, and never a rate alone: yes if the whole interval is at the level --works or above it,
    no if the whole of it is below. A model at several endpoints has a row for each. DIR may be a directory of
    the reference harness.
    """
    from toolreel.evals._advice.recommend import recommendations
    from toolreel.evals._advice.recommendation_tables import (
        catalogue_toml,
        recommendation_lines,
        recommendation_table,
        recommendation_tree,
    )
    from toolreel.evals._runner.plan_loader import plan_of_header
    from toolreel.evals._store.results import write_atomically
    from toolreel.evals._summary.reference_results import opened_results
    from toolreel.evals._summary.summary_files import summary_of
    from toolreel.evals._tables.table import as_markdown
    from toolreel_core.evals._advice.recommendation import Levels

    levels = Levels(works, coverage, "these" if about == "these" else "like-these")
    with opened_results(folder) as results:
        plan = plan_of_header(results.header)
        summary = summary_of(results, plan)
    found = recommendations(summary, plan, results.header.created, strategy, levels, endpoint)
    lines, table = recommendation_lines(found), recommendation_table(found)
    if toml:
        write_atomically(toml, f"{catalogue_toml(found, plan.presets)}\n")
    if markdown:
        write_atomically(markdown, as_markdown("Recommended models", lines, [table]))
    if as_machine:
        return say(recommendation_tree(found))
    show_tables((*lines, summary.incompleteness), [table])
    return 0
