"""The built-in scenarios, one pack a module."""
