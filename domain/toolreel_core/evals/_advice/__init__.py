"""Advice from measured rates: which models to use for tools, and how."""
