"""``toolreel eval``: plan, run, summarise and compare evaluations."""

__all__: list[str] = []
