"""Verdicts: whether a trial passed, and why it failed."""
