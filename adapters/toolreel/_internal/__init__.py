"""Errors, lazy names and YAML for all other folders."""
