"""The public names of ``toolreel.http.fast``."""

from toolreel.http.fast._async_endpoint import AsyncFastEndpoint
from toolreel.http.fast._endpoint import FastEndpoint

__all__ = [
    "AsyncFastEndpoint",
    "FastEndpoint",
]
