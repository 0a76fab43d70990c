"""Singular positions on the way of a run: how they give themselves away, and the path that leads over them."""
