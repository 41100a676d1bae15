"""Directories of evaluations, for tests of what is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolreel.evals import Journal, evaluate, new_header, select_scenarios
from toolreel.presets import shipped
from toolreel_core.evals import EvalPlan, Options, Record

__all__ = ["evaluated", "plan_with", "read", "recorded"]

_THEN = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)


def plan_with(
    *models: str,
    tables: Mapping[str, object] | None = None,
    base_url: str = "http://127.0.0.1:9/v1",
    **axes: object,
) -> EvalPlan:
    """A plan of some models; nobody listens at its endpoint, unless another is named."""
    tree = {
        "eval": {"add_models": [*models], **axes},
        **({} if tables and "endpoints" in tables else {"endpoint": {"base_url": base_url}}),
        **(tables or {}),
    }
    options = Options.of(tree)
    return EvalPlan(options, shipped(), select_scenarios(options.scenarios))


def evaluated(out: Path, plan: EvalPlan) -> Path:
    """Run a plan into a directory."""
    evaluate(plan, out, header=new_header(plan, _THEN))
    return out


def recorded(out: Path, plan: EvalPlan, records: Iterable[Record]) -> Path:
    """A directory with these records in its journal."""
    with Journal(out, new_header(plan, _THEN)) as journal:
        for record in records:
            journal.append(record)
    return out


def read(path: Path) -> dict[str, Any]:
    """A file of JSON."""
    tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tree
