"""The public names of ``toolreel.durable``."""

from toolreel.durable._limits.endpoint import AsyncLimitedEndpoint, LimitedEndpoint, limited
from toolreel.durable._limits.limits import Limits
from toolreel.durable._run_views import Awaited, DurableRun, RunSummary
from toolreel.durable._runs import DurableRuns
from toolreel.durable._worker import Worker

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
