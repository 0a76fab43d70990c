"""Pictures of runs; the only place that imports Matplotlib."""
