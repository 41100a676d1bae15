"""The tools of the runs: an order that is placed once, whatever happens to the worker."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from toolreel import PythonTools, RunContext


def order(part: str, count: int, context: RunContext[None]) -> str:
    """Order parts."""
    # A call that is repeated after a crash has the same key. A shop's API takes it as its idempotency key.
    with closing(sqlite3.connect(os.environ.get("ORDERS", "orders.db"), timeout=60)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS orders (key PRIMARY KEY, part, count)")
        database.execute("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", (context.key, part, count))
    return f"{count} {part} ordered"


TOOLS = PythonTools([order])
