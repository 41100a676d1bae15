"""``toolreel eval replay``, ``rescore``, ``promote`` and ``what-if``: commands on recorded runs."""
