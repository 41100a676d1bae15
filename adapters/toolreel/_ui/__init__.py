"""A local page of recordings, evaluations and durable runs."""
