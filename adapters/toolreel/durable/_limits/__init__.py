"""Limits of an account at a provider, kept by all processes that share a database."""
