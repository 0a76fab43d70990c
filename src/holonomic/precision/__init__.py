"""Runs with more digits than doubles have: the same kernels and tapes, with pairs of doubles in the place of doubles."""
