"""Statistics that need no package: counts, pass@k, stopping rules, gates."""

__all__: list[str] = []
