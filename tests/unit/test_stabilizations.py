"""The stabilizations of invariants: what each does to the residuals, against closed forms and NumPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import (
    RK4,
    RK45,
    AdamsBashforth2,
    BackwardEulerStabilization,
    BadArgument,
    Baumgarte,
    Euler,
    ForwardEulerStabilization,
    Heun,
    IncompatibleMethods,
    InvariantStabilization,
    Midpoint,
    Ode,
    PostStabilization,
    Projection,
    S_both,
    S_full,
    System,
    problems,
    simulate,
)
from holonomic.cli.methods import classes, describe
from holonomic.testing import check_integrator, check_stabilization, promised

PENDULUM = System(mass=np.diag([1.0, 2.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
OFF = {"q0": [1.1, 0.1], "v0": [0.3, -0.2], "initial": "free"}  # a start that misses both levels
TIGHT = {"integrator": RK45(), "rtol": 1e-11, "atol": 1e-12}  # errors below the 1e-8 that is asked for


def residuals(sol):
    return sol.drift["position"][:, 0], sol.drift["velocity"][:, 0]


def full_direction(q, v):
    """Hᵀ of the pendulum with the velocities weighted otherwise: any D with H D regular will do."""
    return np.array([[2 * q[0], 2 * v[0]], [2 * q[1], 2 * v[1]], [0, 6 * q[0]], [0, 6 * q[1]]])


# continuous stabilization


@pytest.mark.parametrize("D", ["orthogonal", "blocks", "mass", "B", full_direction], ids=str)
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
    system = System(
        mass=np.eye(2), force=[0.0, -9.81], constraint=lambda t, q: q[0] ** 2 + q[1] ** 2 - 1 - 0.1 * np.sin(t)
    )
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
        sol = simulate(
            ode, 1.0, y0=[1.2, 0.0], **TIGHT, initial="free", stabilization=InvariantStabilization(gain=0.5, F=F)
        )
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
    ode = Ode(
        lambda y: np.array([y[1], -y[0]]) + y * np.cbrt(y @ y - 1) / (y @ y), invariants={"h": lambda y: y @ y - 1}
    )
    run = {"y0": [1.3, 0.0], "integrator": RK4(), "step": 0.01, "initial": "free"}
    sol = simulate(ode, 20.0, **run, stabilization=InvariantStabilization(gamma=gain))
    # the way there takes as long as exp(-2γt/3) allows: 1e-6 is safe
    assert sol.y[-1] @ sol.y[-1] - 1 == pytest.approx((2 / gain) ** 1.5, abs=1e-6)


def test_dense_solve_gives_the_same_bent_field():
    """Where the unrolled solve cannot be trusted, the terms of the dense one carry the stabilization."""
    from holonomic.kernels.signatures import Fn
    from holonomic.model.base import Bend, Variant
    from holonomic.reuse import model_of

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


# post-stabilization: directions and freezing


def test_kepler_is_corrected_along_the_velocity():
    """[ascher-chin-reich-1992] Table 3.1, forward Euler, h = .001π: .12e-3 and .24e-3 (truncated); along
    Eᵀ, as the text has it, 4.8391e-5 and 9.7273e-5."""

    def rhs(y):
        return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])

    energy = {"energy": lambda y: (y[2] ** 2 + y[3] ** 2) / 2 - 1 / np.sqrt(y[0] ** 2 + y[1] ** 2)}
    kepler = Ode(rhs, invariants=energy)
    ends = []
    for way in (
        {"D": lambda y: np.array([0, 0, y[2], y[3]])},
        {"metric": (np.inf, np.inf, 1.0, 1.0)},  # weights that let nothing else move
        {"D": "orthogonal"},
    ):
        sol = simulate(
            kepler, 4 * np.pi, y0=[0.5, 0, 0, np.sqrt(3)], integrator=Euler(), step=0.001 * np.pi,
            stabilization=PostStabilization(sweeps=1, **way),
        )  # fmt: skip
        ends.append([sol.y[2000, 1], sol.y[-1, 1]])
    np.testing.assert_allclose(ends[0], [1.2665e-4, 2.4218e-4], rtol=1e-4)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    np.testing.assert_allclose(ends[2], [4.8391e-5, 9.7273e-5], rtol=1e-4)


def test_the_cheap_form_is_the_block_direction_written_out():
    """D = diag(Gᵀ, Gᵀ) in F = D (H D)⁻¹ gives (4.6)."""
    run = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "integrator": Heun(), "step": 0.02}
    cheap = simulate(PENDULUM, 1.0, **run, stabilization=PostStabilization(on="cheap-full", sweeps=1))
    general = simulate(PENDULUM, 1.0, **run, stabilization=PostStabilization(D="blocks", sweeps=1))
    plain = simulate(PENDULUM, 1.0, **run, stabilization=S_both())
    np.testing.assert_allclose(cheap.v, general.v, atol=1e-13)
    assert np.max(np.abs(cheap.v - plain.v)) > 1e-9  # the coupling is there: it changes 7e-9 on a circle


def field(q, v):
    """Accelerations of PENDULUM by NumPy."""
    M, G = np.diag([1.0, 2.0]), 2 * q[None, :]
    right = np.array([0.0, -9.81, -2 * v @ v])
    return np.linalg.solve(np.block([[M, G.T], [G, np.zeros((1, 1))]]), right)[:2]


def heun(q, v, h):
    """Predicted point, and the last stage."""
    a = field(q, v)
    q1, v1 = q + h * v, v + h * a
    b = field(q1, v1)
    return q + h / 2 * (v + v1), v + h / 2 * (a + b), q1


def sweeps(q, v, inverse_at, front):
    """Two sweeps of S_both; `front(k, q)` is the point whose Gᵀ stands in front of the inverse in sweep k."""
    S = 4 * inverse_at @ inverse_at
    for k in range(2):
        P = 2 * front(k, q) / S
        q, v = q - P * (q @ q - 1), v - P * (2 * q @ v)
    return q, v


@pytest.mark.parametrize("freeze", ["predicted", "inverse", "stage"])
def test_factors_come_from_where_freeze_says(freeze):
    h = 0.05
    q, v, stage = heun(np.array([1.0, 0.0]), np.array([0.0, -1.0]), h)
    if freeze == "predicted":
        want = sweeps(q, v, q, lambda k, now: q)
    elif freeze == "inverse":
        want = sweeps(q, v, q, lambda k, now: now)
    else:
        want = sweeps(q, v, stage, lambda k, now: stage)
    run = {"q0": [1.0, 0.0], "v0": [0.0, -1.0], "integrator": Heun(), "step": h}
    sol = simulate(PENDULUM, h, **run, stabilization=PostStabilization(freeze=freeze))
    np.testing.assert_allclose(sol.q[-1], want[0], atol=1e-15)
    np.testing.assert_allclose(sol.v[-1], want[1], atol=1e-14)


def test_kept_factors_serve_the_next_steps():
    h = 0.05
    q, v, at = np.array([1.0, 0.0]), np.array([0.0, -1.0]), None
    for step in range(4):
        q, v, _ = heun(q, v, h)
        at = q if step in (0, 3) else at  # factored in the first step, kept for three
        q, v = sweeps(q, v, at, lambda k, now, at=at: at)
    run = {"q0": [1.0, 0.0], "v0": [0.0, -1.0], "integrator": Heun(), "step": h}
    runs = [simulate(PENDULUM, 4 * h, **run, stabilization=PostStabilization(keep=3)) for _ in range(2)]
    np.testing.assert_allclose(runs[0].q[-1], q, atol=1e-14)
    np.testing.assert_allclose(runs[0].v[-1], v, atol=1e-13)
    assert np.array_equal(runs[0].q, runs[1].q)  # nothing is remembered of the first run


def test_kept_factors_do_not_depend_on_what_is_saved():
    run = {"q0": [1.0, 0.0], "v0": [0.0, -1.0], "integrator": Heun(), "step": 0.01}
    kept = [simulate(PENDULUM, 1.0, **run, save_at=n, stabilization=PostStabilization(keep=4)) for n in (2, 38)]
    assert np.array_equal(kept[0].q[-1], kept[1].q[-1])


@pytest.mark.parametrize(
    ("stabilization", "velocity", "position"),
    [
        # [ascher-chin-petzold-reich-1995] Table 6.1, h = .01, as recomputed; S-both² printed .67e-8
        (PostStabilization(freeze="inverse"), 6.659e-9, None),
        (PostStabilization(), 4.0e-9, None),
        (S_full(), 1.233e-8, 6.108e-10),
        (S_both(), 1.609e-4, 3.901e-10),
        (Baumgarte(gains=(12, 70)), 7.197e-3, 1.449e-3),
    ],
    ids=repr,
)
def test_two_link_arm_drifts_as_in_table_6_1(stabilization, velocity, position):
    sol = simulate(problems.two_link_arm("I"), 40.0, integrator=Heun(), step=0.01, stabilization=stabilization)
    # the values are known to four digits and move by less than 1e-4 with roundoff
    assert np.max(np.abs(sol.drift["velocity"])) == pytest.approx(velocity, rel=2e-3)
    if position is not None:
        assert np.max(np.abs(sol.drift["position"])) == pytest.approx(position, rel=2e-3)


def test_kept_and_stage_factors_reach_the_orders_they_declare():
    problem = problems.two_link_arm("I")
    for stabilization in (PostStabilization(keep=3), PostStabilization(freeze="stage")):
        sizes = []
        for h in (0.02, 0.01):
            sol = simulate(problem, 4.0, integrator=Heun(), step=h, stabilization=stabilization)
            sizes.append(np.max(np.abs(sol.drift["velocity"])))
        order = np.log2(sizes[0] / sizes[1])
        # half an order: two steps, and a drift that depends on where in the turn of three steps the worst point lies
        assert order >= promised(stabilization.drift_order, 2)[1] - 0.5


# projection


@pytest.mark.parametrize("on", ["both", "full"])
def test_projection_is_orthogonal_at_the_point_its_directions_are_taken(on):
    shape = np.array([0.25, 1.0])  # of an ellipse: on a circle all normals through a point are one
    wire = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ (shape * q) - 1)
    h = 0.1
    run = {"q0": [np.sqrt(2), np.sqrt(0.5)], "v0": [2.0, -1.0], "integrator": Heun(), "step": h}
    free = simulate(wire, h, **run, stabilization=None)
    tangential = {}
    for at in ("predicted", "new"):
        sol = simulate(wire, h, **run, stabilization=Projection(at=at, on=on, tol=1e-13))
        assert np.max(np.abs(sol.drift["position"][-1])) < 1e-12
        way = np.concatenate([free.q[-1] - sol.q[-1], free.v[-1] - sol.v[-1]])[: 2 if on == "both" else 4]
        for name, point in (("predicted", free), ("new", sol)):
            G, L = 2 * shape * point.q[-1], 2 * shape * point.v[-1]
            H = G[None, :] if on == "both" else np.block([[G, np.zeros(2)], [L, G]])
            rest = way - H.T @ np.linalg.lstsq(H.T, way, rcond=None)[0]
            tangential[at, name] = np.linalg.norm(rest) / np.linalg.norm(way)
    for at, other in (("predicted", "new"), ("new", "predicted")):
        # tolerance over the length of the way, 1e-13 / 1e-3; the normals at the two points differ by about 1e-3
        assert tangential[at, at] < 1e-9
        assert tangential[at, other] > 1e-6


def test_projection_moves_along_a_direction_of_the_user():
    run = {"q0": [1.0, 0.0], "v0": [0.0, -1.0], "integrator": Heun(), "step": 0.1}
    free = simulate(PENDULUM, 0.1, **run, stabilization=None)

    def along(q, v):  # the first coordinate and its velocity alone
        return np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]) + 0 * q[0]

    sol = simulate(PENDULUM, 0.1, **run, stabilization=Projection(D=along))
    assert sol.q[-1, 1] == free.q[-1, 1] and sol.v[-1, 1] == free.v[-1, 1]
    assert np.max(np.abs(sol.drift["position"])) < 1e-9 and np.max(np.abs(sol.drift["velocity"])) < 1e-9


# Adams-Bashforth


def test_adams_bashforth_does_what_it_declares():
    check_integrator(AdamsBashforth2())


def test_adams_bashforth_begins_with_euler_and_looks_one_step_back():
    ode, h = Ode(lambda t, y: np.cos(t) - y), 0.1
    y, before = 1.0, None
    for n in range(3):
        f = np.cos(n * h) - y
        y += h * f if before is None else h * (1.5 * f - 0.5 * before)
        before = f
    # the last step is half as long: its weights follow from the line through the two slopes
    f = np.cos(3 * h) - y
    y += 0.5 * h * (1.25 * f - 0.25 * before)
    sol = simulate(ode, 3.5 * h, y0=[1.0], integrator=AdamsBashforth2(), step=h)
    assert sol.y[-1, 0] == pytest.approx(y, abs=1e-15)


def test_slider_crank_drifts_as_recomputed_for_example_4():
    """[ascher-chin-reich-1992] Example 4: h = .1, (3.9) with (4.8); the Euler start leaves a spike in the drift."""
    run = {"integrator": AdamsBashforth2(), "step": 0.1}
    both = simulate(problems.slider_crank(), 10.0, **run, stabilization=S_both())
    g, gv = (np.max(np.abs(both.drift[level]), axis=1) for level in ("position", "velocity"))
    assert np.max(g) == pytest.approx(2.22e-7, rel=0.02) and np.max(gv) == pytest.approx(7.48e-4, rel=0.02)
    assert g[1] > 5 * g[2] and gv[1] > 5 * gv[2]
    free = simulate(problems.slider_crank(), 10.0, **run, stabilization=None)
    assert np.max(np.abs(free.drift["position"])) == pytest.approx(0.0111, rel=0.02)


# what they say of themselves, and what they refuse


def test_methods_list_shows_what_each_does():
    known = {name: describe("stabilization", method) for name, method in classes("stabilization").items()}
    for name, acts in (
        ("InvariantStabilization", "field"), ("ForwardEulerStabilization", "step"),
        ("BackwardEulerStabilization", "step"), ("PostStabilization", "step"), ("Baumgarte", "field"),
    ):  # fmt: skip
        assert known[name]["acts"] == acts
        assert len(promised(known[name]["drift_order"], 2)) == 2
        assert "ascher-chin-reich-1992" in known[name]["references"]
    assert not [name for name in known if name.startswith("_")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InvariantStabilization(), "needs gain="),
        (lambda: InvariantStabilization(gain=1, gamma=1), "the same thing"),
        (lambda: InvariantStabilization(gain=1, F="1.15"), "F='1.15': choose"),
        (lambda: InvariantStabilization(gain=1, D="sideways"), "D='sideways': choose"),
        (lambda: InvariantStabilization(gain=1, F="1.8", D="mass"), 'use F="1.14"'),
        (lambda: InvariantStabilization(F="1.14", integral=True), "integral=True needs"),
        (lambda: ForwardEulerStabilization(alpha=2.5), "between 0 and 2"),
        (lambda: BackwardEulerStabilization(alpha=1, gain=1), "give one of them"),
        (lambda: BackwardEulerStabilization(gain=1, F="1.14"), "needs alpha="),
        (lambda: PostStabilization(freeze="now"), "freeze='now': choose"),
        (lambda: PostStabilization(keep=0), "keep=0 must be"),
        (lambda: PostStabilization(D="mass", metric="mass"), "give one of them"),
        (lambda: PostStabilization(F="1.14"), "needs D="),
        (lambda: Projection(at="old"), "at='old': choose"),
        (lambda: Baumgarte(gains=(1, -1)), "must not be negative"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(make, message):
    with pytest.raises(BadArgument, match=message):
        make()


@pytest.mark.parametrize(
    ("stabilization", "run", "message"),
    [
        (PostStabilization(freeze="stage"), {"integrator": Midpoint()}, "Midpoint has none at the end"),
        (InvariantStabilization(gain=300.0), {"integrator": RK4()}, r"γ h = 3 > 2 is unstable with RK4.*gain <= 200"),
        (InvariantStabilization(gain=150.0), {"integrator": AdamsBashforth2()}, "> 1 is unstable"),
    ],
    ids=repr,
)
def test_combinations_that_cannot_work_name_a_way_out(stabilization, run, message):
    with pytest.raises(IncompatibleMethods, match=message):
        simulate(PENDULUM, 1.0, q0=[1, 0], v0=[0, 0], step=0.01, **run, stabilization=stabilization)


def test_directions_of_a_system_are_refused_for_an_ode():
    for stabilization in (
        PostStabilization(D="mass"),
        PostStabilization(on="cheap-full"),
        InvariantStabilization(1.0, F="4.8"),
    ):
        with pytest.raises(IncompatibleMethods, match="a System alone has"):
            simulate(CUBIC, 1.0, y0=[0.0], integrator=Euler(), step=0.1, stabilization=stabilization)
    with pytest.raises(IncompatibleMethods, match='D="B" belongs to constraints'):
        simulate(CUBIC, 1.0, y0=[0.0], integrator=Euler(), step=0.1, stabilization=PostStabilization(D="B"))


def test_what_needs_tracing_is_refused_without_it():
    plain = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ q - 1, trace=False)
    with pytest.raises(IncompatibleMethods, match="trace=False"):
        simulate(
            plain, 1.0, q0=[1, 0], v0=[0, 0], step=0.01, integrator=RK4(), stabilization=InvariantStabilization(1.0)
        )
