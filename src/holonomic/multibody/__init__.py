"""Mechanisms out of bodies, joints and forces: they assemble into a System, and results are read by name."""

from .assemble import Assembly, AssemblyWarning
from .lower import UnitsWarning
from .mechanism import Mechanism
from .meshes import MeshWarning
from .mobility import Mobility
from .series import Bodies
from .shapes import Shape, box, cylinder, disk, plate, polygon, rod, sphere
from .space import TurnsWarning
from .statics import Equilibrium, Modes, equilibrium, linearize
from .urdf import UrdfWarning

__all__ = [
    "Assembly",
    "AssemblyWarning",
    "Bodies",
    "Equilibrium",
    "Mechanism",
    "MeshWarning",
    "Mobility",
    "Modes",
    "Shape",
    "TurnsWarning",
    "UnitsWarning",
    "UrdfWarning",
    "box",
    "cylinder",
    "disk",
    "equilibrium",
    "linearize",
    "plate",
    "polygon",
    "rod",
    "sphere",
]
