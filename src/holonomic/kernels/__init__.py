"""The compiled layer: functions on floats and flat arrays, one source for compiled, interpreted and GPU runs."""
