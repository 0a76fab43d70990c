"""What a solution gives: reactions, outputs and other quantities by name, drift, energy, multipliers."""

import copy

import numpy as np
import pytest

from holonomic import BDF, BadArgument, Event, Ode, Projection, Radau, RedundancyWarning, System, UnknownName, load, simulate
from holonomic.multibody import Mechanism
from holonomic.problems import kepler, pendulum, seven_body

TIMES = np.linspace(0.013, 1.987, 97)  # inside a run of 2 s, on no step


# reactions


def test_hanging_mass_reads_plus_m_g():
    rod = System(mass=2.0 * np.eye(2), force=[0, -2.0 * 9.81], constraint={"rod": lambda q: q @ q - 1})
    sol = simulate(rod, 0.1, q0=[0, -1], v0=[0, 0])
    # at rest every number is exact up to the rounding of one solve
    assert sol.reactions == pytest.approx(np.tile([0, 2 * 9.81], (len(sol.t), 1)), abs=1e-13)
    assert sol.reaction("rod") == pytest.approx(sol.reactions, abs=1e-13)


def test_reactions_of_the_constraints_add_up_to_all():
    sol = simulate(seven_body())
    labels = sol.plan.model.row_labels
    total = sum(sol.reaction(label) for label in labels)
    # a sum of six numbers in another order
    assert total == pytest.approx(sol.reactions, rel=1e-12, abs=1e-12)


def test_reactions_close_newtons_law(swing):
    m, g = 1.0, pendulum().system.params["g"]
    # M v' = f + reactions, solved to rounding
    assert m * swing.a == pytest.approx(swing.reactions + np.array([0, -m * g]), abs=1e-12)


# names


def sheets():
    return System(
        mass=np.eye(2),
        force=[0, -9.81],
        constraint={"pin": lambda q: np.array([q[0], q[1]])},
        coordinates=["x", "y"],
        outputs={
            "sheet": lambda q, v, lam: np.array([[q[0], q[1], 1.0], [lam[0], lam[1], v[1]]]),
            "row": lambda q: np.array([[1.0, 2.0, q[0]]]),
            "one": lambda a: np.array([a[0]]),
            "number": lambda t: 2.0 * t,
        },
    )


def test_outputs_keep_their_shapes_row_by_row():
    sol = simulate(sheets(), 0.3, q0=[0, 0], v0=[0, 0])
    n = len(sol.t)
    assert sol["sheet"].shape == (n, 2, 3)
    assert sol["row"].shape == (n, 1, 3)
    assert sol["one"].shape == (n, 1)
    assert sol["number"].shape == (n,)
    expected = [[[x, y, 1.0], [lx, ly, vy]] for (x, y), (lx, ly), (_, vy) in zip(sol.q, sol.lam, sol.v, strict=True)]
    assert np.array_equal(sol["sheet"], expected)
    assert np.array_equal(sol["number"], 2.0 * sol.t)
    assert sol(0.1)["sheet"].shape == (2, 3)
    assert sol(0.1)["number"] == pytest.approx(0.2, abs=1e-15)


def test_coordinates_and_multipliers_are_found_by_name():
    sol = simulate(sheets(), 0.1, q0=[0, 0], v0=[0, 0])
    assert np.array_equal(sol["y"], sol.q[:, 1])
    assert np.array_equal(sol["pin"], sol.lam)
    assert np.array_equal(sol["pin[1]"], sol.lam[:, 1])
    assert sol(0.05)["pin"].shape == (2,)
    assert sol(0.05)["y"].shape == ()
    with pytest.raises(UnknownName, match=r"no quantity 'shet'\. Did you mean 'sheet'"):
        sol["shet"]
    with pytest.raises(KeyError, match="Outputs: sheet, row, one, number; coordinates: x, y; constraints: pin"):
        sol["wing"]
    with pytest.raises(UnknownName, match=r"no constraint 'pim'\. Did you mean 'pin'"):
        sol.reaction("pim")


# drift and energy


