"""tools/openapi/_document"""
