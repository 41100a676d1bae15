"""``toolreel eval``: plan, run, summarise and compare evaluations."""
