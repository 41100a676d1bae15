"""A journal made from a cassette, by running the reducer over the recorded replies."""
