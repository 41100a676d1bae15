"""What the database of durable runs holds: who works on which run, what was said to it, and its steps."""
