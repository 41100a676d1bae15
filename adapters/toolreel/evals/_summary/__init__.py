"""Totals, comparisons and gates of an evaluation."""

__all__: list[str] = []
