"""Singular positions of mechanisms as tables: passed as by compiled code where these are small, else told of."""

import numpy as np
import pytest

from holonomic import DOP853, RATTLE, RK4, RK45, Index2, Projection, Radau, simulate
from holonomic.errors import NearSingularWarning, SingularPosition, StepFailed
from holonomic.multibody import Mechanism, rod

from .random_machines import Machine

FIXED = {"integrator": RK4(), "stabilization": Projection()}


def net(n):
    """n x n point masses on rods, held at one corner; falling, its meshes come close to lying flat, or do so."""
    m = Mechanism()
    for i, j in np.ndindex(n, n):
        m.body(f"p{i}-{j}", at=(0.1 * i, -0.1 * j), mass=0.01)
    for i, j in np.ndindex(n, n):
        for k, l in ((i + 1, j), (i, j + 1)):
            if k < n and l < n:
                m.distance(f"r{i}-{j}-{k}-{l}", f"p{i}-{j}", f"p{k}-{l}", at=((0.1 * i, -0.1 * j), (0.1 * k, -0.1 * l)))
    m.revolute("held", m.ground, "p0-0", at=(0, 0))
    return m


def parallelograms(n=1, bars=1):
    """A row of parallelograms; with more bars between the same cranks rows repeat others."""
    m = Mechanism(gravity=(0, 0))
    for i in range(n + 1):
        m.body(f"crank {i}", rod((2 * i, 0), (2 * i, 1), mass=1.0))
        m.revolute(f"A {i}", m.ground, f"crank {i}", at=(2 * i, 0))
    for i, k in np.ndindex(n, bars):
        name = f"{i}-{k}"
        m.body(f"bar {name}", rod((2 * i, 1 - 0.2 * k), (2 * i + 2, 1 - 0.2 * k), mass=1.0))
        for side in (0, 1):
            m.revolute(f"{'BC'[side]} {name}", f"crank {i + side}", f"bar {name}", at=(2 * (i + side), 1 - 0.2 * k))
    return m


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=["DOP853", "RK45"])
def test_singular_positions_are_passed_as_by_compiled_code(n, integrator):
    """Cranks that turn evenly go twice through a position in which all parallelograms lie flat."""
    m = parallelograms(n)
    m.assemble({"A 0": 0.3}, speeds={"A 0": -1.0})
    how = {"integrator": integrator, "save_at": 15, "rtol": 1e-8, "atol": 1e-11}
    sol, known = (simulate(m, 7.0, compile=tier, **how) for tier in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-9 * np.abs(known.q).max()  # a tenth of rtol
    assert sol["crank 0"].angle[-1] == pytest.approx(0.3 - 7.0, abs=1e-7) and np.abs(sol.energy_error).max() < 1e-8


def test_other_methods_let_one_lead_over_singular_positions():
    m = parallelograms()
    m.assemble({"A 0": 0.3}, speeds={"A 0": -1.0})
    how = {"integrator": Radau(), "formulation": Index2(), "stabilization": Projection(), "save_at": 5}
    for tier in ("never", "now"):
        with pytest.warns(UserWarning, match=r"which Index2\(\) \+ Radau\(\) \+ Projection\(\) does not pass: DOP853\(\) \+ Proj"):
            sol = simulate(m, 1.0, compile=tier, **how)
        assert sol["crank 0"].angle[-1] == pytest.approx(0.3 - 1.0, abs=1e-6)


def test_a_net_that_comes_close_to_singular_positions_moves_as_compiled_code_does():
    sol, known = (simulate(net(3), 1.0, compile=tier, integrator=DOP853(), save_at=5) for tier in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-7


def test_singular_positions_stop_a_run_that_cannot_pass_and_what_passes_them_is_named():
    m = parallelograms()
    m.assemble({"A 0": 1e-3}, speeds={"A 0": -1.0})  # 1 ms before it lies flat
    with pytest.raises(SingularPosition, match=r" Use DOP853\(\) with Projection\(\) and without step=, which passes such"):
        simulate(m, 2e-3, compile="never", step=1e-5, **FIXED)
    m = parallelograms(100)  # 603 velocities
    m.assemble({"A 0": 0.1}, speeds={"A 0": -1.0})
    with pytest.raises(SingularPosition, match=r'Use compile="now" with DOP853\(\) and Projection\(\) and without step=, which'):
        simulate(m, 0.2, compile="never", step=0.01, **FIXED)


def test_a_large_net_that_comes_close_to_a_singular_position_is_warned_of():
    fell = r"the smallest pivot ratio of the mechanism as tables fell to \d\.?\d*e-\d+, from"
    with pytest.warns(NearSingularWarning, match=fell):
        # the ratio is looked at where steps end; they are to end near the position at t = 0.235
        simulate(net(15), 0.25, compile="never", integrator=DOP853(), max_step=5e-3)


class Conservative(Machine):
    """Random machines that keep their energy, for RATTLE."""

    def _actuators(self):
        pass

    def _springs(self):
        bodies = ["ground", *self.masses]
        for i in range(2):
            first, second = (str(each) for each in self.rng.permutation(bodies)[:2])
            at = self._point(2), self._point(2)
            numbers = {"stiffness": float(self.rng.uniform(1, 50)), "length": float(self.rng.uniform(0.2, 2))}
            self.m.spring(f"s{i}", first, second, at=at, **numbers)


@pytest.mark.parametrize("compile", ["now", "never"])
def test_a_step_that_is_too_long_is_not_called_a_singular_position(compile):
    """The smallest singular value of the scaled G is 0.14 where the step begins; a step of a tenth passes."""
    too_long = r"Newton's iteration did not converge in a step of 3\.0e-02 from t = .* use a smaller step"
    with pytest.raises(StepFailed, match=too_long):
        simulate(Conservative(242, 2).m, 1.0, integrator=RATTLE(), step=0.03, compile=compile)
    assert simulate(Conservative(242, 2).m, 0.9, integrator=RATTLE(), step=0.003, compile=compile).ended == "end"
