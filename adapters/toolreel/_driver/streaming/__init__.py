"""A run as an iterator: its events, what has been shown so far, and pieces pulled from an endpoint."""
