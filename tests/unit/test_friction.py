"""Forces that depend on the multipliers: friction, in every formulation, and where it leaves no multipliers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import (
    DOP853,
    GGL,
    RK4,
    BackwardEuler,
    Dae,
    FixedBDF,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    ProjectedInvariants,
    Radau,
    SingularPosition,
    StateSpace,
    StrangenessFree,
    System,
    UnderlyingODE,
    problems,
    simulate,
    sweep,
)
from holonomic.problems.wheelset import contact, gap, normal_row, tangency

G, MU, SOFT = 9.81, 0.2, 1e-2  # friction turns with the speed over SOFT m/s


def wire(mu=MU) -> System:
    """A bead on a circular wire; the wire presses with 2 λ, and friction is mu times that."""
    return System(
        mass=np.eye(2),
        force=lambda q, v, lam, p: np.array([0, -G]) - 2 * p.mu * np.abs(lam[0]) * v / np.sqrt(v @ v + SOFT**2),
        constraint={"wire": lambda q: q @ q - 1},
        params={"mu": mu},
    )


ANGLE, SPEED, END = 1.4, 0.5, 0.5
START = {"q0": [np.sin(ANGLE), -np.cos(ANGLE)], "v0": [SPEED * np.cos(ANGLE), SPEED * np.sin(ANGLE)]}


def known(times):
    """Angle from below and its rate, by SciPy from the equation in that one coordinate."""

    def rate(t, y):
        angle, w = y
        N = abs(w * w + G * np.cos(angle))
        return [w, -G * np.sin(angle) - MU * N * w / np.sqrt(w * w + SOFT**2)]

    return solve_ivp(rate, (0, END), [ANGLE, SPEED], t_eval=times, rtol=1e-12, atol=1e-12).y


@pytest.mark.parametrize(
    ("formulation", "integrator", "given", "most"),
    [
        (Index1(), DOP853(), {"rtol": 1e-9, "atol": 1e-9}, 1e-7),
        (Index1(), RK4(), {"step": 1e-3}, 1e-7),
        *(
            (formulation, Radau(), {"rtol": 1e-8, "atol": 1e-8}, 3e-6 if formulation == Index3() else 1e-6)
            for formulation in (
                Index1(), Index2(), Index3(), GGL(), ProjectedInvariants("Pa"), ProjectedInvariants("Pb"),
                UnderlyingODE(), StrangenessFree(), StateSpace(),
            )
        ),
        (Overdetermined(), FixedBDF(3), {"step": 5e-4}, 1e-5),
    ],
    ids=repr,
)  # fmt: skip
def test_friction_on_unknown_normal_forces(formulation, integrator, given, most):
    times = np.linspace(0, END, 6)
    sol = simulate(wire(), END, **START, formulation=formulation, integrator=integrator, save_at=times, **given)
    angle, w = known(times)
    assert np.abs(sol.q - np.array([np.sin(angle), -np.cos(angle)]).T).max() < most
    # λ loses a power of h in index 2, two in index 3
    loss = 1e4 if formulation.index == 3 else 1e3
    assert np.abs(2 * sol.lam[:, 0] - (w * w + G * np.cos(angle))).max() < loss * most


def test_friction_in_a_sweep_and_as_a_dae():
    runs = sweep(wire(), END, **START, params={"mu": [0.0, MU]}, save_at=3)
    assert not runs.failed
    angle, _ = known([END])
    assert runs.q[1, -1] == pytest.approx([np.sin(angle[0]), -np.cos(angle[0])], abs=1e-5)
    as_dae = Dae(
        order=2,
        f=lambda x, dx, y: np.array([0, -G]) - 2 * MU * np.abs(y[0]) * dx / np.sqrt(dx @ dx + SOFT**2),
        B=lambda x: 2 * x[:, None],
        g=lambda x: x @ x - 1,
    )
    for formulation in (Index1(), Index2(), ProjectedInvariants("Pb")):
        sol = simulate(as_dae, END, x0=START["q0"], dx0=START["v0"], formulation=formulation, integrator=Radau(), rtol=1e-8)
        assert sol.x[-1] == pytest.approx([np.sin(angle[0]), -np.cos(angle[0])], abs=1e-6)


def rod(mu) -> System:
    """A rod whose lower end slides on the floor: Painlevé's example. λ is minus the normal force."""

    def force(q, v, lam):
        slip = np.tanh(50 * (v[0] + np.sin(q[2]) * v[2]))
        return np.array([mu * lam[0] * slip, -G, mu * lam[0] * slip * np.sin(q[2])])

    return System(mass=np.diag([1.0, 1.0, 1 / 3]), force=force, constraint={"floor": lambda q: q[1] - np.sin(q[2])})


@pytest.mark.parametrize(
    ("formulation", "given"),
    [(Index1(), {"integrator": DOP853()}), (Index2(), {"integrator": Radau()}),
     (GGL(), {"integrator": BackwardEuler(), "step": 1e-3})],
    ids=repr,
)  # fmt: skip
def test_painleves_paradox_is_named(formulation, given):
    start = {"q0": [0, np.sin(1.0), 1.0], "v0": [-2.0, 0, 0]}
    # 1 + 3 c (c - mu s) is -1.5 for mu = 2.5, c and s of 1 rad; 1.5 for mu = 0.3
    with pytest.raises(SingularPosition, match=r"λ is not unique or does not exist \(Painlevé's paradox\)"):
        simulate(rod(2.5), 0.1, **start, formulation=formulation, **given)
    assert simulate(rod(0.3), 0.1, **start, formulation=formulation, **given).t[-1] == 0.1


# the wheelset: friction, contact in closed form


def test_contact_of_the_wheelset_obeys_tangency():
    random = np.random.default_rng(4)
    for side in (1.0, -1.0):
        for _ in range(5):
            x = np.array([5e-3, 1e-5, 0.0, 0.02, 2e-3, 0.0]) * random.uniform(-1, 1, 6)
            c = contact(x, side)
            assert max(map(abs, tangency(c))) < 1e-15
            sides = [[gap(z, contact(z, side)) for z in (x + e, x - e)] for e in 1e-6 * np.eye(6)]
            ends = [(ahead - behind) / 2e-6 for ahead, behind in sides]
            # central differences of numbers of size 0.1 with rounding 1e-17
            np.testing.assert_allclose(normal_row(c), ends[:5], atol=1e-9)


def test_index_1_flies_and_projection_cures_it():
    problem = problems.wheelset(t_end=2.0)
    given = {"formulation": Index1(), "integrator": Radau(), "rtol": 1e-4, "atol": 1e-4}
    free, held = simulate(problem, **given, stabilization=None), simulate(problem, **given)
    assert np.abs(free.drift["position"][-1]).max() > 1e-8
    assert np.abs(held.drift["position"]).max() < 1e-11
