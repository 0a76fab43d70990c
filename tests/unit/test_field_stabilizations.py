"""Stabilizations that bend the field, and discretizations of their term: decay of residuals against closed forms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import (
    RK4,
    RK45,
    BackwardEulerStabilization,
    Baumgarte,
    Euler,
    ForwardEulerStabilization,
    Heun,
    InvariantStabilization,
    Midpoint,
    Ode,
    PostStabilization,
    Projection,
    S_both,
    S_full,
    System,
    simulate,
)
from holonomic.testing import check_stabilization

PENDULUM = System(mass=np.diag([1.0, 2.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
OFF = {"q0": [1.1, 0.1], "v0": [0.3, -0.2], "initial": "free"}  # a start that misses both levels
TIGHT = {"integrator": RK45(), "rtol": 1e-11, "atol": 1e-12}  # errors below the 1e-8 that is asked for


def residuals(sol):
    return sol.drift["position"][:, 0], sol.drift["velocity"][:, 0]


def full_direction(q, v):
    """Hᵀ of the pendulum with the velocities weighted otherwise: any D with H D regular will do."""
    return np.array([[2 * q[0], 2 * v[0]], [2 * q[1], 2 * v[1]], [0, 6 * q[0]], [0, 6 * q[1]]])


# continuous stabilization


@pytest.mark.parametrize("D", ["orthogonal", "blocks", "mass", "B", full_direction])
def test_residuals_decay_with_the_gain_alone_for_f_1_13(D):
    """s' = r - γ s, r' = -γ r, [ascher-chin-reich-1992] (4.5)."""
    gain = 3.0
    sol = simulate(PENDULUM, 1.0, **OFF, **TIGHT, stabilization=InvariantStabilization(gain=gain, D=D))
    s, r = residuals(sol)
    np.testing.assert_allclose(r, r[0] * np.exp(-gain * sol.t), atol=1e-8)
    np.testing.assert_allclose(s, (s[0] + r[0] * sol.t) * np.exp(-gain * sol.t), atol=1e-8)


def test_integral_invariants_do_not_feel_each_other():
    """(I - F H) f̂ makes h an integral invariant, (2.4): both levels decay by themselves."""
    sol = simulate(PENDULUM, 1.0, **OFF, **TIGHT, stabilization=InvariantStabilization(gain=3.0, integral=True))
    for r in residuals(sol):
        np.testing.assert_allclose(r, r[0] * np.exp(-3.0 * sol.t), atol=1e-8)


def test_integral_without_gain_keeps_every_residual():
    sol = simulate(PENDULUM, 1.0, **OFF, **TIGHT, stabilization=InvariantStabilization(integral=True))
    for r in residuals(sol):
        np.testing.assert_allclose(r, r[0], atol=1e-8)


def test_decay_holds_for_moving_constraints_and_backward_in_time():
    system = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda t, q: q[0] ** 2 + q[1] ** 2 - 1 - 0.1 * np.sin(t))
    for end in (1.0, -1.0):
        sol = simulate(system, end, **OFF, **TIGHT, stabilization=InvariantStabilization(gain=3.0))
        s, r = residuals(sol)
        decay = np.exp(-3.0 * np.abs(sol.t))
        np.testing.assert_allclose(r, r[0] * decay, atol=1e-8)
        np.testing.assert_allclose(s, (s[0] + r[0] * sol.t) * decay, atol=1e-8)


def test_without_the_coupling_the_velocity_decays_as_equation_4_8_says():
    """For g = q·q - 1, L P s = r s / (2 (1 + s)); the other terms as with F = (1.13)."""
    gain = 3.0
    sol = simulate(PENDULUM, 1.0, **OFF, **TIGHT, stabilization=InvariantStabilization(gain=gain, F="4.8"))
    s, r = residuals(sol)
    want = solve_ivp(
        lambda t, z: [z[1] - gain * z[0], -gain * z[1] * (1 + 0.5 * z[0] / (1 + z[0]))],
        (0, 1.0), [s[0], r[0]], t_eval=sol.t, rtol=1e-11, atol=1e-13,
    ).y  # fmt: skip
    np.testing.assert_allclose([s, r], want, atol=1e-8)


def test_plain_directions_decay_with_the_eigenvalue_of_hd():
    """F = D = Hᵀ: for h = |y|² - 1, h' = -4γ (1 + h) h, so h/(1 + h) decays like exp(-4γt)."""
    ode = Ode(lambda y: np.array([y[1], -y[0]]), invariants={"h": lambda y: y @ y - 1})
    for F in ("1.8", "1.14"):
        sol = simulate(ode, 1.0, y0=[1.2, 0.0], **TIGHT, initial="free", stabilization=InvariantStabilization(gain=0.5, F=F))
        h = np.sum(sol.y**2, axis=1) - 1
        np.testing.assert_allclose(h / (1 + h), h[0] / (1 + h[0]) * np.exp(-2.0 * sol.t), atol=1e-8)


