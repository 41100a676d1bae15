"""Scans cassettes and journals for secrets before they are written."""
