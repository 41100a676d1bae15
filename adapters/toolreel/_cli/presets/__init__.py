"""``toolreel presets``: show presets, models and sampling profiles."""
