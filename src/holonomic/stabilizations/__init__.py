"""Stabilizations: what pulls the state back to the constraints without new unknowns."""
