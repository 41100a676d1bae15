"""``toolreel eval bisect``: the settings that turn lost runs into won ones, from recordings alone."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import err, out, printable
from toolreel._cli.errors import json_option, reporting, say
from toolreel._cli.evals.summarize import show_tables
from toolreel.evals import select_scenarios
from toolreel_core._jsontext import Json
from toolreel_core.evals import Record, comma_separated

_BISECT_EPILOG = "Exit codes: 0 done, 2 usage."


@click.command("bisect", epilog=_BISECT_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("keys", metavar="[RUN]...", nargs=-1)
@click.option(
    "--from",
    "first",
    default="raw",
    show_default=True,
    metavar="STRATEGY",
    help="The strategy under which runs are lost.",
)
@click.option(
    "--to",
    "second",
    default="production",
    show_default=True,
    metavar="STRATEGY",
    help="The strategy under which they are won.",
)
@click.option("--scenarios", default="", metavar="WORD,...", help="Only these scenarios; names or groups.")
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Only this model; repeatable.")
@click.option(
    "--only",
    "settings",
    multiple=True,
    metavar="SETTING",
    help="Don't search: judge the runs under the first strategy with this setting of the second; repeatable.",
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the tables there as Markdown.",
)
@json_option
@reporting
def bisect_command(  # noqa: PLR0913, PLR0917 - options of a command
    folder: Path,
    keys: tuple[str, ...],
    first: str,
    second: str,
    scenarios: str,
    models: tuple[str, ...],
    settings: tuple[str, ...],
    markdown: Path | None,
    as_machine: bool,
) -> int:
    """Find the smallest set of settings that turns each lost run into a won one, offline.

    Each recorded run is put through both configurations with its own replies. Where the first loses it and
    the second wins it, parts of their difference are tried: settings, single transforms and text dialects,
    request options. A run is undecided if the recording does not answer what would be asked.

    RUN is the beginning of a run's key; without one, all runs of both strategies are looked at.

    \b
    toolreel eval bisect results
    toolreel eval bisect results 7c5dd875e43a --only config.text_dialects+llama_json
    """
    from toolreel.evals import (
        Results,
        as_markdown,
        bisected,
        bisection_lines,
        bisection_tables,
        bisection_tree,
        plan_of_header,
        run_line,
        strategy_meant,
        verdict_line,
        with_only,
        write_atomically,
    )

    results = Results.open(folder)
    plan = plan_of_header(results.header)
    words = comma_separated(scenarios)
    names = {one.name for one in select_scenarios(words)} if words else set[str]()

    def wanted(record: Record) -> bool:
        return (
            (not keys or record.key.startswith(keys))
            and (not names or record.cell.scenario in names)
            and (not models or record.cell.model in models)
        )

    if settings:
        runs = [*with_only(results, plan, first, second, settings, wanted)]
        if as_machine:
            trees: list[Json] = [
                {"key": record.key, "result": verdict.result if verdict else None, "why": why or None}
                for record, verdict, why in runs
            ]
            return say({"only": list(settings), "runs": trees})
        for record, verdict, why in runs:
            out.print(printable(f"{run_line(record)}  {verdict_line(verdict, why)}"))
        return 0
    with err.status("") as status:
        found = bisected(
            *(results, plan, first, second, wanted),
            progress=lambda count: status.update(f"{count} of {len(results)} runs"),
        )
    both = strategy_meant(plan, first), strategy_meant(plan, second)
    lines, tables = [*bisection_lines(found, *both, str(folder))], bisection_tables(found)
    if markdown:
        write_atomically(markdown, as_markdown("Settings that turn lost runs", lines, tables))
    if as_machine:
        return say(bisection_tree(found, *both, str(folder)))
    show_tables(lines, tables)
    return 0
