"""The public names of ``toolreel.http``."""

from toolreel.http._httpx_endpoint import AsyncHttpEndpoint, HttpEndpoint

__all__ = [
    "AsyncHttpEndpoint",
    "HttpEndpoint",
]
