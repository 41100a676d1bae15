"""An MCP server for the operations of an OpenAPI document: ``openapi_server.py DOCUMENT BASE_URL``.

It puts the method of an operation in front of the name of its tool, so that a client can tell from the name
what needs approval.
"""

import json
import os
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP
from fastmcp.server.providers.openapi import OpenAPIResource, OpenAPIResourceTemplate, OpenAPITool
from fastmcp.utilities.openapi import HTTPRoute


def name_by_method(
    route: HTTPRoute, component: OpenAPITool | OpenAPIResource | OpenAPIResourceTemplate
) -> None:
    """Put the method in front of the name."""
    component.name = f"{route.method.lower()}_{component.name}"


document = json.loads(Path(sys.argv[1]).read_text("utf-8"))
headers = {"authorization": f"Bearer {os.environ['API_TOKEN']}"}
client = httpx2.AsyncClient(base_url=sys.argv[2], headers=headers, timeout=20)
server = FastMCP.from_openapi(document, client, mcp_component_fn=name_by_method, validate_output=False)
server.run(show_banner=False)
