"""JSON schemas from type hints, and values of those types from JSON."""
