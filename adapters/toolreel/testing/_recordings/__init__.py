"""Check the recordings of a repository."""
