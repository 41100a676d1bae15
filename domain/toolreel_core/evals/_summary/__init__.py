"""Summaries of an evaluation, folded from its records."""
