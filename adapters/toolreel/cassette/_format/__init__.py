"""The cassette file: YAML with readable bodies, safe to read, atomic to write."""
