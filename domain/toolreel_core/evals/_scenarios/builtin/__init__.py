"""The built-in scenarios, pack by pack; what they are about is drawn from each trial's seed."""
