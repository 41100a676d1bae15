"""tools/openapi"""
