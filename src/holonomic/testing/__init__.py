"""Checks for methods, ours and those written elsewhere: does a method do what it declares, and what is it worth?"""

from .bench import Bench, Check, bench
from .method_checks import SLACK, bead, check_formulation, check_integrator, check_stabilization, moving_pendulum, promised, skate

__all__ = [
    "SLACK",
    "Bench",
    "Check",
    "bead",
    "bench",
    "check_formulation",
    "check_integrator",
    "check_stabilization",
    "moving_pendulum",
    "promised",
    "skate",
]
