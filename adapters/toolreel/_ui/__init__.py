"""A local page that lists recordings, evaluations and durable runs while they go on."""
