"""One run from its start to its end: the arrays and the loop around the compiled one, events, breaks and failures."""
