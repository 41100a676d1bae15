"""The public names of ``toolreel.durable``."""

from toolreel.durable._run_views import Awaited, DurableRun, RunSummary
from toolreel.durable._runs import DurableRuns
from toolreel.durable._worker import Worker

__all__ = ["Awaited", "DurableRun", "DurableRuns", "RunSummary", "Worker"]
