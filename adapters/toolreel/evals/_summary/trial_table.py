"""The table of trials as a file, CSV or Parquet: a row for each run, those that are missing too."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolreel._internal import MissingExtra
from toolreel.evals._results import Results, write_atomically
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel_core._jsontext import Json
from toolreel_core.evals import Trial

TrialFile: TypeAlias = Literal["csv", "parquet"]
_Row: TypeAlias = Mapping[str, Json]

_SWITCHES: Final = ("control", "planned", "lacking", "accepted", "after_empty_reply", "text_calls")
_TOKENS: Final = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
_NUMBERS: Final = (
    *("trial", "status", "turns", "calls", "requests", "attempts", "scenario_version"),
    *(*_TOKENS, "ms", "last_attempt_ms"),
)


def write_trials(folder: Path | str, path: Path | str, form: TrialFile) -> Path:
    """Write the trials of an evaluation; what is not known of one is empty, or null.

    :raises ResultsError: if there is no evaluation, or the file cannot be written
    :raises MissingExtra: if ``toolreel[parquet]`` is not installed
    """
    results, path = Results.open(folder), Path(path)
    rows = [trial_row(one) for one in results.trials(plan_of_header(results.header))]
    if form == "parquet":
        write_atomically(path, _parquet_bytes(rows))
        return path
    text = StringIO()
    writer = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        said = {name: str(row[name]).lower() for name in _SWITCHES if row[name] is not None}
        writer.writerow({**row, **said})
    write_atomically(path, text.getvalue())
    return path


def trial_row(one: Trial) -> dict[str, Json]:
    """A trial by the names of its columns; what is not known, or empty, is ``None``."""
    cell, void = one.cell, one.outcome == "void"
    of_plan: dict[str, Json] = {
        **{axis: getattr(cell, axis) for axis in ("scenario", "model", "endpoint", "profile", "strategy")},
        **{name: getattr(one, name) for name in ("trial", "outcome")},
        "failure_class": "" if void else one.category,
        "void_reason": one.category if void else "",
        **{name: getattr(one, name) for name in ("control", "planned", "lacking", "accepted")},
    }
    of_run: dict[str, Json] = {
        "reason": one.reason,
        "hint": one.hint,
        "status": one.status,
        **{name: getattr(one, name) for name in ("turns", "calls", "requests", "attempts")},
        **{name: getattr(one, name) for name in _TOKENS},
        "cost": None if one.unpriced else one.cost,
        "ms": one.ms,
        "last_attempt_ms": one.last_ms,
        "after_empty_reply": one.after_silence,
        "text_calls": one.text_calls,
        "scenario_version": one.version,
        "configuration_digest": one.digest,
        "replies_digest": one.replies,
        "key": one.key,
        "recording": one.cassette,
        "server": one.server,
        "served_by": ", ".join(dict.fromkeys(one.served)),
    }
    row = {**of_plan, **(of_run if one.key else dict.fromkeys(of_run))}
    return {name: None if value == "" else value for name, value in row.items()}


def _parquet_bytes(rows: Sequence[_Row]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra.of("parquet", "pyarrow") from None
    kinds = {
        **dict.fromkeys(_SWITCHES, pa.bool_()),
        **dict.fromkeys(_NUMBERS, pa.int64()),
        "cost": pa.float64(),
    }
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    stream = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([*rows], schema=schema), stream)
    return bytes(stream.getvalue())