def test_equation_1_7_is_1_13_with_orthogonal_directions():
    runs = [
        simulate(PENDULUM, 1.0, **OFF, integrator=RK4(), step=0.01, stabilization=InvariantStabilization(gain=5.0, F=F))
        for F in ("1.7", "1.13")
    ]
    assert np.array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize("gain", [4.0, 8.0])
def test_a_field_that_is_not_smooth_keeps_off_the_manifold(gain):
    """[ascher-chin-reich-1992] Sec. 2, remark 1: h' = 2 h^(1/3) - γ h ends at h = (2/γ)^(3/2)."""
    ode = Ode(lambda y: np.array([y[1], -y[0]]) + y * np.cbrt(y @ y - 1) / (y @ y), invariants={"h": lambda y: y @ y - 1})
    run = {"y0": [1.3, 0.0], "integrator": RK4(), "step": 0.01, "initial": "free"}
    sol = simulate(ode, 20.0, **run, stabilization=InvariantStabilization(gamma=gain))
    # the way there takes as long as exp(-2γt/3) allows: 1e-6 is safe
    assert sol.y[-1] @ sol.y[-1] - 1 == pytest.approx((2 / gain) ** 1.5, abs=1e-6)


def test_dense_solve_gives_the_same_bent_field():
    """Where the unrolled solve cannot be trusted, the terms of the dense one carry the stabilization."""
    from holonomic.kernels.signatures import Fn
    from holonomic.model.model_base import Bend, Variant
    from holonomic.planning.reuse import model_of

    q, v = np.array([1.1, 0.1]), np.array([0.3, -0.2])
    model = model_of(PENDULUM, q, v, 0.0)
    data = model.data()
    data[model.data_places["gains"].start] = 3.0
    x = np.concatenate([q, v])
    variant = Variant(bend=Bend(integral=True))
    field = model.evaluate(Fn.FIELD, 0.0, x, x, data, variant)
    refined = model.evaluate(Fn.REFINED, 0.0, x, x, data, variant)
    flat = model.evaluate(Fn.TERMS, 0.0, x, x, data, variant)
    M, f, G, gamma = flat[2:6].reshape(2, 2), flat[6:8], flat[8:10].reshape(1, 2), flat[10:]
    solved = np.linalg.solve(np.block([[M, G.T], [G, np.zeros((1, 1))]]), np.concatenate([f, -gamma]))
    np.testing.assert_allclose(np.concatenate([flat[:2], solved]), field[:5], rtol=1e-13)
    np.testing.assert_allclose(refined[:5], field[:5], rtol=1e-13)


# discretizations of the stabilizing term, [ascher-chin-reich-1992] Example 2: z' = 3t², h = z - t³

CUBIC = Ode(lambda t, y: 3 * t**2 + 0 * y, invariants={"h": lambda t, y: y[0] - t**3})


def drift_in_cubes(stabilization, h=0.1, **more):
    sol = simulate(CUBIC, 10.0, y0=[0.0], integrator=Midpoint(), step=h, stabilization=stabilization, **more)
    return (sol.y[-1, 0] - sol.t[-1] ** 3) / h**3


@pytest.mark.parametrize(
    ("stabilization", "limit"),
    [
        (None, -25.0),  # -n/4 after n = 100 steps
        *((ForwardEulerStabilization(alpha=a), -1 / (4 * a)) for a in (0.5, 1.0, 1.5)),
        *((BackwardEulerStabilization(alpha=a), -1 / (4 * a)) for a in (0.5, 1.0, 2.0, 10.0)),
        *((BackwardEulerStabilization(alpha=a, F="1.14"), -1 / (4 * a)) for a in (0.5, 10.0)),
        *((PostStabilization(sweeps=1, alpha=a), -(1 - a) / (4 * a)) for a in (0.5, 1.0, 1.5)),
        (PostStabilization(D="orthogonal", F="1.14", sweeps=1, alpha=0.5), -0.25),
        (Projection(), 0.0),
    ],
    ids=repr,
)
def test_drift_settles_where_example_2_says(stabilization, limit):
    # roundoff of t³ = 1000 in units of h³ is 1e-10; the transient of α = 1.5 is 0.5^100
    assert drift_in_cubes(stabilization) == pytest.approx(limit, abs=1e-8)


def test_gain_is_alpha_over_the_step():
    for make in (ForwardEulerStabilization, BackwardEulerStabilization):
        assert drift_in_cubes(make(gain=5.0)) == pytest.approx(drift_in_cubes(make(alpha=0.5)), rel=1e-12)


