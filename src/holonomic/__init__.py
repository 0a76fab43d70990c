"""Simulate constrained mechanical systems so that the answer stays on its constraints."""
