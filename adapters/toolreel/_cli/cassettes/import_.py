"""``toolreel cassettes import``: cassettes of stock vcrpy, made into ours."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.options.secrets import rules_of, secrets_option
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._errors import AdapterError, CassetteError
from toolreel_core._jsontext.canonical import Json

if TYPE_CHECKING:
    from toolreel.cassette.vcr._import import Imported

_FAILED: Final = 1
_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})


@click.command("import", epilog=EPILOG, short_help="Make cassettes of stock vcrpy into ours.")
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
    """Make cassettes of stock vcrpy (YAML or JSON) into ours: IN a file or a folder, OUT likewise.

    What a client asked for and got is kept to the byte, whatever it asked for; of the headers, those
    that cassettes hold. Keys in headers and URLs stay behind. A secret in a body is refused, with its
    place, unless --redact replaces it.

    Exits with 1 if a file of a folder could not be imported; the others are.
    """
    from toolreel.cassette.vcr._import import import_cassette

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
        return _FAILED if refused else 0
    for one in done:
        _show(one)
    for refusal in refused.values():
        complain(str(refusal))
    return _FAILED if refused else 0


def _pairs(source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """The files to read, and those to write."""
    from toolreel.cassette.vcr._format import looks_like_stock

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


def _show(done: Imported) -> None:
    labelled(out, "imported", f"{done.source} → {done.target}: {_number(done.interactions, 'interaction')}")
    if done.others:
        labelled(out, "", f"kept, though no chat completions: {', '.join(done.others)}", "dim")
    if done.left_out:
        labelled(out, "", f"left out: {', '.join(done.left_out)}", "dim")
    if done.scrubbed:
        labelled(out, "", f"struck out: keys in {_number(done.scrubbed, 'URL')}", "dim")
    for kind, number in done.redacted.items():
        labelled(out, "", f"replaced by placeholders: {number} × {kind}", "yellow")
    labelled(out, "", f"next: toolreel cassettes check {shlex.quote(str(done.target))}", "dim")


def _tree(done: Imported) -> dict[str, Json]:
    return {
        "source": str(done.source),
        "target": str(done.target),
        "interactions": done.interactions,
        "others": [*done.others],
        "left_out": [*done.left_out],
        "scrubbed_urls": done.scrubbed,
        "redacted": dict(done.redacted),
    }


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
