"""Formulations: which unknowns and equations are integrated."""
