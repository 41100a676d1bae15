"""Type hints as JSON Schemas, and JSON as values of those types."""
