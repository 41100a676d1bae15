"""Type hints as JSON Schemas, and JSON as values of those types.

The schemas are ours whether or not pydantic is installed, since they are part of a plan's digest; pydantic
writes those of its own models only.
"""
