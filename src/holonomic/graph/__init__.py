"""Expression graphs: numbers that are not known yet, matrices of them, and their derivatives."""
