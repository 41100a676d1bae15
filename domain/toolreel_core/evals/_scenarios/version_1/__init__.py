"""Version 1 of the built-in scenarios, for stored evaluations; their constants never vary."""
