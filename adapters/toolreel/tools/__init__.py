"""Tool hosts: MCP servers, Agent Skills; Python functions are in ``toolreel`` itself."""

__all__: list[str] = []
