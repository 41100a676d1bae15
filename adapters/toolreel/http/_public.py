"""The public names of ``toolreel.http``."""

from toolreel.http._endpoint import AsyncHttpEndpoint, HttpEndpoint

__all__ = [
    "AsyncHttpEndpoint",
    "HttpEndpoint",
]
