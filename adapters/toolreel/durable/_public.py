"""The public names of ``toolreel.durable``."""

from toolreel.durable._limits import Limits
from toolreel.durable._limits_endpoint import AsyncLimitedEndpoint, LimitedEndpoint, limited

__all__ = [
    "AsyncLimitedEndpoint",
    "LimitedEndpoint",
    "Limits",
    "limited",
]
