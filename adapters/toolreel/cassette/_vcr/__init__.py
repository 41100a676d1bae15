"""Cassettes of stock vcrpy."""
