"""The example that the documentation promises, word for word."""

import numpy as np

EXAMPLE = """
from holonomic import simulate
from holonomic.multibody import Mechanism, rod
O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)                      # the pins, where they are drawn
m = Mechanism(gravity=(0, -9.81))                                # two numbers: planar; three: spatial
crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
slider = m.body("slider", at=B, mass=1.0)
m.revolute("O", m.ground, crank, at=O)                           # name, body, body, where
m.revolute("A", crank, link, at=A)
m.revolute("B", link, slider, at=B)
m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
m.drive("O", speed=10.0)                                         # or m.motor("O", torque=...); m.assemble({"O": 0.3})
sol = simulate(m, 4.0)                                           # from the drawn position
sol["A"].force, sol["O"].torque, sol["slider"].position          # on the second body, ground frame; time first
"""


def test_the_promised_example_runs_word_for_word():
    names = {}
    exec(EXAMPLE, names)
    sol = names["sol"]
    n = len(sol.t)
    assert sol["A"].force.shape == (n, 2)
    assert sol["O"].torque.shape == (n,)
    assert sol["slider"].position.shape == (n, 2)
    assert np.abs(sol["slider"].position[:, 1]).max() < 1e-9
