"""Models beside the one that is measured: a user who is simulated, and judges of a run."""
