"""``toolreel cassettes``: check, import, export and convert recordings."""
