"""``toolreel eval merge``, ``pack``, ``bundle`` and others: evaluations that travel."""