def test_drift_is_the_residual_itself(swing):
    x, y = swing.q.T
    vx, vy = swing.v.T
    # the same formulas, one rounding apart
    assert swing.drift["position"][:, 0] == pytest.approx(x * x + y * y - 1, abs=1e-15)
    assert swing.drift.velocity[:, 0] == pytest.approx(2 * (x * vx + y * vy), abs=1e-14)
    assert swing.drift.max()["position"] == np.max(np.abs(swing.drift.position))
    assert list(swing.drift) == ["position", "velocity"]


def test_worst_drift_is_named_with_its_time():
    sol = simulate(seven_body(), stabilization=None, rtol=1e-4)
    worst = sol.drift.worst("position")
    row = sol.plan.model.constraint_labels.index(worst.label)
    at = np.flatnonzero(sol.t == worst.t)[0]
    assert abs(sol.drift.position[at, row]) == worst.value == np.max(np.abs(sol.drift.position))
    assert f"{worst.label!r} at t = {worst.t:.6g} s" in repr(sol.drift)


def test_invariants_drift_by_name():
    sol = simulate(kepler(), stabilization=None, rtol=1e-4)
    y = sol.y
    momentum = y[:, 0] * y[:, 3] - y[:, 1] * y[:, 2]
    assert sol.drift["momentum"] == pytest.approx(momentum - momentum[0], abs=1e-15)
    assert "momentum" in sol.drift and "position" not in sol.drift
    with pytest.raises(UnknownName, match="Did you mean 'momentum'"):
        sol.drift["momentun"]


def test_systems_without_constraints_have_no_drift():
    sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1])
    assert dict(sol.drift) == {}
    assert "no constraints" in repr(sol.drift)


def test_energy_is_kinetic_and_potential(swing):
    g = pendulum().system.params["g"]
    assert swing.energy.kinetic == pytest.approx(0.5 * np.sum(swing.v**2, axis=1), abs=1e-14)
    assert swing.energy.potential == pytest.approx(g * swing.q[:, 1], abs=1e-13)
    # the total is zero here: relative to the energy that moves, rtol 1e-6 keeps it to about 1e-6
    assert 0 < np.max(np.abs(swing.energy_error)) < 5e-6
    assert swing(swing.t[7]).energy_error == swing.energy_error[7]


def test_an_ode_has_no_energy():
    sol = simulate(Ode(lambda y: -y), 1.0, y0=[1.0])
    with pytest.raises(BadArgument, match="an Ode has no energy"):
        sol.energy


# redundant rows


def doubled():
    return System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1, "copy": lambda q: 2 * (q @ q) - 2})


@pytest.mark.parametrize("redundant", ["minimum-norm", "drop"])
def test_multipliers_are_given_for_redundant_rows_too(redundant):
    with pytest.warns(RedundancyWarning):
        sol = simulate(doubled(), 0.5, q0=[1, 0], v0=[0, 0], redundant=redundant)
    single = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})
    plain = simulate(single, 0.5, q0=[1, 0], v0=[0, 0])
    assert sol.lam.shape == (len(sol.t), 2)
    assert sol.end.lam.shape == (2,)
    if redundant == "drop":
        dropped = ({0, 1} - set(sol.plan.rows)).pop()
        assert np.all(sol.lam[:, dropped] == 0)
    else:  # the copy's row is twice the rod's, so its share is too
        assert sol.lam[:, 1] == pytest.approx(2 * sol.lam[:, 0], abs=1e-12)
    # the sum does not depend on how it is shared; both runs have rtol 1e-6
    assert sol(0.3).reactions == pytest.approx(plain(0.3).reactions, rel=1e-5)
    assert sol.drift.position.shape == (len(sol.t), 2)
    assert "not unique" in str(sol)


def test_construction_computes_nothing():
    sol = simulate(pendulum(), 0.1, stabilization=Projection())
    assert set(vars(sol)) <= {"trail", "ended", "plan"}
    assert not sol.trail.known and "arrays" not in vars(sol.trail)


