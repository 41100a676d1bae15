"""Tool hosts: Python functions, MCP servers, OpenAPI documents, Agent Skills."""
