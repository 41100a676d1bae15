"""Checks against the calls that have succeeded: repetitions, answers, claims, and what is restated."""
