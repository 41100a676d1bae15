"""Version 1 of the built-in scenarios, for stored evaluations: their constants are the same in every trial."""
