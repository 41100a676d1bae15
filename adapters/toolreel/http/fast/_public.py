"""The public names of ``toolreel.http.fast``."""

from toolreel.http.fast._endpoint import AsyncFastEndpoint, FastEndpoint

__all__ = [
    "AsyncFastEndpoint",
    "FastEndpoint",
]
