"""Models: derived terms against 30 digits, and what is refused in tracing."""

import math

import mpmath
import numpy as np
import pytest

from holonomic import Event, Ode, System, UntraceableFunction, simulate
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import invoke
from holonomic.model import symbolics
from holonomic.model.compiled import Model
from holonomic.model.model_base import PLAIN


def compiled(model, fn, t, a, b=()):
    """What the machine code of one function gives."""
    fns, lengths = model.table((fn,))
    out = np.empty(lengths[fn])
    invoke(fns, int(fn), float(t), np.array(a, dtype=float), np.array(b, dtype=float), model.data(), out)
    return out


def terms(model, t, q, v):
    """M, f, G, γ."""
    flat = compiled(model, Fn.TERMS, t, np.concatenate([q, v]))
    nv, nl = model.nv, model.n_lam
    _, M, f, G, gamma = np.split(flat, np.cumsum([model.nq, nv * nv, nv, nl * nv]))
    return M.reshape(nv, nv), f, G.reshape(nl, nv), gamma


# A cart with a heading (c, s) of length 1, v = (x', y', turning rate): kinematics, a rheonomic constraint, a
# nonholonomic one with a drift of its own, M depending on t and q. Written once for NumPy and for mpmath; the
# numbers a are parameters.


def constraint(lib, t, q, a):
    x, y, c, s = q
    return [
        a[0] * x**2 + lib.sin(a[1] * t + y) * c - lib.exp(a[2] * t) * s * x,
        lib.cos(a[3] * x * y) + a[4] * t * c * s + lib.sqrt(a[5] + y**2),
    ]


def rolling(lib, t, q, v, a):
    x, y, c, s = q
    return [s * v[0] - c * v[1] + a[6] * lib.sin(t) * v[2] * x + lib.cos(a[7] * y * t)]


def kinematics(q):
    return [[1, 0, 0], [0, 1, 0], [0, 0, -q[3]], [0, 0, q[2]]]


def mass(lib, t, q, a):
    off = a[8] * lib.sin(q[0] + t) / 4
    return [[2 + q[2] ** 2, off, 0], [off, 3 + lib.cos(q[1]), q[3] / 5], [0, q[3] / 5, 1 + a[9]]]


def force(lib, t, q, v, a):
    return [a[10] * v[0] * v[1] - q[0], lib.sin(t) * v[2] ** 2, a[11] * q[2] - lib.tanh(v[0])]


def potential(lib, q, a):
    return a[0] * q[1] ** 3 + lib.exp(q[0] * q[3]) * a[5]


CART = System(
    mass=lambda t, q, p: np.array(mass(np, t, q, p.a)),
    force=lambda t, q, v, p: np.array(force(np, t, q, v, p.a)),
    potential=lambda q, p: potential(np, q, p.a),
    constraint={"track": lambda t, q, p: np.array(constraint(np, t, q, p.a))},
    nonholonomic={"wheel": lambda t, q, v, p: np.array(rolling(np, t, q, v, p.a))},
    kinematics=lambda q: np.array(kinematics(q)),
    params={"a": np.linspace(0.3, 1.4, 12)},
    velocity_terms=False,
)


def moved(x, s, direction):
    return [y + s * d for y, d in zip(x, direction, strict=True)]


def unit(j, n):
    return [mpmath.mpf(int(j == k)) for k in range(n)]


def slope_at_0(function, i):
    return mpmath.diff(lambda s: function(s)[i], 0)


class Exactly:
    """The same terms by mpmath: derivatives along lines, no symbols."""

    def __init__(self, t, q, v, a):
        self.t = mpmath.mpf(float(t))
        self.q, self.v, self.a = ([mpmath.mpf(float(x)) for x in values] for values in (q, v, a))

    def q_dot(self, q, v):
        return [sum(z * w for z, w in zip(row, v, strict=True)) for row in kinematics(q)]

    def rows(self, t, q, v):
        """Velocity level: dg/dt along (1, Z v), then the nonholonomic rows."""
        slope = self.q_dot(q, v)
        ahead = lambda s: constraint(mpmath, t + s, moved(q, s, slope), self.a)
        return [slope_at_0(ahead, i) for i in range(2)] + rolling(mpmath, t, q, v, self.a)

    def G(self):
        zero = self.rows(self.t, self.q, [mpmath.mpf(0)] * 3)
        columns = []
        for j in range(3):  # linear in v
            rows = self.rows(self.t, self.q, unit(j, 3))
            columns.append([r - z for r, z in zip(rows, zero, strict=True)])
        return np.array(columns).T

    def gamma(self):
        slope = self.q_dot(self.q, self.v)
        ahead = lambda s: self.rows(self.t + s, moved(self.q, s, slope), self.v)
        return [slope_at_0(ahead, i) for i in range(3)]

    def H(self):
        """∂(g, velocity rows)/∂(q, v)."""

        def all_rows(x):
            return constraint(mpmath, self.t, x[:4], self.a) + self.rows(self.t, x[:4], x[4:])

        x = self.q + self.v
        along = [lambda s, j=j: all_rows(moved(x, s, unit(j, 7))) for j in range(7)]
        return np.array([[slope_at_0(along[j], i) for j in range(7)] for i in range(5)])

    def applied_force(self):
        along = [lambda s, i=i: [potential(mpmath, moved(self.q, s, unit(i, 4)), self.a)] for i in range(4)]
        slope = [slope_at_0(function, 0) for function in along]
        Z = kinematics(self.q)
        given = force(mpmath, self.t, self.q, self.v, self.a)
        return [f - sum(Z[i][j] * slope[i] for i in range(4)) for j, f in enumerate(given)]


