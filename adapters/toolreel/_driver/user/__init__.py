"""The user in a run: what they attach to a message, and what they approve."""
