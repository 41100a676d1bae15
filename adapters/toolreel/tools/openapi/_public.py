"""The public names of ``toolreel.tools.openapi``."""

from toolreel.tools.openapi._document.document import parsed_document, read_document
from toolreel.tools.openapi._host import AsyncOpenApiTools, OpenApiTools
from toolreel.tools.openapi._request.security import Credentials
from toolreel.tools.openapi._source import OpenApiSource

__all__ = [
    "AsyncOpenApiTools",
    "Credentials",
    "OpenApiSource",
    "OpenApiTools",
    "parsed_document",
    "read_document",
]
