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
from holonomic.testing import bead, check_formulation, check_integrator, check_stabilization, order_conditions, promised


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
    tableau = Tableau("Ralston", order=2, A=[[0, 0], [2 / 3, 0]], b=[1 / 4, 3 / 4], c=[0, 2 / 3], dense_order=2)


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
        (TooProud(), r"TooProud\(\) declares order 5, but its tableau has order 4: b·\(A\(A\(A\(c\)+ is 0, and order 5 needs"),
        (NoEstimate(), "declares adaptive = True, but has 0 error estimates"),
        (TooModest(), "declares adaptive = False, but has 1 error estimates"),
        (Projection(), "is no Integrator"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_an_integrator_that_declares_what_is_not_so_is_refused(integrator, text):
    with pytest.raises(AssertionError, match=text):
        check_integrator(integrator)


def of_tableau(name, order, A, b, c):
    """An integrator of fixed steps, written elsewhere."""
    rows = [[*row, *[0] * (len(b) - len(row))] for row in A]
    tableau = Tableau(name, order=order, A=rows, b=b, c=c, dense_order=min(order, 3))
    return type(name, (RungeKutta,), {"order": order, "adaptive": False, "tableau": tableau})()


R2, R5 = np.sqrt(2), np.sqrt(5)
OF_BOOKS = [  # [HNW93] Sec. II.1 and II.5, and what is called by their names
    of_tableau("Heun3", 3, [[], [1 / 3], [0, 2 / 3]], [1 / 4, 0, 3 / 4], [0, 1 / 3, 2 / 3]),
    of_tableau("Kutta3", 3, [[], [1 / 2], [-1, 2]], [1 / 6, 2 / 3, 1 / 6], [0, 1 / 2, 1]),
    of_tableau("ShuOsher", 3, [[], [1], [1 / 4, 1 / 4]], [1 / 6, 1 / 6, 2 / 3], [0, 1, 1 / 2]),
    of_tableau("ThreeEighths", 4, [[], [1 / 3], [-1 / 3, 1], [1, -1, 1]], [1 / 8, 3 / 8, 3 / 8, 1 / 8], [0, 1 / 3, 2 / 3, 1]),
    of_tableau("Gill", 4, [[], [1 / 2], [(R2 - 1) / 2, 1 - 1 / R2], [0, -1 / R2, 1 + 1 / R2]],
               [1 / 6, (2 - R2) / 6, (2 + R2) / 6, 1 / 6], [0, 1 / 2, 1 / 2, 1]),
    of_tableau("Ralston4", 4, [[], [2 / 5], [(-2889 + 1428 * R5) / 1024, (3785 - 1620 * R5) / 1024],
                               [(-3365 + 2094 * R5) / 6040, (-975 - 3046 * R5) / 2552, (467040 + 203968 * R5) / 240845]],
               [(263 + 24 * R5) / 1812, (125 - 1000 * R5) / 3828, 1024 * (3346 + 1623 * R5) / 5924787, (30 - 4 * R5) / 123],
               [0, 2 / 5, (14 - 3 * R5) / 16, 1]),
    of_tableau("Butcher5", 5, [[], [1 / 4], [1 / 8, 1 / 8], [0, 0, 1 / 2], [3 / 16, -3 / 8, 3 / 8, 9 / 16],
                               [-3 / 7, 8 / 7, 6 / 7, -12 / 7, 8 / 7]],
               [7 / 90, 0, 32 / 90, 12 / 90, 32 / 90, 7 / 90], [0, 1 / 4, 1 / 4, 1 / 2, 3 / 4, 1]),
    of_tableau("Butcher6", 6, [[], [1 / 3], [0, 2 / 3], [1 / 12, 1 / 3, -1 / 12], [-1 / 16, 9 / 8, -3 / 16, -3 / 8],
                               [0, 9 / 8, -3 / 8, -3 / 4, 1 / 2], [9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11]],
               [11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120], [0, 1 / 3, 2 / 3, 1 / 3, 1 / 2, 1 / 2, 1]),
]  # fmt: skip


@pytest.mark.parametrize("integrator", OF_BOOKS, ids=repr)
def test_methods_of_books_are_accepted(integrator):
    check_integrator(integrator)


def changed(integrator, by):
    """The same with one weight moved, and another so that the sum of all is kept; or with a slope in a stage."""
    tableau, rng = integrator.tableau, np.random.default_rng(3)
    for where in ("b", "A", "c"):
        A, b, c = tableau.A.copy(), tableau.b.copy(), tableau.c.copy()
        i, j = rng.permutation(len(b) - 1)[:2] + 1
        match where:
            case "b":
                b[[i, j]] += (by, -by)
            case "A":  # what a stage stands on, at the same time
                i = len(b) - 1
                A[i, [0, i - 1]] += (by, -by)
            case "c":  # for forces that depend on time
                c[np.flatnonzero(b)[-1]] += by
        yield of_tableau("Changed", integrator.order, A, b, c)


def test_a_curve_that_is_not_of_its_declared_order_is_refused():
    """The cubic of a method of order 6 has order 3; the run at the ends of steps does not show it."""
    butcher, declared = OF_BOOKS[-1], {"order": 6, "dense_order": 5}
    tableau = Tableau("Boaster", A=butcher.tableau.A, b=butcher.tableau.b, c=butcher.tableau.c, **declared)
    boaster = type("Boaster", (RungeKutta,), {"order": 6, "adaptive": False, "tableau": tableau})()
    with pytest.raises(AssertionError, match=r"with half the step .*: order [34]\.\d\d, where dense_order = 5 is declared"):
        check_integrator(boaster)


@pytest.mark.parametrize("by", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("integrator", [*OF_BOOKS, RK4(), RK45(), holonomic.DOP853()], ids=repr)
def test_a_tableau_with_a_wrong_coefficient_is_refused(integrator, by):
    for wrong in changed(integrator, by):
        with pytest.raises(AssertionError, match=rf"declares order {integrator.order}, but its tableau has order \d: "):
            check_integrator(wrong)


@pytest.mark.parametrize("integrator", [*CATALOGUE, *OF_BOOKS], ids=repr)
def test_one_order_more_than_a_method_has_is_refused_by_what_runs_show(integrator):
    kind, more = type(integrator), integrator.order + 1
    names = {"order": property(lambda self: more), "lower": lambda self: integrator.lower(), "tableau": None}
    boaster = object.__new__(type("Boaster", (kind,), names))
    vars(boaster).update(vars(integrator))
    takes = integrator.indices
    with pytest.raises(AssertionError, match=rf"declares order {more}, but shows .* at best on"):
        check_integrator(boaster, formulation="auto" if takes is None else getattr(holonomic, f"Index{takes[-1]}")())


def test_rooted_trees_are_counted():
    """[HNW93] Table II.2.2."""
    assert [len(order_conditions.trees(n)) for n in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]


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


def test_the_steepest_three_are_neither_too_coarse_nor_at_roundoff():
    steps = 0.1 / np.array([1, 1.5, 2, 3, 4, 6, 8])
    fit = Fit.of(steps, steps**4 + 30 * steps**5 + 1e-10, roundoff=1e-12)
    assert 4.0 < fit.steepest < 5.0
    assert Fit.of(steps, 1e-3 * (steps**4 - 5 * steps**5) + 1e-9, roundoff=1e-12).order < 3.0
    assert Fit.of(steps, np.where(np.arange(7) < 2, np.inf, steps**4), roundoff=1e-12).steepest == pytest.approx(4.0)
    assert Fit.of(steps, [1e-3, *[1e-13] * 6], roundoff=1e-12).steepest == Fit.of(steps, [1e-3, *[1e-13] * 6], 1e-12).order


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
