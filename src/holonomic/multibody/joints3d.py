"""Joints in space."""
revolute = prismatic = fixed = distance = None
