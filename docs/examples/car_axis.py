"""A car axis on a bumpy road.

The constraint moves with time: one end of the axis follows the road, yb = 0.1 sin(10 t), and the struts are stiff
springs. From the test set for initial value problems, with its reference answer.
"""

from holonomic import Radau, simulate
from holonomic.problems import car_axis

problem = car_axis()
sol = simulate(problem, integrator=Radau())
print(sol)
print("correct digits:", {name: round(count, 1) for name, count in problem.digits(sol).items()})
sol.plot("q", "spring lengths", "lam", "drift").savefig("car_axis.png", dpi=120)
