"""States inside steps of methods that hold the constraints at the ends of their steps by themselves."""

import numpy as np
import pytest

import holonomic as h

SWING = h.System(mass=np.diag([1.0, 3.0]), force=lambda: [0.0, -29.43], constraint={"rod": lambda q: q @ q - 1.0})
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.5]}
BOTH = [
    {"integrator": h.RATTLE(), "step": 0.01}, {"integrator": h.LobattoIIIAB(), "step": 0.02},
    {"integrator": h.RATTLE(), "step": 0.01, "stabilization": None},
    {"integrator": h.BDF(), "formulation": h.GGL()}, {"integrator": h.BDF(), "formulation": h.GGL(), "step": 0.01},
    {"integrator": h.FixedBDF(3), "formulation": h.GGL(), "step": 0.01},
]  # fmt: skip


def off(states):
    position = np.max(np.abs(np.sum(states.q**2, axis=1) - 1.0))
    return position, np.max(np.abs(np.sum(states.q * states.v, axis=1)))


@pytest.mark.parametrize("methods", BOTH, ids=str)
def test_saved_times_and_dense_output_are_on_the_constraints(methods):
    times = np.linspace(0.0, 2.0, 78)[1:-1]
    saved = h.simulate(SWING, 2.0, **START, **methods, save_at=times)
    assert max(off(saved)) < 1e-10  # 1e-4 by BDF with steps of 0.01, 4e-7 with steps chosen by error
    assert max(off(h.simulate(SWING, 2.0, **START, **methods)(times))) < 1e-10


def test_with_index_3_positions_are():
    times = np.linspace(0.0, 2.0, 78)
    methods = {"integrator": h.GeneralizedAlpha(), "formulation": h.Index3(), "step": 0.01}
    assert off(h.simulate(SWING, 2.0, **START, **methods, save_at=times))[0] < 1e-9  # 1e-5


@pytest.mark.parametrize("methods", BOTH, ids=str)
def test_steps_are_the_same_with_and_without_times_to_save(methods):
    every = h.simulate(SWING, 2.0, **START, **methods)
    saved = h.simulate(SWING, 2.0, **START, **methods, save_at=50)
    assert np.array_equal(every.q[-1], saved.q[-1])


def test_members_of_a_sweep_are_on_the_constraints():
    v0 = [[0.0, 0.4], [0.0, 0.5]]
    runs = h.sweep(SWING, 2.0, q0=START["q0"], v0=v0, integrator=h.RATTLE(), step=0.01, save_at=77, progress=False)
    for m in range(2):
        assert max(off(runs[m])) < 1e-10
