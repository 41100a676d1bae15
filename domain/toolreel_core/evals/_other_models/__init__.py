"""Models other than the measured one: simulated users, and judges of a run."""
