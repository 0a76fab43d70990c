"""Formulations and implicit integrators: what goes wrong is said, what does not fit is refused with a way out."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RATTLE,
    RK4,
    BackwardEuler,
    BadArgument,
    Baumgarte,
    Dae,
    Event,
    FixedBDF,
    GeneralizedAlpha,
    ImplicitMidpoint,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    InvariantStabilization,
    Ode,
    Overdetermined,
    ProjectedInvariants,
    Radau,
    StateSpace,
    StepFailed,
    StrangenessFree,
    System,
    Trapezoidal,
    UnstableWarning,
    problems,
    simulate,
)
from holonomic.testing import bead, skate


def run(problem, formulation, integrator=None, **given):
    given = {"stabilization": None, "step": problem.t_end / 50} | given
    return simulate(problem, formulation=formulation, integrator=integrator or BackwardEuler(), **given)


# what goes wrong, said


def test_newton_that_does_not_converge_is_named():
    with pytest.raises(StepFailed, match=r"Newton's iteration did not converge .* Index3\(\) needs consistent") as failed:
        run(
            problems.unit_circle(), Index3(), Trapezoidal(), step=0.005, q0=[1e-4, 1.0001], v0=[0.999, 0.001],
            lam0=[-1e-4], initial="free",
        )  # fmt: skip
    assert 3.0 < failed.value.solution.t[-1] < 4.0  # [steinbrecher-2003] Figure 4 stops near 3.5


@pytest.mark.parametrize(
    ("problem", "formulation", "given", "text"),
    [
        (problems.index2_pair, Index2(), {}, r"Index2\(\) treats the change of the constraints' direction"),
        (problems.heterogeneous_masses, GGL(), {}, r"GGL\(\) treats the change .* Use ProjectedInvariants\(\)"),
        (problems.heterogeneous_masses, ProjectedInvariants(D="mass"), {}, "treats the change"),
        (problems.rapid_pair, Index1(), {"stabilization": Baumgarte(gamma=1)}, "may be too strong or too weak"),
        (problems.index2_pair, Index1(), {"integrator": RK4()}, "or an implicit integrator"),
    ],
    ids=["index 2", "GGL", "mass", "Baumgarte", "explicit"],
)
def test_a_state_that_blows_up_is_reported_with_a_reason(problem, formulation, given, text):
    """The pairs that [ascher-petzold-1993] shows blowing up, h = 0.01."""
    with pytest.warns(UnstableWarning, match=text):
        sol = run(problem(), formulation, step=0.01, **given)
    assert np.abs(sol.q[-1]).max() > 1e40


# what they refuse

POINT = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})


DRAG = System(mass=np.eye(2), force=lambda v: -v, constraint={"rod": lambda q: q @ q - 1})
ORBIT = Ode(lambda y: np.array([y[1], -y[0]]))
INDEX_2 = Dae(order=1, f=lambda x: -x, B=lambda: np.array([[1.0], [0.0]]), g=lambda x: x[0] - 1)
FORCED = System(
    mass=np.eye(2), force=lambda u: np.array([u.push, -9.81]), constraint={"rod": lambda q: q @ q - 1},
    inputs={"push": ([0.0, 0.05, 1.0], [0.0, 1.0, 0.0])},
)  # fmt: skip


@pytest.mark.parametrize(
    ("system", "given", "text"),
    [
        (POINT, {"formulation": GGL(), "integrator": RK4()}, r"RK4 integrates ODEs, but GGL\(\) .* formulation=Index1"),
        (POINT, {"formulation": GGL(), "integrator": DOP853()}, "leaves algebraic unknowns. With .* use Radau or BDF"),
        (POINT, {"formulation": GGL(), "integrator": GeneralizedAlpha()}, "Radau or BDF; with .* formulation=Index3"),
        (POINT, {"formulation": ProjectedInvariants(), "integrator": GeneralizedAlpha()}, "further unknowns"),
        (POINT, {"formulation": Index1(), "integrator": GeneralizedAlpha()}, "takes equations of index 2 or 3"),
        (POINT, {"formulation": Index2(), "integrator": RATTLE()}, "takes equations of index 3"),
        (DRAG, {"formulation": Index3(), "integrator": RATTLE()}, "here they depend on v. Use GeneralizedAlpha"),
        (POINT, {"formulation": Overdetermined(), "integrator": Radau()}, "more equations .* formulation=StrangenessFree"),
        (POINT, {"formulation": Overdetermined(), "integrator": BDF()}, r"With Overdetermined\(\) use BackwardEuler or"),
        (POINT, {"formulation": GGL(), "integrator": BDF(max_order=6)}, r"order 6 is unstable .* Use BDF\(\)"),
        (POINT, {"formulation": Index2(), "stabilization": Baumgarte(alpha=3)}, "changes the field, which Index2"),
        (POINT, {"formulation": StrangenessFree(), "stabilization": Baumgarte(alpha=3)}, "Use formulation=Index1"),
        (POINT, {"formulation": GGL(), "stabilization": InvariantStabilization(gain=3)}, "changes the field"),
        (ORBIT, {"formulation": Index2()}, "does not know an Ode, .* Leave formulation= out"),
        (INDEX_2, {"formulation": GGL()}, "does not know a Dae. With BackwardEuler use formulation=Index1"),
        (INDEX_2, {"formulation": Index3()}, r"a Dae of order 1 has index 2, not 3. Use formulation=Index2\(\)"),
        (INDEX_2, {"formulation": ProjectedInvariants("Pb")}, r'Use ProjectedInvariants\("Pa"\)'),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(system, given, text):
    starts = {Dae: {"x0": [1, 1]}, Ode: {"y0": [1, 0]}, System: {"q0": [1, 0], "v0": [0, 0]}}[type(system)]
    step = {} if given.get("integrator", BackwardEuler()).adaptive else {"step": 0.01}
    with pytest.raises(IncompatibleMethods, match=text):
        simulate(system, 0.1, **starts, **step, **({"integrator": BackwardEuler(), "stabilization": None} | given))


@pytest.mark.parametrize("formulation", [StrangenessFree(), StateSpace()], ids=repr)
def test_selectors_need_positions_and_velocities_of_one_kind(formulation):
    with pytest.raises(IncompatibleMethods, match=r"as velocities, and holonomic constraints only. Use GGL\(\)"):
        run(skate(), formulation)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: GGL(D="B"), r'D=\'B\': choose "G", "mass" or "unit"'),
        (lambda: GGL(D=[[1.0, "x"]]), "must be a name, an array"),
        (lambda: GGL(D=[[np.inf], [0.0]]), "must be an array of numbers"),
        (lambda: ProjectedInvariants("Pd"), 'choose "Pa", "Pb" or "Pc"'),
        (lambda: ProjectedInvariants("Pc", D="mass"), 'leave out D, or use "Pb"'),
        (lambda: StrangenessFree("columns"), "choose 'null-space', 'rows', 'constant'"),
        (lambda: StateSpace("rows"), "choose 'partition' or 'tangent'"),
        (lambda: Baumgarte(gamma=np.inf), r"use formulation=Index3\(\)"),
        (lambda: FixedBDF(7), "stable for orders 1 to 6"),
        (lambda: BDF(max_order=7), "stable for orders 1 to 6"),
        (lambda: ImplicitMidpoint("middle"), 'choose "end" or "stage"'),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(make, text):
    with pytest.raises(BadArgument, match=text):
        make()


@pytest.mark.parametrize(
    ("formulation", "text"),
    [
        (GGL(D=[[1.0], [0.0], [0.0]]), r"D has the shape \(3, 1\); 2 coordinates and 1 constraints need \(2, 1\)"),
        (StateSpace(R=[[1.0, 0.0], [0.0, 1.0]]), r"R has the shape \(2, 2\); .* need \(1, 2\)"),
    ],
    ids=repr,
)
def test_arrays_of_another_size_are_refused(formulation, text):
    with pytest.raises(BadArgument, match=text):
        run(bead(t_end=0.1), formulation)


def test_a_method_with_even_steps_refuses_what_would_break_them():
    given = {"q0": [1, 0], "v0": [0, 0], "integrator": FixedBDF(3), "formulation": Index2()}
    with pytest.raises(BadArgument, match=r"the interval is 3\.33333 of them. Use step=0\.0333333"):
        simulate(POINT, 0.1, step=0.03, **given)
    with pytest.raises(IncompatibleMethods, match=r"cannot end one on an event. Use BDF\(\)"):
        simulate(POINT, 0.1, step=0.01, events={"low": Event(lambda q: q[1] + 0.5)}, **given)
    with pytest.raises(BadArgument, match="where a table of inputs bends"):
        simulate(FORCED, 0.1, step=0.01, **given)
    assert simulate(FORCED, 0.05, step=0.01, **given).t[-1] == 0.05
