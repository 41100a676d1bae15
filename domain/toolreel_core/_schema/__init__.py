"""JSON Schema: validation, and rewriting for providers that take a subset."""
