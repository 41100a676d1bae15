"""Where runs are made: it is in every record, so that two servers are never mixed without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolreel._internal.errors import ResultsError
from toolreel._secrets.urls import scrubbed_url
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.catalogue import kind_of


@dataclass(frozen=True, slots=True)
class Location:
    """The server of a run."""

    endpoint: str
    """The name of the endpoint; empty for the one without a name."""
    base_url: str
    """Without credentials; empty of a script."""


def location_of(record: Record) -> Location:
    """Where a run was made."""
    return Location(record.cell.endpoint, record.attempts[-1].base_url if record.attempts else "")


def located(record: Record, plan: EvalPlan) -> Record:
    """A record with where its plan sends requests; that of a script goes nowhere."""
    if kind_of(record.cell.model):
        return record
    base_url = server_of(plan, record.cell.endpoint)
    return replace(record, attempts=tuple(replace(each, base_url=base_url) for each in record.attempts))


def server_of(plan: EvalPlan, endpoint: str) -> str:
    """The base URL of an endpoint, without credentials."""
    return scrubbed_url(plan.endpoint_at(endpoint).base_url)


def by_endpoint(locations: Iterable[Location]) -> dict[str, frozenset[str]]:
    """The base URLs of each endpoint, those that are known."""
    found: dict[str, set[str]] = {}
    for one in locations:
        if one.base_url:
            found.setdefault(one.endpoint, set()).add(one.base_url)
    return {name: frozenset(urls) for name, urls in found.items()}


def check_locations(out: Path, there: Mapping[str, frozenset[str]], plan: EvalPlan) -> None:
    """Refuse to mix runs of two servers under one name.

    :param there: where the runs of the plan were made that need not be repeated
    :raises ResultsError: if an endpoint is somewhere else now
    """
    for name, urls in there.items():
        now = server_of(plan, name)
        if others := sorted(urls - {now}):
            endpoint = f"the endpoint {name!r}" if name else "the endpoint"
            raise ResultsError(
                f"{out}: {endpoint} was at {', '.join(others)} when its runs were made, and is at {now} now; "
                "evaluate into another directory, give each server a table [endpoints.NAME], or go on with "
                "--accept-endpoint-change if both are the same server"
            )
