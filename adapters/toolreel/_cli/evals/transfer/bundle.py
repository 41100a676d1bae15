"""``toolreel eval bundle``, ``verify`` and ``leaderboard``: evaluations that anybody can judge again."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from toolreel._cli.console import counted, err, labelled, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._cli.evals.recorded.replay import folder_argument, run_label, verdict_words
from toolreel.evals._transfer.bundle import write_bundle

_SHOWN = 10
_VERIFY_EPILOG = "Exit codes: 0 all runs agree, 2 usage, or no bundle, 3 a run does not agree."

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "bundle",
    epilog="Exit codes: 0 written, 2 usage, or it holds a secret; nothing is written then.",
    short_help="Write an evaluation as one file that anybody can judge again.",
)
@folder_argument
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.zip",
    help="The file; the same evaluation gives the same bytes.",
)
@json_option
@reporting
def bundle_command(folder: Path, target: Path, as_machine: bool) -> int:
    """Write the plan, the journal and the recordings of DIR into one file, with the SHA-256 of each.

    Secrets are refused, like in recordings.
    """
    done = write_bundle(folder, target)
    if as_machine:
        say({"out": str(target), "digest": done.digest, "runs": done.runs, "recordings": done.recordings})
    else:
        what = f"{counted(done.runs, 'run')}, {counted(done.recordings, 'recording')}, {done.size:,} bytes"
        out.print(f"{what}\nsha256 of the contents: {done.digest}")
        labelled(out, "bundle", str(target))
        labelled(out, "next", f"toolreel eval verify {quote(str(target))}")
    return 0


@click.command("verify", epilog=_VERIFY_EPILOG, short_help="Replay and judge a bundle again, offline.")
@click.argument("bundle", metavar="FILE.zip", type=_file)
@json_option
@reporting
def verify_command(bundle: Path, as_machine: bool) -> int:
    """Check the files of a bundle, replay each run without a network, and judge it by the present checks.

    Nothing of the bundle is executed.
    """
    from toolreel.evals._transfer.verification import verify_bundle

    found = verify_bundle(bundle)
    if as_machine:
        say(
            {
                "digest": found.digest,
                "runs": found.runs,
                "agreeing": found.agreeing,
                "judged_otherwise": [again.record.key for again in found.judged_otherwise],
                "not_replayed": {again.record.key: again.drift for again in found.not_replayed},
            }
        )
        return 0 if found.verified else DRIFT
    for again in found.judged_otherwise[:_SHOWN]:
        now = verdict_words((again.now or again.record).verdict)
        err.print(printable(f"{run_label(again)}: {verdict_words(again.record.verdict)} -> {now}"))
    for again in found.not_replayed[:_SHOWN]:
        err.print(printable(f"{run_label(again)}: {again.drift}"), style="yellow")
    out.print(f"sha256 of the contents: {found.digest}")
    out.print(f"{found.agreeing} of {counted(found.runs, 'run')} replayed, with the same verdict")
    if others := len(found.judged_otherwise):
        out.print(f"judged in another way: {counted(others, 'run')}")
    if others := len(found.not_replayed):
        out.print(f"could not be replayed: {counted(others, 'run')}")
    return 0 if found.verified else DRIFT


@click.command("leaderboard", epilog=_VERIFY_EPILOG, short_help="Make a page of several bundles.")
@click.argument("bundles", metavar="FILE.zip...", nargs=-1, required=True, type=_file)
@click.option(
    "--out",
    "target",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PAGE.html",
    help="The page: one file, without scripts and external requests.",
)
@reporting
def leaderboard_command(bundles: tuple[Path, ...], target: Path) -> int:
    """Verify bundles, and write a page with the rates of their models, each with its interval.

    Rates are over the scenarios that all bundles have in the same version; the page says what else differs.
    A bundle with a run that does not agree has no row.
    """
    from toolreel.evals._store.results import write_atomically
    from toolreel.evals._transfer.leaderboard import leaderboard_of
    from toolreel.evals._transfer.leaderboard_page import leaderboard_page
    from toolreel.evals._transfer.verification import verify_bundle

    board = leaderboard_of([verify_bundle(bundle) for bundle in bundles])
    write_atomically(target, leaderboard_page(board))
    for name, why in board.refused:
        err.print(printable(f"{name} has no row: {why}"), style="yellow")
    out.print(f"{counted(len(board.rows), 'row')} on {counted(len(board.scenarios), 'scenario')}")
    labelled(out, "page", str(target))
    return DRIFT if board.refused else 0