@pytest.fixture(params=range(4))
def state(request):
    """A random state, random numbers, the model's terms there, and the exact ones."""
    random = np.random.default_rng(request.param)
    t, q, v = random.uniform(-1, 2), random.uniform(-1, 1, 4), random.uniform(-2, 2, 3)
    a = random.uniform(0.2, 1.5, 12)
    model = Model(CART.with_params(a=a), q, v, t)
    with mpmath.workdps(30):
        yield model, t, q, v, Exactly(t, q, v, a)


def close(found, exact):
    """Equal to rounding: the terms are sums of a few dozen products of the size of 10."""
    exact = np.array([[float(x) for x in np.atleast_1d(row)] for row in exact]).reshape(np.shape(found))
    assert found == pytest.approx(exact, rel=1e-13, abs=1e-13)


def test_derived_terms_of_a_random_rheonomic_system_with_kinematics_and_nonholonomic_rows(state):
    model, t, q, v, exact = state
    M, f, G, gamma = terms(model, t, q, v)
    close(M, mass(mpmath, exact.t, exact.q, exact.a))
    close(f, exact.applied_force())
    close(G, exact.G())
    close(gamma, exact.gamma())


def test_residuals_at_position_and_velocity_level(state):
    model, t, q, v, exact = state
    rows = compiled(model, Fn.RESIDUAL, t, np.concatenate([q, v]))
    close(rows[:2], constraint(mpmath, exact.t, exact.q, exact.a))
    close(rows[2:], exact.rows(exact.t, exact.q, exact.v))


def test_jacobian_of_all_rows_by_the_whole_state(state):
    model, t, q, v, exact = state
    d = derived(model)
    evaluate = symbolics.function_of([d.e.t, d.x, d.e.data], [symbolics.densify(d.H)])
    close(np.array(evaluate(t, np.concatenate([q, v]), model.data())), exact.H())


def test_projections_solve_with_those_jacobians(state):
    """FACTOR and SOLVE: Jᵀ(J Jᵀ)⁻¹ r; TANGENT: Jᵀ(J Jᵀ)⁻¹ J e."""
    model, t, q, v, exact = state
    x = np.concatenate([q, v])
    H = np.array([[float(y) for y in row] for row in exact.H()])
    jacobians = {"POS": H[:2, :4], "VEL": H[2:, 4:], "FULL": H}
    # rows are measured by what a residual is a distance of: g by q, G v + g_t by v
    lengths = {level: np.linalg.norm(jacobians[level], axis=1) for level in ("POS", "VEL")}
    lengths["FULL"] = np.concatenate([lengths["POS"], lengths["VEL"]])
    random = np.random.default_rng(0)
    for level, J in jacobians.items():
        F = compiled(model, Fn[f"{level}_FACTOR"], t, x)
        assert 1 / F[1 : 1 + len(J)] == pytest.approx(lengths[level], rel=1e-12)
        r, e = random.uniform(-1, 1, len(J)), random.uniform(-1, 1, J.shape[1])
        back = lambda right, J=J: J.T @ np.linalg.solve(J @ J.T, right)
        tolerance = 1e-13 * np.linalg.cond(J) ** 2
        found = compiled(model, Fn[f"{level}_SOLVE"], t, F, r)
        assert found == pytest.approx(back(r), rel=tolerance, abs=tolerance)
        found = compiled(model, Fn[f"{level}_TANGENT"], t, F, e)
        assert found == pytest.approx(back(J @ e), rel=tolerance, abs=tolerance)


def test_the_field_solves_the_equations_of_motion(state):
    model, t, q, v, _ = state
    field = compiled(model, Fn.FIELD, t, np.concatenate([q, v]))
    M, f, G, gamma = terms(model, t, q, v)
    q_dot, a, lam = field[:4], field[4:7], field[7:10]
    assert q_dot == pytest.approx(np.array(kinematics(q)) @ v, rel=1e-14)
    size = np.max(np.abs(M)) * np.max(np.abs(a)) + np.max(np.abs(G)) * np.max(np.abs(lam))
    assert M @ a + G.T @ lam == pytest.approx(f, abs=1e-13 * size / field[-1])
    assert G @ a == pytest.approx(-gamma, abs=1e-13 * size / field[-1])


