"""Index 1: the constraint at acceleration level, accelerations and multipliers solved for in every stage."""

from __future__ import annotations

from .base import Formulation


class Index1(Formulation):
    """Solve [M Gᵀ; G 0](v', λ) = (f, -γ) at every point; what is integrated is the ODE for (q, v).

    For an `Ode` it is the equation itself.
    """

    gives = "ode"
    index = 1
    references = ("eich-1993",)
