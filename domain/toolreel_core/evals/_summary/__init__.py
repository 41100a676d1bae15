"""Summaries of an evaluation, folded from its records."""

__all__: list[str] = []
