"""How long a mechanism takes to its first result, and one evaluation of its field."""

from __future__ import annotations

import time

import numpy as np

from holonomic import RK4, Projection, simulate
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import invoke
from holonomic.multibody import Mechanism
from holonomic.planning.reuse import model_of


def evaluation(m: Mechanism, how: str) -> float:
    """Seconds of one call of the field, the best of many."""
    system, q, v = m.to_system(compile=how)
    model = model_of(system, q, v, 0.0)
    fns, lengths = model.table((Fn.FIELD,))
    x, out, data, best = np.concatenate([q, v]), np.empty(lengths[Fn.FIELD]), model.data(), np.inf
    many = max(2, 2000 // len(m.bodies))
    for _ in range(30):
        began = time.perf_counter()
        for _ in range(many):
            invoke(fns, int(Fn.FIELD), 0.0, x, x, data, out)
        best = min(best, (time.perf_counter() - began) / many)
    return best


def first_result(make, n: int, how: str) -> tuple[Mechanism, float]:
    """A mechanism drawn and run for one step; and the time that took."""
    began = time.perf_counter()
    m = make(n)
    simulate(m, 1e-4, step=1e-4, integrator=RK4(), stabilization=Projection(), compile=how, save_at=2)
    return m, time.perf_counter() - began
