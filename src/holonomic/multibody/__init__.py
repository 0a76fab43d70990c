"""Mechanisms out of bodies, joints and forces: they assemble into a System, and results are read by name."""

from .assemble import Assembly, AssemblyWarning
from .lower import UnitsWarning
from .mechanism import Mechanism
from .mobility import Mobility
from .shapes import Shape, box, cylinder, disk, plate, polygon, rod, sphere

__all__ = [
    "Assembly",
    "AssemblyWarning",
    "Mechanism",
    "Mobility",
    "Shape",
    "UnitsWarning",
    "box",
    "cylinder",
    "disk",
    "plate",
    "polygon",
    "rod",
    "sphere",
]
