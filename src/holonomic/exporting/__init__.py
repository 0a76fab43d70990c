"""A simulation out of Python: a C library, a functional mock-up unit."""
