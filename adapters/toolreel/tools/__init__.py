"""Tool hosts: MCP servers, OpenAPI documents, Agent Skills; Python functions are in ``toolreel`` itself."""

__all__: list[str] = []
