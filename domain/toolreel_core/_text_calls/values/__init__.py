"""Values inside text calls: lenient JSON, envelopes, untyped text."""
