"""The JSON Schemas of what an evaluation writes, for programs in other languages that read it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal, TypeAlias, cast

from toolreel_core.evals._records.record import VERSION

__all__ = ["Written", "schema_of"]

Written: TypeAlias = Literal["header", "record"]
"""``header`` is the whole of ``header.json``, ``record`` one line of ``journal.jsonl``."""


def schema_of(what: Written) -> dict[str, Any]:
    """The schema of the newest version, in draft 2020-12.

    >>> schema_of("record")["properties"]["tools_sent"]
    {'type': 'boolean'}
    """
    text = files("toolreel.evals._store").joinpath(f"schema/{what}-{VERSION}.json").read_text("utf-8")
    return cast("dict[str, Any]", json.loads(text))
