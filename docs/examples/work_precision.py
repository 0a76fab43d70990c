"""Work and precision.

How long does a digit take? Error over time for four integrators on the seven-body mechanism, tolerances from
1e-3 to 1e-10, all with projection.
"""

from holonomic import BDF, DOP853, RK45, Radau, work_precision
from holonomic.problems import seven_body

study = work_precision(seven_body(), integrator=[RK45(), DOP853(), Radau(), BDF()], repeat=3)
print(study.cost_at(1e-7).text())
study.plot().savefig("work_precision.png", dpi=120)
