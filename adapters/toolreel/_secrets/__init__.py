"""Secrets are found before anything is written."""
