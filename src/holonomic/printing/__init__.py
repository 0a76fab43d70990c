"""The loop for one plan alone, as source: what is known beforehand is worked out, the rest is printed, for a GPU or a page."""
