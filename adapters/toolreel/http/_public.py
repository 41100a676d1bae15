"""The public names of ``toolreel.http``."""

from toolreel.http._async_endpoint import AsyncHttpEndpoint
from toolreel.http._endpoint import HttpEndpoint

__all__ = [
    "AsyncHttpEndpoint",
    "HttpEndpoint",
]
