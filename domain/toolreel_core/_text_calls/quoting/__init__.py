"""What quotes a call: code, the place where a call stands, and the words before it."""
