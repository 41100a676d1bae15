"""Tools of MCP servers, over stdio or streamable HTTP."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.tools.mcp._public import *
else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
