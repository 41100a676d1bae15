"""Verdicts: whether a trial passed, and why it failed."""

__all__: list[str] = []
