"""The built-in scenarios, one pack a module."""

__all__: list[str] = []
