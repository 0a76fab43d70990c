"""The public checks accept our methods, and refuse those that do not do what they declare."""

import importlib
import pkgutil

import numpy as np
import pytest

import holonomic
import holonomic.integrators
import holonomic.stabilizations
from holonomic import (
    RK4,
    RK45,
    BackwardEulerStabilization,
    BadArgument,
    Baumgarte,
    ForwardEulerStabilization,
    Index1,
    InvariantStabilization,
    PostStabilization,
    Projection,
    S_both,
    S_full,
    S_pos,
    S_vel,
    problems,
)
from holonomic.errors import OK
from holonomic.integrators.base import Integrator
from holonomic.integrators.runge_kutta import RungeKutta
from holonomic.integrators.tableaus import Tableau
from holonomic.kernels.signatures import PULL
from holonomic.native.marks import kernel
from holonomic.stabilizations.base import Lowered, Stabilization, Unstabilized, no_pull, no_tangent
from holonomic.study.order import Fit, observed_order
from holonomic.testing import bead, check_formulation, check_integrator, check_stabilization, promised


def subclasses(base, package):
    """All classes of the package below `base`, hidden ones left out."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    waiting, found = [base], set()
    while waiting:
        waiting += (kind := waiting.pop()).__subclasses__()
        if kind.__module__.startswith(package.__name__) and not kind.__name__.startswith("_"):
            found.add(kind)
    return found - {base}


CATALOGUE = [
    kind()
    for kind in sorted(subclasses(Integrator, holonomic.integrators), key=lambda kind: kind.__name__)
    if kind.order is not None
]
CATALOGUE += [holonomic.FixedBDF(k) for k in (1, 3, 4, 5, 6)] + [holonomic.BDF(k) for k in (1, 2, 3, 4, 6)]
CATALOGUE += [holonomic.ImplicitMidpoint("stage")]
STABILIZATIONS = [
    None,
    Baumgarte(alpha=3),
    InvariantStabilization(gain=3),
    ForwardEulerStabilization(alpha=0.8),
    BackwardEulerStabilization(alpha=1.0),
    Projection(),
    Projection(metric="mass"),
    Projection(at="new"),
    S_vel(),
    S_pos(),
    S_both(),
    PostStabilization(),
    PostStabilization(metric="mass"),
    PostStabilization(alpha=0.9),
    PostStabilization(sweeps=3),
    PostStabilization(freeze="inverse"),
    PostStabilization("cheap-full", 1),
    S_full(),
    PostStabilization("full", 2),
]


@pytest.mark.parametrize("integrator", CATALOGUE, ids=repr)
def test_every_integrator_does_what_it_declares(integrator):
    # those that take one index only say which
    takes = integrator.indices
    check_integrator(integrator, formulation="auto" if takes is None else getattr(holonomic, f"Index{takes[-1]}")())


@pytest.mark.parametrize("formulation", [holonomic.Index2(), holonomic.GGL()], ids=repr)
@pytest.mark.parametrize("integrator", [holonomic.BDF(), holonomic.Radau()], ids=repr)
def test_fixed_steps_of_adaptive_implicit_methods_show_their_order_in_other_formulations(integrator, formulation):
    check_integrator(integrator, formulation=formulation)


@pytest.mark.parametrize("stabilization", STABILIZATIONS, ids=repr)
def test_our_stabilizations_do_what_they_declare(stabilization):
    check_stabilization(stabilization)


def test_no_stabilization_is_left_unchecked():
    checked = {type(stabilization) for stabilization in STABILIZATIONS} | {Unstabilized}
    left = {kind for kind in subclasses(Stabilization, holonomic.stabilizations) if kind not in checked}
    assert {kind for kind in left if not kind.at_both_ends} == set()  # those take symmetric methods: test_symmetric_projection.py


def test_index_1_solves_the_equations_of_motion():
    check_formulation(Index1())


class Ralston(RungeKutta):
    """A method written elsewhere."""

    order, adaptive = 2, False
    tableau = Tableau(
        "Ralston", order=2, A=[[0, 0], [2 / 3, 0]], b=[1 / 4, 3 / 4], c=[0, 2 / 3], dense_order=2
    )


def test_an_integrator_written_elsewhere_is_accepted():
    check_integrator(Ralston)


class TooProud(RK4):
    """Declares an order it has not."""

    order = 5


class NoEstimate(RK4):
    """Declares an error estimate it has not."""

    adaptive = True


class TooModest(RK45):
    """Has an error estimate and denies it."""

    adaptive = False


@pytest.mark.parametrize(
    ("integrator", "text"),
    [
        (TooProud(), r"TooProud\(\) declares order 5, but shows [34]\.\d\d on"),
        (NoEstimate(), "declares adaptive = True, but has 0 error estimates"),
        (TooModest(), "declares adaptive = False, but has 1 error estimates"),
        (Projection(), "is no Integrator"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_an_integrator_that_declares_what_is_not_so_is_refused(integrator, text):
    with pytest.raises(AssertionError, match=text):
        check_integrator(integrator)


class Sloppy(Projection):
    """Stops projecting far from the constraints."""

    def lower(self, tol, hopeless=np.inf):
        return super().lower(1e-3, hopeless)


@kernel(PULL)
def push(model, sp, run, t, h, old, stage, x, W):
    """Move the state by the same length after every step, however short."""
    x[0] += 1e-6
    return OK


class Pusher(Stabilization):
    """Spoils the solution."""

    acts = "step"
    drift_order = "p; p"

    def lower(self, tol, hopeless=np.inf):
        return Lowered(push, no_tangent)


class Boaster(Stabilization):
    """Does nothing and declares much."""

    acts = "step"
    drift_order = "2(p+1); p"

    def lower(self, tol, hopeless=np.inf):
        return Lowered(no_pull, no_tangent)


class Unreadable(Boaster):
    """Declares what no one can read."""

    drift_order = "small"


class Actless(Boaster):
    """Does not say how it acts."""

    acts = "sometimes"


@pytest.mark.parametrize(
    ("stabilization", "text"),
    [
        (Sloppy(), r"Sloppy.* declares drift_order 'below tolerance; rounding'"),
        (Pusher(), r"Pusher\(\) lowers the order of RK4\(\) from 4 to"),
        (Boaster(), r"Boaster\(\) declares drift_order '2\(p\+1\); p', so 4.0 at position level with Euler"),
        (Unreadable(), "drift_order='small' cannot be read"),
        (Actless(), "must declare acts"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_stabilization_that_declares_what_is_not_so_is_refused(stabilization, text):
    with pytest.raises(AssertionError, match=text):
        check_stabilization(stabilization)


@pytest.mark.parametrize(
    ("text", "p", "expected"),
    [
        ("p; p", 4, [4, 4]),
        ("p; exact", 2, [2, np.inf]),
        ("2(p+1); p+1", 4, [10, 5]),
        ("3(p+1); 2(p+1)", 1, [6, 4]),
        ("below tolerance; rounding", 4, ["tolerance", np.inf]),
        ("p; p (bounded)", 1, [1, 1]),
        ("2p; 2p+1", 3, [6, 7]),
    ],
)
def test_declared_drift_orders_are_read(text, p, expected):
    assert promised(text, p) == expected


def test_each_post_stabilization_declares_its_own_drift_orders():
    made = {make: make().drift_order for make in (S_vel, S_pos, S_both, S_full)}
    assert made == {S_vel: "p; exact", S_pos: "2(p+1); p", S_both: "2(p+1); p+1", S_full: "2(p+1); 2(p+1)"}


STEPS = np.array([0.1, 0.05, 0.025, 0.0125])


def test_fit_finds_the_slope_and_discards_points_at_roundoff():
    fit = Fit.of(STEPS, np.maximum(STEPS**8, 3e-13), roundoff=1e-12)
    assert fit.order == pytest.approx(8.0, abs=1e-10)
    assert fit.used.tolist() == [True, True, False, False]


def test_fit_of_roundoff_alone_is_exact():
    fit = Fit.of(STEPS, [3e-16, 0.0, 1e-16, 2e-16], roundoff=1e-13)
    assert fit.exact and fit.order == np.inf


def test_fit_of_one_point_takes_the_slope_to_the_next():
    fit = Fit.of(STEPS, [1.6e-12, 1e-13, 1e-13, 1e-13], roundoff=1e-12)
    assert fit.order == pytest.approx(4.0)


@pytest.mark.parametrize("sizes", [[1e-3, np.nan, 1e-5, 1e-6], [1e-14, 1e-14, 1e-14, 1e-3]])
def test_fit_without_a_line_has_no_order(sizes):
    assert np.isnan(Fit.of(STEPS, sizes, roundoff=1e-12).order)


def test_a_system_without_exact_solution_is_measured_against_a_fine_run():
    study = observed_order(bead(), RK4(), S_both(), [2 / n for n in (60, 90, 120)])
    assert study.order == pytest.approx(4.0, abs=0.2)
    assert study.error["lam"].order == pytest.approx(4.0, abs=0.3)
    assert "error of q" in repr(study) and "drift, velocity" in repr(study)


def test_too_few_steps_are_refused():
    with pytest.raises(BadArgument, match="at least two different"):
        observed_order(problems.pendulum_a01(t_end=1.0), RK4(), None, [0.1, 0.1])


@pytest.mark.parametrize(
    "formulation",
    [
        holonomic.Index2(), holonomic.Index3(), holonomic.GGL(), holonomic.ProjectedInvariants("Pa"),
        holonomic.ProjectedInvariants("Pb"), holonomic.ProjectedInvariants("Pc"), holonomic.UnderlyingODE(),
        holonomic.StrangenessFree(), holonomic.StrangenessFree("rows"), holonomic.StateSpace("partition"),
    ],
    ids=repr,
)  # fmt: skip
def test_every_residual_formulation_describes_the_motion(formulation):
    check_formulation(formulation)


def test_check_formulation_notices_a_wrong_residual():
    class Heavy(holonomic.Index2):
        def equations(self, d, gains):
            right = super().equations(d, gains)
            return type(right)(right.y, right.slope, right.residual + 0.01 * right.y[0], right.selectors)

    with pytest.raises(AssertionError, match=r"do not describe the motion|declares to keep"):
        check_formulation(Heavy())
