"""Equations derived with SymPy become systems; its constraints stay constraints."""

import pickle

import numpy as np
import pytest

from holonomic import System, problems, simulate
from holonomic.errors import BadArgument

sympy = pytest.importorskip("sympy")
me = pytest.importorskip("sympy.physics.mechanics")

m, g, l = sympy.symbols("m g l")
VALUES = {m: 1.0, g: 9.81, l: 1.0}


def two_links(loads=(), constrained=False):
    """Two point masses on massless links, absolute angles; optionally the second moves on the level of the pin."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    N = me.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", (q1, N.z)), N.orientnew("B", "Axis", (q2, N.z))
    A.set_ang_vel(N, u1 * N.z)
    B.set_ang_vel(N, u2 * N.z)
    O = me.Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", l * A.x)
    P.v2pt_theory(O, N, A)
    Q = P.locatenew("Q", l * B.x)
    Q.v2pt_theory(P, N, B)
    bodies = [me.Particle("first", P, m), me.Particle("second", Q, m)]
    acting = [(P, -m * g * N.y), (Q, -m * g * N.y), *((A, torque * N.z) for torque in loads)]
    equations = [q1.diff() - u1, q2.diff() - u2]
    if not constrained:
        kane = me.KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=equations)
    else:
        level = l * sympy.sin(q1) + l * sympy.sin(q2)
        kane = me.KanesMethod(
            N, [q1], [u1], kd_eqs=equations, q_dependent=[q2], u_dependent=[u2], configuration_constraints=[level],
            velocity_constraints=[level.diff(me.dynamicsymbols._t)],
        )  # fmt: skip
    kane.kanes_equations(bodies, acting)
    return kane


def test_lagranges_equations_with_a_constraint_are_the_pendulum():
    x, y = me.dynamicsymbols("x y")
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    lagrange = me.LagrangesMethod(L, [x, y], hol_coneqs=[x**2 + y**2 - l**2])
    lagrange.form_lagranges_equations()
    system = System.from_sympy(lagrange, VALUES)
    sol = simulate(system, 5.0, q0=[-1, 0], v0=[0, 0], rtol=1e-11, atol=1e-12)
    known = problems.pendulum_a01().reference(5.0)
    np.testing.assert_allclose(sol.q[-1], known.q, atol=1e-9)
    assert list(system.coordinates) == ["x", "y"]


def test_kanes_equations_are_those_of_the_double_pendulum():
    system = System.from_sympy(two_links(), VALUES)
    sol = simulate(system, 1.0, q0=[0, 0], v0=[0, 0], rtol=1e-10, save_at=11)
    kinetic = sol.v[:, 0] ** 2 + sol.v[:, 1] ** 2 / 2 + sol.v[:, 0] * sol.v[:, 1] * np.cos(sol.q[:, 0] - sol.q[:, 1])
    height = 2 * np.sin(sol.q[:, 0]) + np.sin(sol.q[:, 1])
    np.testing.assert_allclose(kinetic + 9.81 * height, 0.0, atol=1e-7)


def test_dependent_speeds_become_a_constraint_that_is_kept():
    system = System.from_sympy(two_links(constrained=True), VALUES)
    assert list(system.constraint) == ["constraint 1"]
    # at 1.39 s both links hang: cos q of both vanishes, and with it the row of the constraint
    sol = simulate(system, 1.3, q0=[1.0, -1.0], v0=[0, 0], rtol=1e-9)
    np.testing.assert_allclose(np.sin(sol.q[:, 0]) + np.sin(sol.q[:, 1]), 0.0, atol=1e-9)
    # q2 = -q1: the first mass has the speed of one link and the second moves along the level: 1 + 4 sin²q1 = m of q1
    kinetic = (1.0 + 4.0 * np.sin(sol.q[:, 0]) ** 2) * sol.v[:, 0] ** 2 / 2
    np.testing.assert_allclose(kinetic, 9.81 * (np.sin(1.0) - np.sin(sol.q[:, 0])), atol=1e-7)


def test_values_may_be_given_by_name():
    x, y = me.dynamicsymbols("x y")
    m, g, a = sympy.symbols("m g a")
    method = me.LagrangesMethod(m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y, [x, y], hol_coneqs=[y - a * x**2])
    method.form_lagranges_equations()
    ends = [
        simulate(System.from_sympy(method, given), 0.5, q0=[1, 0.5], v0=[0, 0]).q[-1]
        for given in ({m: 1.0, g: 9.81, a: 0.5}, {"m": 1.0, "g": 9.81, "a": 0.5})
    ]
    assert np.array_equal(*ends)


def test_functions_of_time_are_inputs():
    torque = me.dynamicsymbols("T")
    kane = two_links(loads=[torque])
    with pytest.raises(BadArgument, match=r"no value for T\(t\)"):
        System.from_sympy(kane, VALUES)
    driven = System.from_sympy(kane, VALUES, inputs={torque: lambda t: np.sin(t)})
    still = System.from_sympy(kane, VALUES, inputs={torque: 0.0})
    runs = [simulate(system, 1.0, q0=[0, 0], v0=[0, 0]) for system in (driven, still)]
    assert abs(runs[0].q[-1, 0] - runs[1].q[-1, 0]) > 1e-3


def test_speeds_of_ones_own_choice_give_kinematics():
    q, u = me.dynamicsymbols("q u")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, 2 * u * N.x)
    kane = me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - 2 * u])
    kane.kanes_equations([me.Particle("bead", P, m)], [(P, -m * g * N.x)])
    sol = simulate(System.from_sympy(kane, {m: 1.0, g: 9.81}), 1.0, q0=[0.0], v0=[0.0])
    assert sol.q[-1, 0] == pytest.approx(-9.81 / 2)


def test_the_joints_framework_is_understood():
    ground = me.RigidBody("ground")
    J = sympy.Symbol("J")
    centre, frame = me.Point("C"), me.ReferenceFrame("R")
    bar = me.RigidBody("bar", centre, frame, m, (me.inertia(frame, 0, 0, J), centre))
    phi, w = me.dynamicsymbols("phi w")
    joint = me.PinJoint("hinge", ground, bar, phi, w, child_point=-l / 2 * frame.x, joint_axis=ground.z)
    whole = me.System.from_newtonian(ground)
    whole.add_joints(joint)
    whole.apply_uniform_gravity(-g * ground.y)
    whole.form_eoms()
    system = System.from_sympy(whole, {**VALUES, J: 1 / 12})
    sol = simulate(system, 1.0, q0=[0.0], v0=[0.0], rtol=1e-9, save_at=5)
    rod = 0.5 / 3 * sol.v[:, 0] ** 2 + 9.81 * 0.5 * np.sin(sol.q[:, 0])  # energy of a rod of 1 kg and 1 m
    np.testing.assert_allclose(rod, 0.0, atol=1e-7)


def test_anything_else_is_refused():
    with pytest.raises(BadArgument, match="got int"):
        System.from_sympy(3)


def test_a_pickled_system_runs_the_same_and_needs_no_new_compilation():
    system = System.from_sympy(two_links(constrained=True), VALUES)
    twin = pickle.loads(pickle.dumps(system))
    here, there = (simulate(each, 0.2, q0=[0, 0], v0=[0, 0]) for each in (system, twin))
    np.testing.assert_array_equal(here.q, there.q)
    assert here.plan.model.content == there.plan.model.content
    again = pickle.loads(pickle.dumps(here))
    np.testing.assert_array_equal(here.reactions, again.reactions)
