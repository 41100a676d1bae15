"""What may vary between a recorded request and a new one: rules, and values that are frozen instead."""
