"""Bodies in space."""
