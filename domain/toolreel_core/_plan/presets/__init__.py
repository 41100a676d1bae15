"""Presets: named settings for providers and models, merged into a plan."""
