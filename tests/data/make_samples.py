"""Write samples of the files that holonomic makes, for tests that load them with every later version.

    python tests/data/make_samples.py FORMAT

makes `run-FORMAT-*.nc` and `store-FORMAT.zip`. Those of a format stay as they are once they are in the repository: a change of a
format adds samples, it replaces none.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from holonomic import Dae, Event, Ode, System, simulate, sweep
from holonomic.multibody import Mechanism, rod

HERE = Path(__file__).parent


def swing() -> System:
    return System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1], constraint={"rod": lambda q: q @ q - 1},
        params={"m": 2.0, "g": 9.81}, outputs={"height": lambda q: q[1]}, coordinates=["x", "y"],
    )  # fmt: skip


def runs() -> dict:
    """One small run of each kind of system."""
    system = simulate(
        swing(), 2.0, q0=[1, 0], v0=[0, 0], save_at=21,
        events={"low": lambda q: q[0], "time": Event(lambda t: t - 1.75, terminal=True)},
    )  # fmt: skip
    ball = System(mass=[[1.0]], force=[-9.81], states={"way": lambda v: np.abs(v[0])})
    bounce = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (q, -0.9 * v))}
    crank = Mechanism(gravity=(0, -9.81))
    bar = crank.body("bar", rod((0, 0), (1, 0), mass=1.0))
    crank.revolute("O", crank.ground, bar, at=(0, 0))
    circle = Dae(order=2, f=lambda x: np.array([0.0, -9.81]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1)
    return {
        "system": system,
        "impacts": simulate(ball, 2.0, q0=[1.0], v0=[0.0], s0=[0.0], events=bounce),
        "mechanism": simulate(crank, 1.0, save_at=11),
        "ode": simulate(Ode(lambda y: np.array([y[1], -y[0]]), invariants={"r": lambda y: y @ y}), 3.0, y0=[1, 0]),
        "dae": simulate(circle, 1.0, x0=[1, 0], dx0=[0, 0], save_at=11),
    }


def main(name: str) -> None:
    platform.platform = lambda: "somewhere"  # provenance shall not tell of the machine of whoever made them
    for kind, sol in runs().items():
        sol.save(HERE / f"run-{name}-{kind}.nc")
    with tempfile.TemporaryDirectory() as folder:
        sweep(
            swing(), 1.0, q0=[1, 0], v0=[0, 0], params={"g": np.array([1.0, 2.0, 9.81])}, save_at=5, events={"low": lambda q: q[0]},
            store=Path(folder) / "store",
        )  # fmt: skip
        shutil.make_archive(str(HERE / f"store-{name}"), "zip", folder)


if __name__ == "__main__":
    main(sys.argv[1])
