"""``toolreel eval``: plan, run, summarize and compare evaluations."""