def test_reactions_are_minus_g_transposed_lambda(state):
    model, t, q, v, _ = state
    lam = np.array([1.3, -0.4, 0.7])
    G = terms(model, t, q, v)[2]
    found = compiled(model, Fn.REACTIONS, t, np.concatenate([q, v]), lam)
    assert found == pytest.approx(-G.T @ lam, rel=1e-14)


@pytest.mark.parametrize("fn", [Fn.TERMS, Fn.RESIDUAL, Fn.FIELD, Fn.VEL_FACTOR, Fn.ENERGY])
def test_a_single_look_from_python_agrees_with_the_machine_code(state, fn):
    model, t, q, v, _ = state
    x = np.concatenate([q, v])
    look = model.evaluate(fn, t, x, np.zeros(0), model.data())
    assert look == pytest.approx(compiled(model, fn, t, x), rel=1e-11, abs=1e-12)


def derived(model):
    found = model._derived(PLAIN)
    return found[0] if isinstance(found, tuple) else found


# energies: M and the velocity terms by Lagrange's equations


def test_a_system_from_energies_equals_the_one_written_by_hand():
    kinetic = lambda q, v: (v[0] ** 2 + 2.3 * v[1] ** 2 * q[0] ** 2 + v[0] * v[1] * np.sin(q[1])) / 2
    by_energy = System.from_energies(kinetic, lambda q: 1.7 * q[0] ** 2 * np.cos(q[1]))
    q, v = np.array([0.8, 0.4]), np.array([0.3, -1.1])
    model = Model(by_energy, q, v)
    M, f, _, _ = terms(model, 0.0, q, v)
    s, c = np.sin(q[1]), np.cos(q[1])
    assert M == pytest.approx(np.array([[1, s / 2], [s / 2, 2.3 * q[0] ** 2]]), rel=1e-15)
    # d/dt ∂T/∂v - ∂T/∂q with v' = 0
    momentum_rate = np.array([c * v[1] ** 2 / 2, 4.6 * q[0] * v[0] * v[1] + c * v[1] * v[0] / 2])
    slope = np.array([2.3 * q[0] * v[1] ** 2, v[0] * v[1] * c / 2])
    gradient = np.array([3.4 * q[0] * c, -1.7 * q[0] ** 2 * s])
    assert f == pytest.approx(slope - momentum_rate - gradient, rel=1e-14)


def test_velocity_terms_that_follow_from_the_mass_matrix():
    M = lambda q: np.array([[2 + np.cos(q[1]), 0.5 * np.cos(q[1])], [0.5 * np.cos(q[1]), 1.0]])
    added = System(mass=M, force=[0.3, -0.2], velocity_terms=True)
    energy = System.from_energies(lambda q, v: v @ M(q) @ v / 2, force=[0.3, -0.2])
    q, v = np.array([0.3, 0.9]), np.array([1.2, -0.8])
    found = [terms(model, 0.0, q, v)[1] for model in (Model(added, q, v), Model(energy, q, v))]
    assert found[0] == pytest.approx(found[1], rel=1e-14)


# what tracing refuses


def test_a_function_of_math_is_numpys():
    start = {"q0": [1.0], "v0": [0.0]}
    one = simulate(System(mass=np.eye(1), force=lambda q: np.array([math.sin(q[0])])), 1.0, **start)
    assert np.array_equal(one.q, simulate(System(mass=np.eye(1), force=lambda q: np.sin(q)), 1.0, **start).q)


def test_a_function_with_a_state_of_its_own_is_refused():
    calls = []

    def force(q):
        calls.append(1)
        return -q * len(calls)

    system = System(mass=np.eye(1), force=force, trace=True)
    said = r"force\(\) changes a list outside itself"
    with pytest.raises(UntraceableFunction, match=said):
        simulate(system, 1.0, q0=[1.0], v0=[0.0])


def test_random_numbers_are_refused():
    random = np.random.default_rng(0)
    rhs = lambda y: -y + random.normal()
    with pytest.raises(UntraceableFunction, match=r"rhs\(\) uses random numbers of a Generator outside itself"):
        simulate(Ode(rhs, trace=True), 1.0, y0=[1.0])


def test_another_threshold_of_an_event_does_not_trace_the_system_again(monkeypatch):
    """The machine code is made anew, some 5 ms; tracing the system again took three times as long for seven bodies."""
    from holonomic.model import trace as module

    ball = System(mass=np.eye(2), force=lambda q, v: np.array([-0.3 * v[0], -9.81 - 0.3 * v[1]]))
    start = {"q0": [0.0, 10.0], "v0": [1.0, 0.0]}

    def at(height):
        return {"low": Event(lambda q: q[1] - height)}

    simulate(ball, 2.0, **start, events=at(5.3))
    traced = []
    monkeypatch.setattr(module, "trace", lambda *a, **k: traced.append(a))
    for height in np.linspace(1.1, 8.7, 4):
        sol = simulate(ball, 2.0, **start, events=at(height))
        (t,) = sol.events["low"].t
        assert abs(float(sol(t).q[1]) - height) < 1e-8  # each with its own number
    assert not traced
