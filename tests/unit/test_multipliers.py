"""sol.lam is λ(q, v), whatever the method: what it solved for itself loses powers of h with index 2 and 3."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    GGL,
    RATTLE,
    BackwardEuler,
    Event,
    FixedBDF,
    GeneralizedAlpha,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    Radau,
    StrangenessFree,
    System,
    Trapezoidal,
    UnderlyingODE,
    load,
    simulate,
    sweep,
)

G = 9.81
# λ of the mass 2 kg on a rod of 1 m, released where the rod is level: 2 λ q = the rod's pull, and m v² = 2 m g |y|
pendulum = System(
    mass=2 * np.eye(2), potential=lambda q: 2 * G * q[1], constraint={"rod": lambda q: q @ q - 1},
    outputs={"pull": lambda lam: 2 * lam[0]},
)  # fmt: skip
START = {"q0": [1, 0], "v0": [0, 0], "stabilization": None}


def pull(sol):
    """The rod's pull over 2, by the height alone."""
    return -3 * G * sol.q[:, 1]


@pytest.mark.parametrize(("integrator", "formulation"), [
    (BDF(), Index3()), (BDF(), GGL()), (BDF(), Index2()), (Radau(), Index3()), (Radau(), Index2()),
], ids=repr)  # fmt: skip
def test_multipliers_are_as_accurate_as_the_states_under_error_control(integrator, formulation):
    sol = simulate(pendulum, 5.0, formulation=formulation, integrator=integrator, rtol=1e-5, **START)
    # λ = (m v² + m g·(-q)) / (2 q²): its error is a few times that of v, of which the energy tells; v reaches 4.4
    allowed = 20 * np.abs(np.sum(sol.v**2, axis=1) + 2 * G * sol.q[:, 1]).max() + 1e-6
    assert allowed < 3.0  # Index3 with BDF leaves 0.12 in v² after five seconds; its own λ is off by 600
    assert np.abs(sol.lam[:, 0] - pull(sol)).max() < allowed
    assert np.abs(sol["pull"] - 2 * sol.lam[:, 0]).max() == 0


EVERY = [
    (BDF(), Index3()), (Radau(), GGL()), (BDF(), UnderlyingODE()), (FixedBDF(3), Index3()), (Trapezoidal(), Index2()),
    (Trapezoidal(), Index3()), (BackwardEuler(), Overdetermined()), (GeneralizedAlpha(), Index3()), (RATTLE(), Index3()),
    (Radau(), Index1()), (BDF(), StrangenessFree()),
]  # fmt: skip


@pytest.mark.parametrize(("integrator", "formulation"), EVERY, ids=repr)
def test_accelerations_and_multipliers_belong_together(integrator, formulation):
    """M v' + Gᵀλ = f in every row, in kept and saved ones, at events and in a sweep."""
    given = START | {"formulation": formulation, "integrator": integrator}
    given |= {} if integrator.adaptive else {"step": 0.01}
    events = {"events": {"low": Event(lambda q: q[0])}} if not isinstance(integrator, FixedBDF) else {}
    sol = simulate(pendulum, 0.8, **given, **events)
    swept = sweep(pendulum, 0.8, save_at=9, **(given | {"v0": [[0, 0], [0, 1]]}))
    for found in (sol, simulate(pendulum, 0.8, save_at=9, **given), swept, *sol.events.values()):
        left = 2 * found.a + 2 * found.lam * found.q - [0, -2 * G]
        assert np.abs(left).max() < 1e-12 * G
    assert np.array_equal(sol.end.lam, sol.lam[-1])


def test_what_a_formulation_solved_for_is_found_by_name(tmp_path):
    given = START | {"formulation": GGL(), "integrator": BDF(), "rtol": 1e-5}
    sol = simulate(pendulum, 1.0, **given)
    assert set(sol.unknowns) == {"lam", "mu"} and sol.unknowns["mu"].shape == (len(sol.t), 1)
    own = np.abs(sol.unknowns["lam"] - sol.lam).max()
    assert 1e-4 < own < 1.0  # a tolerance of 1e-5 over a step
    assert sol(0.5).unknowns["lam"].shape == (1,)
    assert simulate(pendulum, 1.0, q0=[1, 0], v0=[0, 0]).unknowns == {}


@pytest.mark.parametrize("formulation", [GGL(), Index1(), None], ids=repr)
def test_a_saved_run_holds_what_its_formulation_solved_for(tmp_path, formulation):
    given = START if formulation is None else START | {"formulation": formulation, "integrator": BDF(), "rtol": 1e-5}
    sol = simulate(pendulum, 1.0, **given)
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    loaded.save(tmp_path / "again.nc")
    for found in (loaded, load(tmp_path / "again.nc")):
        assert list(found.unknowns) == list(sol.unknowns)
        assert all(np.array_equal(found.unknowns[name], values) for name, values in sol.unknowns.items())
        assert {name: values.shape for name, values in found(0.5).unknowns.items()} == dict.fromkeys(sol.unknowns, (1,))
