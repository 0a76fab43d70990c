"""Integrators: how one step is taken."""
