"""Post-stabilization and projection: directions, frozen and kept factors, against NumPy and published tables."""

import numpy as np
import pytest

from holonomic import Baumgarte, Euler, Heun, Ode, PostStabilization, Projection, S_both, S_full, System, problems, simulate
from holonomic.testing import promised

PENDULUM = System(mass=np.diag([1.0, 2.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)


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