def test_the_energy_that_moves_does_not_depend_on_where_the_potential_is_zero():
    def swing(height):
        raised = System(np.eye(2), potential=lambda q: 9.81 * (q[1] + height), constraint=lambda q: q @ q - 1)
        return simulate(raised, 1.0, q0=[1, 0], v0=[0, 0], rtol=1e-5, stabilization=None)

    low, high = swing(0.0), swing(1000.0)
    assert np.max(np.abs(low.energy_error)) > 1e-9
    np.testing.assert_allclose(high.energy_error, low.energy_error, rtol=0, atol=1e-11)  # rounding of 9810 J beside 9.8


# arrays that are handed out


def everything(sol):
    """What follows from a run, by name."""
    names = ("t", "q", "v", "a", "lam", "reactions", "s", "w")
    found = {name: getattr(sol, name) for name in names} | {"end": np.concatenate([sol.end.q, sol.end.v, sol.end.lam])}
    found |= {"between": sol(0.3).q, "many": sol(np.linspace(0.0, 1.0, 7)).lam, "energy": sol.energy.kinetic}
    found |= {"drift": sol.drift["position"], "worst": sol.drift.worst("velocity").value, "output": sol["twice"]}
    found |= {"row": sol["rod"], "one": sol.reaction("rod"), "event": sol.events["low"].q, "table": sol.to_dataframe().to_numpy()}
    return {name: np.array(values) for name, values in found.items()} | {"steps": sol.stats["steps"]}


@pytest.mark.parametrize("options", [{}, {"save_at": 5}, {"integrator": Radau()}, {"integrator": BDF(), "save_at": 5}], ids=repr)
def test_what_is_written_into_arrays_of_a_run_changes_nothing_that_follows_from_it(options, tmp_path):
    pendulum = System(
        mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, outputs={"twice": lambda q: 2.0 * q[0]}
    )
    sol = simulate(pendulum, 1.0, q0=[1, 0], v0=[0, 0], events={"low": Event(lambda q: q[1] + 0.5)}, **options)
    before = everything(sol)
    for name in ("t", "q", "v", "a", "lam", "reactions"):
        array = getattr(sol, name)
        array *= 7.0
        assert getattr(sol, name) is array and np.array_equal(array, 7.0 * before[name])  # it stays where it was written
    for array in (sol.end.q, sol.end.v, sol["twice"], sol["rod"], sol.reaction("rod"), sol.drift["position"], sol.energy.kinetic,
                  sol.events["low"].q, sol(0.3).q, sol(0.0).q):  # fmt: skip
        array += 1.0
    sol.stats["steps"] = 0
    for each in (sol.as_written, copy.copy(sol)):
        after = everything(each)
        for name, values in before.items():
            assert np.array_equal(after[name], values), name
    with pytest.raises(ValueError, match="read-only"):
        sol.as_written.q[0] = 0.0
    assert np.array_equal(sol(0.3).q, before["between"]) and sol.drift.worst("velocity").value == before["worst"]
    assert np.array_equal(sol.to_dataframe().to_numpy(), before["table"])
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    assert np.array_equal(loaded.q, before["q"])
    loaded.q[:] = 0.0
    assert np.array_equal(loaded(loaded.t[-1]).q, before["q"][-1])


def test_parts_of_a_mechanism_follow_from_the_run_and_not_from_what_was_written_into_it():
    def swinging():
        model = Mechanism()
        model.body("b", at=(0.5, 0), mass=1.0, inertia=0.1)
        model.revolute("A", "ground", "b", at=(0, 0))
        return simulate(model, 0.5, save_at=5)

    sol, fresh = swinging(), swinging()
    sol.q[:] = 0.0
    sol.lam[:] = 0.0
    sol["b"].position[:] = 0.0
    sol["A.force"][:] = 0.0
    assert np.array_equal(sol["b"].position, fresh["b"].position) and np.array_equal(sol["A"].force, fresh["A"].force)
    assert np.array_equal(sol["energy"].kinetic, fresh["energy"].kinetic)


def test_named_quantities_are_handed_out_as_copies():
    sol = simulate(pendulum(), 1.0, keep=["q"], save_at=5)
    before = sol.q.copy()
    sol.q[:] = 0.0
    assert np.array_equal(sol.as_written.q, before) and not sol.q.any()
