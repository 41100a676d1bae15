"""Settings of the loop and of a provider, checked when they are made."""
