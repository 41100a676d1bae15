"""Statistics that need no package: counts, pass@k, stopping rules, gates."""
