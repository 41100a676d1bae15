"""Runs that survive crashes, on DBOS, and limits that processes share.

``DurableRuns`` submits runs and speaks with them, ``Worker`` performs them; both know only the database.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.durable._public import *

else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__, "durable")
