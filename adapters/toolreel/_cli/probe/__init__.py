"""``toolreel probe``."""
