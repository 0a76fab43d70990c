"""Sweeps on a GPU: one thread per member, from the same kernels and the same models."""
