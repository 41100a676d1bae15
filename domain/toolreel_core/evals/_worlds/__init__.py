"""Worlds: the pure state that the tools of a scenario read and change."""

__all__: list[str] = []
