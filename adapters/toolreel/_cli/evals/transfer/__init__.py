"""``toolreel eval merge``, ``pack`` and ``export``: evaluations that travel."""
