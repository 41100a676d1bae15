"""Evaluations: how reliably a model calls tools, as a pure function of what was run.

Scenarios and their worlds, strategies, plans, verdicts and summaries are data and pure functions
here; :mod:`toolreel.evals` runs them, keeps their records and computes intervals.
"""

__all__: list[str] = []
