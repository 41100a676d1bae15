"""What a terminal shows while an evaluation goes on."""
