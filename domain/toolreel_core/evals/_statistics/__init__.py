"""Statistics that need no package: counts, pass@k, gates."""
