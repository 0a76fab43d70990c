"""Problems in plain NumPy: equations, start values and references, before anything is traced or simulated."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from holonomic import problems, simulate
from holonomic.errors import BadArgument, UnknownArgument
from holonomic.model.call_by_name import FULL, Names, call
from holonomic.model.system import System

MAKERS = {**problems.catalogue(), "chain of 8": lambda: problems.chain(8), "five four-bars": lambda: problems.four_bars(5)}
# problems out of bodies have vector constraints and quaternions; tests/multibody looks after them. The wheelset with
# algebraic variables has tests of its own in tests/reference.
SYSTEMS = {
    name: make
    for name, make in MAKERS.items()
    if isinstance(make().system, System) and make().system.resolver is None and not make().system.algebraic
}
REFERENCES = {
    f"{name} t={known.t:g}": (make, known)
    for name, make in SYSTEMS.items()
    for known in make().references
    if known.components is None
}
TINY = 1e-30  # of a complex step, whose derivative has no cancellation


class Equations:
    """M, f, g and derivatives of a system at one state; derivatives by complex step."""

    def __init__(self, system, t, q, v):
        self.system, self.t = system, t
        self.q, self.v = np.array(q, dtype=float), np.array(v, dtype=float)

    def ask(self, function, **changed):
        values = {"t": self.t, "q": self.q, "v": self.v, "p": Names(**self.system.params), **changed}
        return call(function, "function", FULL, values)

    def g(self, **changed):
        return np.array([self.ask(row, **changed) for row in self.system.constraint.values()])

    def along(self, direction, function, rate=0.0):
        """Derivative of function along q' = direction, t' = rate."""
        step = 1j * TINY
        return np.imag(function(t=self.t + step * rate, q=self.q + step * np.asarray(direction))) / TINY

    @property
    def M(self):
        return np.array(self.ask(self.system.mass), dtype=float)

    @property
    def G(self):
        return np.stack([self.along(e, self.g) for e in np.eye(len(self.q))], axis=1)

    @property
    def velocity_residual(self):
        return self.along(self.v, self.g, rate=1.0)

    @property
    def f(self):
        total = np.zeros(len(self.q))
        if self.system.force is not None:
            total = total + np.array(self.ask(self.system.force), dtype=float)
        if self.system.potential is not None:
            V = lambda **changed: self.ask(self.system.potential, **changed)
            total = total - np.array([self.along(e, V) for e in np.eye(len(self.q))])
        return total

    @property
    def gamma(self):
        """Second derivative of g along the straight line t + s, q + s v: four-point rule on complex steps."""
        d = 1e-3 / max(1.0, np.abs(self.v).max())

        def rate(s):
            moved = Equations(self.system, self.t + s, self.q + s * self.v, self.v)
            return moved.velocity_residual

        return (8 * (rate(d) - rate(-d)) - (rate(2 * d) - rate(-2 * d))) / (12 * d)

    def solve(self):
        """Accelerations and multipliers of [M Gᵀ; G 0] [a; λ] = [f; -γ]."""
        M, G = self.M, self.G
        K = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
        x = np.linalg.solve(K, np.concatenate([self.f, -self.gamma]))
        return x[: len(M)], x[len(M) :]

    @property
    def energy(self):
        return self.v @ self.M @ self.v / 2 + self.ask(self.system.potential)


def at_start(problem):
    return Equations(problem.system, 0.0, problem.q0, problem.v0)


def at(problem, known):
    return Equations(problem.system, known.t, known.q, known.v)


@pytest.fixture(params=SYSTEMS)
def problem(request):
    return SYSTEMS[request.param]()


@pytest.fixture(params=REFERENCES)
def reference(request):
    make, known = REFERENCES[request.param]
    return make(), known


def test_mass_matrix_is_symmetric_and_positive_definite(problem):
    M = at_start(problem).M
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_start_lies_on_the_constraints_and_moves_along_them(problem):
    start = at_start(problem)
    # start values are rounded to 1.1e-16 of sizes near 1
    assert np.abs(start.g()).max() < 5e-16
    assert np.abs(start.velocity_residual).max() < 5e-16


def test_constraints_are_independent_at_the_start(problem):
    s = np.linalg.svd(at_start(problem).G, compute_uv=False)
    assert s.min() > 0.02 * s.max()  # the least, Jansen's, is 0.045; dependent rows would give 1e-16


def test_names_match_sizes(problem):
    assert len(problem.system.coordinates) == len(problem.q0) == len(problem.v0) == len(at_start(problem).M)


def test_outputs_are_numbers_at_the_start(problem):
    start = at_start(problem)
    a, lam = start.solve()
    for name, output in problem.system.outputs.items():
        assert np.all(np.isfinite(start.ask(output, a=a, lam=lam))), name


def test_reference_lies_on_the_constraints(reference):
    problem, known = reference
    state = at(problem, known)
    scale = max(1.0, np.abs(known.q).max())
    # ten times the trusted error: a row of G has entries up to 4 times the lengths
    assert np.abs(state.g()).max() < 10 * scale**2 * 10.0 ** -known.digits["q"]
    rate = max(1.0, np.abs(known.v).max())
    assert np.abs(state.velocity_residual).max() < 10 * rate * scale * 10.0 ** -known.digits["v"]


@pytest.mark.parametrize("name", [name for name, (_, known) in REFERENCES.items() if known.lam is not None])
def test_reference_multipliers_follow_from_the_equations(name):
    make, known = REFERENCES[name]
    problem = make()
    _, lam = at(problem, known).solve()
    # γ by a four-point rule is good to about 1e-12 of its size; the two-link arm has 2e-12 in λ
    np.testing.assert_allclose(lam, known.lam, rtol=0, atol=1e-11 * max(1.0, np.abs(known.lam).max()))


@pytest.mark.parametrize("name", ["pendulum", "pendulum-a01", "double-pendulum", "chain", "two-link-arm", "four-bars"])
def test_references_of_conservative_problems_have_the_energy_of_the_start(name):
    problem = problems.get(name)
    start = at_start(problem).energy
    for known in problem.references:
        state = at(problem, known)
        # errors of v enter times the momentum M v, errors of q times the force: both below 1e3 here
        assert abs(state.energy - start) < 1e3 * 10.0 ** -min(known.digits["q"], known.digits["v"]), known.t


def test_seven_body_references_close_the_energy_balance():
    problem = problems.seven_body()
    start = at_start(problem).energy
    for known in problem.references:
        work = problem.system.params["mom"] * (known.q[0] - problem.q0[0])
        # energies near 2 J, so rounding leaves some 1e-15 J; the values of the test set miss by 2.2e-10 J
        assert abs(at(problem, known).energy - start - work) < 1e-14, known.t


def test_seven_body_has_the_published_initial_accelerations_and_multipliers():
    from holonomic.problems.seven_body import A0, LAM0

    a, lam = at_start(problems.seven_body()).solve()
    # a few roundings of the largest entry
    np.testing.assert_allclose(a, A0, rtol=0, atol=1e-14 * max(A0))
    np.testing.assert_allclose(lam, LAM0, rtol=0, atol=1e-14 * max(LAM0))


def test_seven_body_potential_and_force_make_the_published_force():
    rng = np.random.default_rng(1)
    problem = problems.seven_body()
    p = Names(**problem.system.params)
    for _ in range(5):
        q, v = rng.normal(size=7), rng.normal(size=7)
        f = Equations(problem.system, 0.0, q, v).f
        np.testing.assert_allclose(f, published_seven_body_force(q, v, p), rtol=1e-13)


def published_seven_body_force(q, v, p):
    """The force vector of the test set, the spring written as a force."""
    sin, cos = np.sin, np.cos
    xd = p.sd * cos(q[2]) + p.sc * sin(q[2]) + p.xb
    yd = p.sd * sin(q[2]) - p.sc * cos(q[2]) + p.yb
    length = np.hypot(xd - p.xc, yd - p.yc)
    fx, fy = -p.c0 * (length - p.l0) / length * np.array([xd - p.xc, yd - p.yc])
    return [
        p.mom - p.m2 * p.da * p.rr * v[1] * (v[1] + 2 * v[0]) * sin(q[1]),
        p.m2 * p.da * p.rr * v[0] ** 2 * sin(q[1]),
        fx * (p.sc * cos(q[2]) - p.sd * sin(q[2])) + fy * (p.sd * cos(q[2]) + p.sc * sin(q[2])),
        p.m4 * p.zt * (p.e - p.ea) * v[4] ** 2 * cos(q[3]),
        -p.m4 * p.zt * (p.e - p.ea) * v[3] * (v[3] + 2 * v[4]) * cos(q[3]),
        -p.m6 * p.u * (p.zf - p.fa) * v[6] ** 2 * cos(q[5]),
        p.m6 * p.u * (p.zf - p.fa) * v[5] * (v[5] + 2 * v[6]) * cos(q[5]),
    ]


def test_spring_slider_crank_potential_and_damper_make_the_published_force():
    rng = np.random.default_rng(2)
    problem = problems.slider_crank_spring()
    a, k, c, l0, F = (problem.system.params[name] for name in ("a", "k", "c", "l0", "F"))
    for _ in range(5):
        (th, x, ph), (dth, dx, dph) = q, v = rng.normal(size=3) + [0, 2, 0], rng.normal(size=3)
        l = np.sqrt(x**2 - x * (np.cos(ph) + a * np.cos(th)) + (1 + a**2) / 4 + a / 2 * np.cos(ph - th))
        twice = (
            2 * x * dx
            - dx * (np.cos(ph) + a * np.cos(th))
            + x * (np.sin(ph) * dph + a * np.sin(th) * dth)
            - a / 2 * np.sin(ph - th) * (dph - dth)
        )
        P = (k * (l - l0) + c * twice / (2 * l)) / l
        published = [
            -P * a * (np.sin(ph - th) / 2 + x * np.sin(th)) / 2,
            P * (np.cos(ph) / 2 - x + a * np.cos(th) / 2) + F,
            -P * (x * np.sin(ph) - a / 2 * np.sin(ph - th)) / 2 - F * np.sin(ph),
        ]
        np.testing.assert_allclose(Equations(problem.system, 0.0, q, v).f, published, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["two-link-arm", "two-link-arm-II", "seven-body"])
def test_velocity_terms_follow_from_the_mass_matrix(name):
    """Lagrange: f(q, v) - f(q, 0) = ∂(vᵀMv/2)/∂q - (dM/dt) v."""
    rng = np.random.default_rng(3)
    problem = problems.get(name)
    n = len(problem.q0)
    q, v = rng.normal(size=n), rng.normal(size=n)
    state = Equations(problem.system, 0.0, q, v)
    M = lambda **changed: state.ask(problem.system.mass, **changed)
    dM = np.array([state.along(e, M) for e in np.eye(n)])  # dM[k] = ∂M/∂q_k
    expected = np.einsum("kij,i,j->k", dM, v, v) / 2 - np.einsum("kij,k,j->i", dM, v, v)
    difference = state.f - Equations(problem.system, 0.0, q, np.zeros(n)).f
    # the spring moment, below 10 N m, cancels in the difference and leaves its rounding
    np.testing.assert_allclose(difference, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["pendulum", "pendulum-a01", "four-bars"])
def test_exact_solution_starts_right_meets_the_references_and_obeys_the_equations(name):
    problem = problems.get(name)
    q, v = problem.exact(0.0)
    np.testing.assert_allclose(q, problem.q0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(v, problem.v0, rtol=0, atol=1e-14)
    for known in problem.references:
        q, v = problem.exact(known.t)
        # the phase, below 7e3, is reduced modulo the period in double precision
        np.testing.assert_allclose(q, known.q, rtol=0, atol=3e-12)
        np.testing.assert_allclose(v, known.v, rtol=0, atol=3e-12)
    h = 1e-5
    (q1, v1), (q2, v2) = problem.exact(0.3 - h), problem.exact(0.3 + h)
    q, v = problem.exact(0.3)
    a, _ = Equations(problem.system, 0.3, q, v).solve()
    # central differences: h² v''' / 6, with derivatives up to 1e3
    np.testing.assert_allclose((q2 - q1) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v2 - v1) / (2 * h), a, atol=1e-6)


@pytest.mark.parametrize("c", [0.1, 0.5, 1.0, 1.7])
def test_kepler_orbit_obeys_its_equation_and_keeps_both_invariants(c):
    problem = problems.kepler(c=c, K=2.0)
    p = Names(**problem.system.params)
    np.testing.assert_allclose(problem.exact(0.0), problem.y0, atol=1e-14)
    np.testing.assert_allclose(problem.exact(2 * np.pi / np.sqrt(2.0)), problem.y0, atol=1e-13)
    h, t = 1e-5, 0.7
    slope = (problem.exact(t + h) - problem.exact(t - h)) / (2 * h)
    np.testing.assert_allclose(slope, problem.system.rhs(problem.exact(t), p), atol=1e-8)  # h² times 1e2
    energy, momentum = problem.system.invariants.values()
    assert energy(problem.exact(t), p) == pytest.approx(-1.0, abs=1e-14)
    assert momentum(problem.exact(t)) == pytest.approx(momentum(problem.y0), abs=1e-14)


def test_jansen_foot_treads_flat_for_half_a_turn():
    """The linkage is known for the straight lower side of its foot path; the loops are closed by Newton."""
    problem = problems.jansen()
    q, feet = np.array(problem.q0), []
    for angle in np.arange(0.0, 2 * np.pi, 0.05):
        for _ in range(8):
            state = Equations(problem.system, 0.0, q, problem.v0)
            crank = [q[0] - 0.15 * np.cos(angle), q[1] - 0.15 * np.sin(angle)]
            rows = np.vstack([np.eye(12)[:2], state.G[1:]])
            q = q - np.linalg.solve(rows, np.concatenate([crank, state.g()[1:]]))
        feet.append(q[10:])
    x, y = np.transpose(feet)
    low = y < y.min() + 0.02
    assert 0.4 < low.mean() < 0.7  # of the turn within 2 cm of the ground
    assert np.ptp(x[low]) > 0.4  # metres of straight tread
    assert 0.1 < np.ptp(y) < 0.25  # height of the step


def solution(t, **values):
    return SimpleNamespace(t=np.array(t), **{name: np.array(x) for name, x in values.items()})


def test_digits_counts_at_the_last_saved_time_with_a_reference():
    problem = problems.double_pendulum()
    one, five = problem.references[0], problem.references[-1]
    sol = solution([0.0, 1.0, 3.0], q=[one.q, one.q + 1e-6, one.q], v=[one.v, one.v * (1 + 1e-4), one.v])
    found = problem.digits(sol)
    assert found == {"q": pytest.approx(-np.log10(1e-6 / 1.0), abs=1e-6), "v": pytest.approx(4.0, abs=1e-6)}
    assert problem.digits(solution([0.0, 5.0], q=[one.q, five.q], lam=[one.lam, five.lam])) == {"q": 16.0, "lam": 16.0}


def test_digits_of_a_tip_reference_looks_only_at_the_tip():
    problem = problems.chain(8)
    q = np.zeros(16)
    q[-2:] = problem.references[0].q
    assert problem.digits(solution([1.0], q=[q])) == {"q": 16.0}


def test_digits_uses_the_exact_solution_where_no_reference_is_stored():
    problem = problems.four_bars(3, g=5.0)
    q, v = problem.exact(0.37)
    assert problem.digits(solution([0.0, 0.37], q=[q, q], v=[v, v + 1e-3]))["v"] == pytest.approx(3.0, abs=0.7)
    orbit = problems.kepler(c=0.3)
    assert orbit.digits(solution([1.0], y=[orbit.exact(1.0)])) == {"y": 16.0}


def test_digits_of_nan_is_minus_infinity():
    problem = problems.car_axis()
    assert problem.digits(solution([3.0], q=[[np.nan] * 4])) == {"q": -np.inf}


def test_digits_refuses_a_solution_without_a_common_time():
    with pytest.raises(BadArgument, match=r"times with one: 3\)"):
        problems.car_axis().digits(solution([0.0, 2.0], q=np.zeros((2, 4))))


def test_changed_parameters_drop_references_that_no_longer_hold():
    assert problems.seven_body(mom=0.05).references == ()
    assert problems.seven_body(mom=0.033).references != ()
    with pytest.raises(BadArgument, match=r"no reference at t = 0\.03"):
        problems.seven_body(mom=0.05).reference()


def test_get_takes_any_spelling_and_names_near_matches():
    assert problems.get("Seven_Body", t_end=0.01).t_end == 0.01
    assert problems.get("two-link-arm-ii").name == "two-link-arm-II"
    with pytest.raises(BadArgument, match="Did you mean seven-body"):
        problems.get("seven-bodies")
    with pytest.raises(UnknownArgument, match=r"no parameter 'torqe'\. Did you mean torque"):
        problems.get("jansen", torqe=1.0)


@pytest.mark.parametrize("name", problems.catalogue())
def test_a_problem_knows_its_own_name_and_its_end(name):
    problem = problems.get(name)
    assert problem.name == name
    assert problem.reference().t == pytest.approx(problem.t_end)


def test_making_a_problem_does_not_import_scipy_special_or_bodies():
    heavy = ["scipy.special", "scipy.optimize", "holonomic.multibody"]
    code = (
        "import sys; from holonomic import problems; problems.get('pendulum'); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("make", [problems.pendulum, problems.pendulum_a01])
def test_the_exact_swing_of_a_longer_pendulum_is_its_own(make):
    problem = make(L=2.5, g=3.7)
    sol = simulate(problem, 3.0, rtol=1e-10, atol=1e-12)
    q, v = problem.exact(3.0)
    np.testing.assert_allclose(sol.q[-1], q, atol=1e-8)
    np.testing.assert_allclose(sol.v[-1], v, atol=1e-8)
