"""tools/openapi/_request"""
