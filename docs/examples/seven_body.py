"""The seven-body mechanism.

Andrews' squeezer, the classical test of codes for constrained systems: seven angles, three closed loops, a spring
and a motor. The problem brings its start, its end and a reference answer.
"""

from holonomic import simulate
from holonomic.problems import seven_body

problem = seven_body()
sol = simulate(problem, rtol=1e-9)
print(sol)
print("correct digits:", {name: round(count, 1) for name, count in problem.digits(sol).items()})

figure = sol.plot("q", "force at E", "drift")
figure.savefig("seven_body.png", dpi=120)
