"""tools/mcp"""
