"""Commands for durable runs: workers, submitting, looking at runs and speaking with them."""
