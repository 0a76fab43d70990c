"""Stabilizations side by side.

The two-link arm of Ascher, Chin, Petzold and Reich, its tip on a parabola: one integrator, one step, five ways to
stay on the constraint. `compare` runs all of them and draws the drift by level.
"""

from holonomic import RK4, Baumgarte, Projection, S_both, S_both2, compare
from holonomic.problems import two_link_arm

found = compare(
    two_link_arm(t_end=40.0),
    integrator=RK4(),
    step=0.02,
    stabilization=[None, Baumgarte(alpha=20), S_both(), S_both2(), Projection()],
)
print(found)
found.plot().savefig("drift.png", dpi=120)
