"""The endpoints of a plan with fallbacks, and what each of them took."""
