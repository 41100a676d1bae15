"""Join the directories of an evaluation that several machines have run.

The result is what one machine would have written: records in the order of the plan, so that the order of the
directories makes no difference. A void run gives way to one that ended. Everything else that disagrees is
refused, because only the user can know which of them is right.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolreel._internal import ResultsError
from toolreel.evals._results import (
    Header,
    Results,
    copy_recordings,
    read_header,
    write_atomically,
    write_json,
)
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel_core._jsontext import canonical
from toolreel_core.evals import Cell, Record, record_line, tree_changes

_MAY_DIFFER: Final = ("plan.options.eval.jobs:", "plan.options.eval.verbosity:")
"""How many runs a machine makes at a time decides about none of them."""


def join_results(sources: Sequence[Path | str], out: Path | str) -> None:
    """Join directories of the same plan into a new one, with their recordings; all of it or nothing.

    :raises ResultsError: if plans or runs disagree, with both sides; or if ``out`` is there already
    :raises CassetteError: if a recording is missing
    """
    folders, out = [*map(Path, sources)], Path(out)
    if out.exists() and any(out.iterdir()):
        raise ResultsError(f"{out}: exists already; name another directory (--out)")
    header = _joined_header(folders, [read_header(folder / "header.json") for folder in folders])
    places = {
        (sample.cell, sample.trial): place for place, sample in enumerate(plan_of_header(header).samples())
    }
    kept: dict[tuple[Cell, int], tuple[Record, Path]] = {}
    for source in dict.fromkeys(folders):
        for record in Results.open(source).records():
            run, void = (record.cell, record.trial), record.verdict.result == "void"
            before, there = kept.setdefault(run, (record, source))
            if before.verdict.result == "void" and not void:
                kept[run] = record, source
            elif not void and before != record:
                changes = tree_changes(record_line(before), record_line(record))[:5]
                what = f"{', '.join(filter(None, record.cell.axes))}, trial {record.trial}"
                raise ResultsError(
                    "\n  ".join((f"{what} is another run in {source} than in {there}:", *changes))
                )
    order = sorted(kept, key=lambda run: places.get(run, len(places)))
    draft = out.with_name(f".{out.name}.{secrets.token_hex(6)}.tmp")
    try:
        write_json(draft / "header.json", header.tree())
        write_atomically(draft / "journal.jsonl", "".join(f"{record_line(kept[run][0])}\n" for run in order))
        for record, source in kept.values():
            copy_recordings(source, (record.cassette,), draft)
        draft.replace(out)
    except OSError as error:
        raise ResultsError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _joined_header(sources: Sequence[Path], headers: Sequence[Header]) -> Header:
    """The header of the whole."""
    first, *others = (
        canonical({"taxonomy": each.taxonomy, "catalogue": each.catalogue, "plan": each.plan})
        for each in headers
    )
    for source, other in zip(sources[1:], others, strict=True):
        differences = tree_changes(first, other)
        if changes := [each for each in differences if not each.startswith(_MAY_DIFFER)]:
            raise ResultsError(
                "\n  ".join((f"{sources[0]} and {source} are not of the same plan:", *changes))
                + "\nonly directories of one plan can be joined; `toolreel eval compare` compares others"
            )
    return replace(headers[0], created=min(header.created for header in headers), shard="")
