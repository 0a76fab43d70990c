"""Many steppers that go on together: the numbers of single ones, inputs of each, failures of one, starts to begin again with."""

import numpy as np
import pytest

from holonomic import BDF, GGL, RK4, BadArgument, BatchStepper, Radau, Stepper, System, UnknownArgument
from holonomic.multibody import Mechanism, rod

START = {"q0": [0.0, np.sin(0.1), np.cos(0.1)], "v0": [0.0, 0.0, 0.0]}


def cart_pole(**more):
    return System(
        mass=np.diag([1.0, 0.2, 0.2]), force=lambda q, u: [u.push, 0.0, -0.2 * 9.81], inputs={"push": 0.0},
        constraint={"pole": lambda q: (q[1] - q[0]) ** 2 + q[2] ** 2 - 1.0},
        outputs={"angle": lambda q: np.arctan2(q[1] - q[0], q[2]), "pull": lambda lam, u: [lam[0], u.push],
                 "over": lambda q: np.abs(q[0]) > 0.01},
        **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "methods",
    [{}, {"integrator": RK4, "step": 0.01}, {"integrator": Radau, "formulation": GGL}, {"integrator": BDF, "formulation": GGL}],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_member_is_a_stepper_bit_for_bit(methods, workers):
    batch = BatchStepper(cart_pole(), 70, **START, workers=workers, **methods)
    pushes = np.random.default_rng(2).normal(size=(10, 70))
    for push in pushes:
        assert batch.step(0.02, u={"push": push}) == {}
    for m in (0, 33, 69):
        alone = Stepper(cart_pole(), **START, **methods)
        for push in pushes:
            alone.step(0.02, u={"push": push[m]})
        assert batch.t[m] == alone.t
        assert np.array_equal(batch.q[m], alone.q) and np.array_equal(batch.v[m], alone.v)
        for name, value in alone.outputs.items():
            assert np.array_equal(batch.outputs[name][m], value)


def test_members_begin_again_with_the_starts_that_are_prepared():
    angles = np.array([0.1, 0.2, 0.3])
    starts = np.column_stack([np.zeros(3), np.sin(angles), np.cos(angles)])
    batch = BatchStepper(cart_pole(), 5, q0=starts, v0=[0.0, 0.0, 0.0])
    np.testing.assert_allclose(batch.outputs["angle"], [0.1, 0.2, 0.3, 0.1, 0.2])
    batch.step(0.1, u={"push": 1.0}, members=np.array([True, False, True, True, True]))
    assert batch.t.tolist() == [0.1, 0.0, 0.1, 0.1, 0.1]
    went = batch.q
    batch.reset(np.array([0, 2]), starts=[2, 2])
    np.testing.assert_allclose(batch.outputs["angle"][[0, 2]], [0.3, 0.3])
    assert np.array_equal(batch.q[3:], went[3:]) and batch.t.tolist() == [0.0, 0.0, 0.0, 0.1, 0.1]
    batch.step(0.1)  # those that began again do so without a push
    free = Stepper(cart_pole(), q0=starts[2], v0=np.zeros(3))
    free.step(0.1)
    assert np.array_equal(batch.q[0], free.q)
    batch.prepare(q0=[0.0, 0.0, 1.0])
    batch.reset()
    assert batch.starts == 1 and np.array_equal(batch.q, np.tile([0.0, 0.0, 1.0], (5, 1)))


def test_one_that_fails_leaves_the_others_alone():
    wall = System(mass=np.eye(1), force=lambda q: [1.0 / (1.0 - q[0])], outputs={"gap": lambda q: 1.0 - q[0]})
    batch = BatchStepper(wall, 3, q0=[[0.0], [-50.0], [0.9]], v0=[1.0])
    failed = batch.step(0.3)
    assert list(failed) == [2] and ("NaN" in failed[2] or "step" in failed[2])
    assert batch.t[:2].tolist() == [0.3, 0.3] and 0.0 < batch.t[2] < 0.3 and batch.q[2, 0] < 1.0
    batch.reset([2], starts=[1])
    assert batch.step(0.3, members=np.array([False, False, True])) == {} and batch.q[2, 0] == batch.q[1, 0]


def test_a_linkage_passes_its_singular_positions_in_a_batch_and_in_a_stepper():
    m = Mechanism(gravity=(0, 0))
    crank = m.body("crank", rod((0, 0), (0, 1), mass=1.0))
    coupler = m.body("coupler", rod((0, 1), (2, 1), mass=1.0))
    rocker = m.body("rocker", rod((2, 0), (2, 1), mass=1.0))
    m.revolute("O", m.ground, crank, at=(0, 0))
    m.revolute("A", crank, coupler, at=(0, 1))
    m.revolute("B", coupler, rocker, at=(2, 1))
    m.revolute("C", m.ground, rocker, at=(2, 0))
    m.assemble({"O": 0.3}, speeds={"O": 3.0})
    alone, batch = Stepper(m), BatchStepper(m, 2)
    for _ in range(120):  # more than five turns, two flat positions in each
        alone.step(0.1)
        assert batch.step(0.1) == {}
    bodies = batch.q[0].reshape(3, 3)
    assert bodies[1, 2] == pytest.approx(0.0, abs=1e-5)  # the coupler stays level: it is the same branch
    np.testing.assert_allclose(alone.q, batch.q[0], atol=1e-4)


def test_it_says_what_it_is():
    batch = BatchStepper(cart_pole(), 3, **START)
    assert len(batch) == 3 and repr(batch).startswith("BatchStepper(3 members, ")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda b: BatchStepper(cart_pole(), 0, **START), "BatchStepper: count=0 must be a whole number, at least 1."),
        (lambda b: BatchStepper(cart_pole(), 2, **START, workers=0), "workers=0 must be a whole number, at least 1."),
        (lambda b: BatchStepper(cart_pole(trace=False), 2, **START),
         "BatchStepper needs a compiled system: its functions run as Python, which Stepper can."),
        (lambda b: BatchStepper(cart_pole(), 2, **START, inputs={"push": ([0, 1], [0, 1])}),
         "BatchStepper takes inputs as numbers: set those of a table in step(dt, u={...})."),
        (lambda b: BatchStepper(cart_pole(), 2, q0=[START["q0"]] * 2, v0=[START["v0"]] * 3),
         "all arrays of starts must have equal length, at least 1, got q0 2, v0 3."),
        (lambda b: b.step(0.0), "step(dt): dt must be a time above 0 that changes t, got 0.0."),
        (lambda b: b.step(0.1, u={"pull": 1.0}), "step(u=...) has no input 'pull' that can be set. Known: push."),
        (lambda b: b.step(0.1, u={"push": [1.0, 2.0, 3.0]}),
         "step(u=...): input 'push' has shape (3,), expected one number, or (2,)."),
        (lambda b: b.step(0.1, u={"push": np.nan}), "step(u=...): input 'push' must be finite, got nan."),
    ],
)  # fmt: skip
def test_bad_input_gets_plain_words(call, text):
    batch = BatchStepper(cart_pole(), 2, **START)
    with pytest.raises(BadArgument) as problem:
        call(batch)
    assert str(problem.value) == text
    assert batch.step(0.1) == {}
    with pytest.raises(UnknownArgument, match="BatchStepper has no argument 'n'"):
        BatchStepper(cart_pole(), 2, **START, n=3)
    with pytest.raises(UnknownArgument, match="BatchStepper has no argument 'q_0'"):
        batch.prepare(q_0=[0.0])
