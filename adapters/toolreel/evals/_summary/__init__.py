"""Totals, comparisons and gates of an evaluation."""
