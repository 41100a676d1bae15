"""Runs that survive crashes, on DBOS, and limits that processes share.

``DurableRuns`` submits runs and speaks with them, ``Worker`` performs them; both know only the database.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.durable._database import close_database, database_url, has_durable_tables, open_database
    from toolreel.durable._ledger import (
        GRANTED,
        TICKETS,
        Ledger,
        Limits,
        QueueTurn,
        RequestEstimate,
        Started,
        seconds_until_within_limits,
    )
    from toolreel.durable._limited_endpoint import AsyncLimitedEndpoint, LimitedEndpoint, limited, take_slot
    from toolreel.durable._runs import Awaited, DurableRun, DurableRuns, RunSummary
    from toolreel.durable._store import Store, StoredStep, journal_text
    from toolreel.durable._worker import Worker
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("durable"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "AsyncLimitedEndpoint",
    "Awaited",
    "DurableRun",
    "DurableRuns",
    "LimitedEndpoint",
    "Limits",
    "RunSummary",
    "Worker",
    "limited",
]
