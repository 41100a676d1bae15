"""``toolreel cassettes export`` and ``import``: between our cassettes and those of stock vcrpy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import complain, labelled, out
from toolreel._cli.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._cli.run_options import rules_of, secrets_option
from toolreel._internal import AdapterError, CassetteError, counted
from toolreel_core._jsontext import Json

if TYPE_CHECKING:
    from toolreel.cassette import Exported, Imported


@click.command("export", epilog=EPILOG)
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("target", metavar="[OUT]", required=False, type=click.Path(path_type=Path))
@click.option("--skip-broken", is_flag=True, help="Leave out exchanges that broke off, instead of refusing.")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@secrets_option
@json_option
@reporting
def export_command(
    source: Path,
    target: Path | None,
    skip_broken: bool,
    overwrite: bool,
    secret_rules: Path | None,
    as_machine: bool,
) -> int:
    """Convert a cassette to YAML that stock vcrpy replays without toolreel.

    OUT is a file or a folder; without it, FILE.yaml becomes FILE.vcr.yaml. Importing OUT gives the same
    recording again.

    Stock vcrpy cannot play an exchange that broke off: such a cassette is refused, unless --skip-broken
    leaves those exchanges out. It plays a stream in one piece.

    \b
    toolreel cassettes export cassettes/notes/local--qwen.yaml
    """
    from toolreel.cassette import export_cassette

    into = target or source.with_suffix(".vcr.yaml")
    done = export_cassette(
        source,
        into / f"{source.stem}.yaml" if into.is_dir() else into,
        overwrite=overwrite,
        skip_broken=skip_broken,
        rules=rules_of(secret_rules),
    )
    if as_machine:
        return say(_tree(done))
    labelled(out, "exported", f"{done.source} → {done.target}: {counted(done.interactions, 'interaction')}")
    if done.left_out:
        labelled(out, "", f"left out, since it broke off: {', '.join(done.left_out)}", "yellow")
    if done.streams:
        streams = ", ".join(map(str, done.streams))
        labelled(out, "", f"played in one piece by vcrpy: the streams in interactions {streams}", "dim")
    return 0


_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})


@click.command("import", epilog=EPILOG)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--redact", is_flag=True, help="Replace secrets in bodies by placeholders, instead of refusing."
)
@click.option("--overwrite", is_flag=True, help="Replace files of that name.")
@secrets_option
@json_option
@reporting
def import_command(
    source: Path, target: Path, redact: bool, overwrite: bool, secret_rules: Path | None, as_machine: bool
) -> int:
    """Convert cassettes of stock vcrpy (YAML or JSON): IN is a file or a folder, and OUT likewise.

    Requests and responses are kept byte-identical, except for headers that cassettes do not store and
    for keys in headers and URLs, which are removed. A secret in a body is refused, with its
    place, unless --redact replaces it.

    Exits with 1 if a file of a folder could not be imported; the others are.

    \b
    toolreel cassettes import tests/cassettes cassettes
    """
    from toolreel.cassette import import_cassette

    rules = rules_of(secret_rules)
    done: list[Imported] = []
    refused: dict[Path, AdapterError] = {}
    for old, new in _pairs(source, target):
        try:
            done.append(import_cassette(old, new, overwrite=overwrite, redact=redact, rules=rules))
        except AdapterError as error:
            if not source.is_dir():
                raise
            refused[old] = error
    if as_machine:
        failed: dict[str, Json] = {str(path): str(error) for path, error in refused.items()}
        say({"imported": [_tree(one) for one in done], "refused": failed})
        return FAILED if refused else 0
    for one in done:
        labelled(out, "imported", f"{one.source} → {one.target}: {counted(one.interactions, 'interaction')}")
        if one.others:
            labelled(out, "", f"kept, though no chat completions: {', '.join(one.others)}", "dim")
        if one.left_out:
            labelled(out, "", f"left out: {', '.join(one.left_out)}", "dim")
        if one.scrubbed:
            labelled(out, "", f"struck out: keys in {counted(one.scrubbed, 'URL')}", "dim")
        for kind, number in one.redacted.items():
            labelled(out, "", f"replaced by placeholders: {number} × {kind}", "yellow")
        labelled(out, "", f"next: toolreel cassettes check {shlex.quote(str(one.target))}", "dim")
    for refusal in refused.values():
        complain(str(refusal))
    return FAILED if refused else 0


def _pairs(source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """The files to read, and those to write."""
    from toolreel.cassette import looks_like_stock

    if not source.is_dir():
        yield source, target / f"{source.stem}.yaml" if target.is_dir() else target
        return
    if target.is_file():
        raise CassetteError(f"{target}: is a file; name a folder, since {source} is one")
    files = sorted(path for path in source.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    stock = [path for path in files if looks_like_stock(path)]
    if not stock:
        raise CassetteError(f"{source}: no cassette of vcrpy in there")
    for path in stock:
        yield path, (target / path.relative_to(source)).with_suffix(".yaml")


def _tree(done: Imported | Exported) -> dict[str, Json]:
    tree = asdict(done) | {"source": str(done.source), "target": str(done.target)}
    return {"scrubbed_urls" if key == "scrubbed" else key: value for key, value in tree.items()}
