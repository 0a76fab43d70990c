"""What a finished run gives: the solution, its quantities, drift and report, and the ways to files, tables and pictures."""