def test_only_post_stabilization_and_projection_have_no_bound_on_the_step_of_example_2():
    """y' = -(1 + ν (z - t³)) y decays with (3.4), α = 1, only for h < (4/ν)^(1/3)."""
    nu = 1000.0
    bound = (4 / nu) ** (1 / 3)

    def growth(stabilization, h):
        sol = simulate(CUBIC, 100 * h, y0=[0.0], integrator=Midpoint(), step=h, stabilization=stabilization)
        y = 1.0
        for t, z in zip(sol.t[:-1], sol.y[:-1, 0], strict=True):  # z frozen over the step
            y *= 1 - h * (1 + nu * (z - t**3))
        return abs(y)

    assert growth(ForwardEulerStabilization(), 0.9 * bound) < 1 < growth(ForwardEulerStabilization(), 1.1 * bound)
    assert growth(PostStabilization(), 1.5 * bound) < 1e-10
    assert growth(Projection(), 1.5 * bound) < 1e-10


def amplification(stabilization, h=0.01):
    """What one Euler step does to (G q, G v) of a linear system, [ascher-chin-petzold-reich-1995] Example 1."""
    random = np.random.default_rng(0)
    A, G = random.normal(size=(5, 5)), random.normal(size=(2, 5))
    system = System(mass=A @ A.T + 5 * np.eye(5), force=random.normal(size=5), constraint=lambda q: G @ q)
    back, B = np.linalg.pinv(G), np.zeros((4, 4))
    for j, e in enumerate(np.eye(4)):
        start = {"q0": back @ e[:2], "v0": back @ e[2:], "initial": "free"}
        sol = simulate(system, h, **start, integrator=Euler(), step=h, stabilization=stabilization)
        B[:, j] = np.concatenate([G @ sol.q[-1], G @ sol.v[-1]])
    return B


def test_amplification_matrices_of_a_linear_system():
    h, one, none = 0.01, np.eye(2), np.zeros((2, 2))
    for first, second in ((2 / h, 1 / h**2), (12.0, 70.0)):
        want = np.block([[one, h * one], [-second * h * one, (1 - first * h) * one]])
        np.testing.assert_allclose(amplification(Baumgarte(gains=(first, second))), want, atol=1e-11)
    shift = np.block([[none, h * one], [none, none]])  # s₁ = h r₀, r₁ = 0
    np.testing.assert_allclose(amplification(InvariantStabilization(gain=1 / h)), shift, atol=1e-12)
    np.testing.assert_allclose(amplification(ForwardEulerStabilization()), shift, atol=1e-12)
    halved = np.block([[one, h * one], [none, one]]) / 4
    np.testing.assert_allclose(amplification(BackwardEulerStabilization(alpha=3.0)), halved, atol=1e-12)
    for stabilization in (PostStabilization(), S_both(), S_full(), PostStabilization(on="cheap-full")):
        np.testing.assert_allclose(amplification(stabilization), 0.0, atol=1e-12)


def test_backward_euler_goes_over_into_projection():
    run = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "integrator": Heun(), "step": 0.01}
    far = simulate(PENDULUM, 0.5, **run, stabilization=BackwardEulerStabilization(alpha=1e7))
    projected = simulate(PENDULUM, 0.5, **run, stabilization=Projection(at="new", on="full", tol=1e-13))
    np.testing.assert_allclose(far.q, projected.q, atol=1e-9)  # they differ by 1/α of the drift of a step, 1e-5


@pytest.mark.parametrize(
    "stabilization",
    [
        InvariantStabilization(gain=3.0, D="blocks"),
        ForwardEulerStabilization(),
        BackwardEulerStabilization(alpha=5.0),
        PostStabilization(freeze="inverse"),
        PostStabilization(on="cheap-full"),
        Projection(at="new"),
        Projection(on="full"),
        Projection(D="blocks"),
    ],
    ids=repr,
)
def test_stabilizations_do_what_they_declare(stabilization):
    check_stabilization(stabilization)


def test_alpha_and_beta_of_baumgarte_are_the_gains_of_its_equation():
    """g̈ + 2α ġ + β² g = 0: a start off the constraint returns to it as that equation says."""
    alpha, beta, off = 3.0, 5.0, 0.1
    free = System(mass=np.eye(2), force=[0.0, 0.0], constraint={"line": lambda q: q[1]})
    ways = [Baumgarte(alpha=alpha, beta=beta), Baumgarte(gains=(2 * alpha, beta**2))]
    for stabilization in ways:
        sol = simulate(free, 1.0, q0=[0, off], v0=[1, 0], initial="free", stabilization=stabilization, save_at=11, **TIGHT)
        w = np.sqrt(beta**2 - alpha**2)
        known = off * np.exp(-alpha * sol.t) * (np.cos(w * sol.t) + alpha / w * np.sin(w * sol.t))
        np.testing.assert_allclose(sol.drift.position[:, 0], known, atol=1e-8)
