"""Worlds: the pure state that the tools of a scenario read and change."""
