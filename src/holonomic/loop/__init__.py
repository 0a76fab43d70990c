"""One run's life, compiled: it begins, proposes, attempts, judges, looks inside, writes; and many runs one after the other."""
