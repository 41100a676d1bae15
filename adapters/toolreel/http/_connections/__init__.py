"""Connections of httpx."""
