"""Rules of running trials: how many requests at once, and which runs are tried again."""
