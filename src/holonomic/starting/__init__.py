"""Before a run: consistent initial values, rank and redundancy of the constraints, invariants that hold."""
