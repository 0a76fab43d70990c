"""Initial values: checked at every level, or moved onto the constraints; rank; redundant rows."""

import numpy as np
import pytest

from holonomic import DOP853, Ode, System, problems, simulate
from holonomic.errors import InconsistentState, RedundancyWarning, RedundantConstraints, SingularPosition
from holonomic.starting import rank
from holonomic.starting.initial import prepare, residuals

G = 9.81
PENDULUM = System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda q: q @ q - 1}, coordinates=["x", "y"])


def begin(system, q, v, **more):
    """Initial values as `simulate` prepares them."""
    from holonomic.planning.reuse import model_of

    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    model = model_of(system, q, v, 0.0)
    settings = {"tol": 1e-10, "initial": "check", "hold": None, "redundant": None, **more}
    return prepare(model, 0.0, q, v, model.data(), **settings)


def test_consistent_values_are_taken_as_they_are():
    start = begin(PENDULUM, [0.6, 0.8], [0.8, -0.6])
    assert np.array_equal(start.q, [0.6, 0.8]) and np.array_equal(start.v, [0.8, -0.6])
    assert start.moved_q == start.moved_v == 0.0 and start.rows is None


@pytest.mark.parametrize(("off", "fine"), [(5e-11, True), (2e-10, False)])
def test_the_tolerance_is_a_distance(off, fine):
    # the distance from the circle, whatever the constraint is multiplied by
    for factor in (1e-6, 1.0, 1e6):
        circle = System(mass=np.eye(2), force=[0, 0], constraint=lambda q, f=factor: f * (q @ q - 1))
        if fine:
            begin(circle, [1 + off, 0], [0, 0])
        else:
            with pytest.raises(InconsistentState):
                begin(circle, [1 + off, 0], [0, 0])


def test_large_coordinates_are_allowed_their_rounding():
    far = System(mass=np.eye(2), force=[0, 0], constraint=lambda q: q[0] - 1e6 - q[1])
    begin(far, [1e6 + 1e-5, 0], [0, 0])
    with pytest.raises(InconsistentState):
        begin(far, [1e6 + 1e-3, 0], [0, 0])


def test_projection_takes_the_shortest_way_and_says_how_far():
    start = begin(PENDULUM, [1.5, 2.0], [1.0, 0.0], initial="project")
    assert np.allclose(start.q, [0.6, 0.8], atol=1e-13)
    assert np.isclose(start.moved_q, 1.5)
    # v loses its radial part
    assert np.allclose(start.v, [0.64, -0.48], atol=1e-13)
    assert np.isclose(start.moved_v, 0.6)


def test_projecting_twice_is_projecting_once():
    once = begin(PENDULUM, [1.5, 2.0], [1.0, 0.0], initial="project")
    twice = begin(PENDULUM, once.q, once.v, initial="project")
    assert np.allclose(once.q, twice.q, atol=1e-15) and np.allclose(once.v, twice.v, atol=1e-15)


@pytest.mark.parametrize("hold", ["x", 0, ["x"], [0], np.array([0])])
def test_held_coordinates_stay(hold):
    start = begin(PENDULUM, [0.6, 0.9], [0.5, 7.0], initial="project", hold=hold)
    assert start.q[0] == 0.6 and start.v[0] == 0.5
    assert np.allclose(start.q[1], 0.8, atol=1e-12)
    assert np.allclose(start.v[1], -0.5 * 0.6 / 0.8, atol=1e-12)


def test_mechanism_is_assembled_from_a_rough_drawing():
    crank = problems.slider_crank()
    rough = np.array(crank.q0) + 0.02 * np.sin(np.arange(len(crank.q0)))
    sol = simulate(crank.system, 0.1, q0=rough, v0=crank.v0, initial="project")
    model = sol.plan.model
    g, gv = residuals(model, 0.0, sol.q[0], sol.v[0], model.data())
    assert np.max(np.abs(g)) < 1e-10 and np.max(np.abs(gv)) < 1e-9


def test_given_multipliers_are_checked_and_those_of_the_run_accepted():
    first = simulate(PENDULUM, 1.0, q0=[0, -1], v0=[3, 0])
    assert np.allclose(first.lam[0], (G + 9) / 2)
    simulate(PENDULUM, 1.0, q0=[0, -1], v0=[3, 0], lam0=first.lam[0])


def test_free_start_is_not_looked_at():
    sol = simulate(PENDULUM, 0.01, q0=[1.1, 0], v0=[0, 0], initial="free", stabilization=None)
    assert np.array_equal(sol.q[0], [1.1, 0])


TWICE = System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda q: q @ q - 1, "again": lambda q: 3 * (q @ q) - 3})


@pytest.mark.parametrize("way", ["minimum-norm", "drop"])
def test_a_repeated_constraint_changes_nothing_but_its_share_of_the_reaction(way):
    with pytest.warns(RedundancyWarning, match=r"1 of 2 constraint rows are redundant: '(rod|again)' repeats"):
        sol = simulate(TWICE, 2.0, q0=[1, 0], v0=[0, 0], redundant=way, rtol=1e-9)
    alone = simulate(PENDULUM, 2.0, q0=[1, 0], v0=[0, 0], rtol=1e-9)
    assert np.allclose(sol.q[-1], alone.q[-1], atol=1e-8)
    assert np.allclose(sol.reactions[-1], alone.reactions[-1], atol=1e-6)
    lam = sol.lam[-1]
    if way == "drop":
        assert np.min(np.abs(lam)) == 0.0
    else:
        # smallest λ with λ₀ + 3 λ₁ fixed: along (1, 3)
        assert np.allclose(lam[1], 3 * lam[0], rtol=1e-9)
        assert np.allclose(lam[0] + 3 * lam[1], alone.lam[-1, 0], atol=1e-6)


def parallelogram(links):
    """A bar of length 2 carried by parallel links of length 1; more than two are redundant. q = (x, y, angle)."""
    places = np.linspace(-1, 1, links)
    return System(
        mass=np.diag([1.0, 1.0, 1 / 3]), force=[0, -G, 0],
        constraint={
            f"link {i}": (lambda q, s=s: (q[0] + s * np.cos(q[2]) - s) ** 2 + (q[1] + s * np.sin(q[2])) ** 2 - 1)
            for i, s in enumerate(places)
        },
    )  # fmt: skip


def test_an_extra_parallel_link_is_redundant_and_does_not_change_the_motion():
    start = {"q0": [0.6, -0.8, 0.0], "v0": [0.8, 0.6, 0.0]}
    with pytest.raises(RedundantConstraints, match=r"rank 2 of 3: 'link \d' repeats a combination of 'link \d' and 'link \d'"):
        simulate(parallelogram(3), 1.0, **start)
    with pytest.warns(RedundancyWarning):
        three = simulate(parallelogram(3), 2.0, **start, redundant="minimum-norm", rtol=1e-9)
    two = simulate(parallelogram(2), 2.0, **start, rtol=1e-9)
    assert np.allclose(three.q[-1], two.q[-1], atol=1e-7)
    assert np.allclose(three.reactions[-1], two.reactions[-1], atol=1e-5)
    # all links in parallel: the smallest multipliers share the load
    assert np.allclose(three.lam[-1, 0] + three.lam[-1, 1] + three.lam[-1, 2], two.lam[-1].sum(), rtol=1e-6)


@pytest.mark.parametrize("links", [2, 3, 4])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_flat_parallelogram_is_singular_however_many_links_it_has(links, side):
    """With more than two links the nearest position on the constraints is the flat one itself, wherever one looks from."""
    flat = {"q0": [side, 0.0, 0.0], "v0": [0.0, 1.0, 0.0]}
    with pytest.raises(SingularPosition, match=rf"rank 1 of {links} there, but 2 nearby"):
        simulate(parallelogram(links), 1.0, **flat)


def test_a_structure_that_cannot_move_is_redundant_and_not_singular():
    pins = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    rods = {f"rod {i}": (lambda q, pin=pin: np.sum((q - pin) ** 2) - np.sum(pin**2)) for i, pin in enumerate(pins)}
    with pytest.raises(RedundantConstraints, match="rank 2 of 3"):
        simulate(System(mass=np.eye(2), constraint=rods), 1.0, q0=[0.0, 0.0], v0=[0.0, 0.0])


def test_redundant_rows_far_apart_in_size_are_found():
    uneven = System(
        mass=np.eye(3), force=[0, 0, 0], constraint={"a": lambda q: 1e-6 * q[0], "b": lambda q: 1e6 * q[0] * (1 + q[1])}
    )
    with pytest.raises(RedundantConstraints, match="rank 1 of 2"):
        begin(uneven, [0, 0, 0], [0, 1, 0])


def test_nearly_parallel_rows_are_not_called_redundant():
    narrow = System(mass=np.eye(2), force=[0, -G], constraint={"a": lambda q: q[1], "b": lambda q: q[1] + 1e-6 * q[0]})
    assert begin(narrow, [0, 0], [0, 0]).rows is None


@pytest.mark.parametrize("length", [1e-9, 1e-6, 1e6])
def test_a_system_may_be_small_or_large(length):
    """What lies near a position is measured by the size of the system, not in metres."""
    rod = System(mass=np.eye(2), force=[0, -G], constraint=lambda q: q @ q - length**2)
    start = begin(rod, [length, 0], [0, 0], tol=1e-10 * min(1.0, length))
    assert start.rows is None


def test_a_gradient_that_vanishes_on_the_constraint_is_refused_at_any_size():
    for length in (1e-9, 1.0, 1e6):
        rod = System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda q: (q @ q - length**2) ** 2})  # noqa: B023
        with pytest.raises(SingularPosition, match="the gradient of constraint 'rod' vanishes"):
            begin(rod, [length, 0], [0, 0])


def test_a_singular_start_is_refused_as_such():
    with pytest.raises(SingularPosition, match=r"rank \d of \d there, but \d nearby"):
        simulate(problems.four_bars(2).system, 1.0, q0=[1, 0, 2, 0, 3, 0], v0=np.zeros(6))


def test_four_bars_pass_their_singular_positions_on_the_right_branch():
    # IFToMM A02, two loops, 10 s: the rank falls twice per turn, eleven times in all
    row = problems.four_bars(2)
    sol = simulate(row, 10.0, rtol=1e-9, atol=1e-9)
    q, v = row.exact(10.0)
    assert np.max(np.abs(sol.q[-1] - q)) < 1e-6
    assert np.max(np.abs(sol.v[-1] - v)) < 1e-5
    assert np.max(np.abs(sol.energy_error)) < 1e-7
    # parallel throughout: all joints at one height
    assert np.max(np.abs(np.ptp(sol.q[:, 1::2], axis=1))) < 1e-6


@pytest.mark.parametrize("speed", [0.7, 1.3, 1.9, 2.6])
def test_the_branch_survives_at_other_speeds_and_tolerances(speed):
    row = problems.four_bars(2, speed=speed)
    for rtol in (1e-6, 1e-8, 1e-10):
        sol = simulate(problems.four_bars(2).system, 5.0, q0=row.q0, v0=row.v0, rtol=rtol, atol=rtol, integrator=DOP853())
        # on the wrong branch the error is of the size of the links
        assert np.max(np.abs(sol.q[-1] - row.exact(5.0)[0])) < max(1e4 * rtol, 1e-5)


def test_invariants_keep_their_value_at_the_start_whatever_it_is():
    rotor = Ode(lambda y: np.array([y[1], -y[0]]), invariants={"radius": lambda y: y @ y})
    sol = simulate(rotor, 30.0, y0=[0.0, 1.7], rtol=1e-4)
    assert np.max(np.abs(np.sum(sol.y**2, axis=1) - 1.7**2)) < 1e-9


def test_redundant_rows_are_looked_for_once_and_anew_where_the_rank_is_another(monkeypatch):
    looked = []
    look = rank._redundancy
    monkeypatch.setattr(rank, "_redundancy", lambda *given: looked.append(1) or look(*given))
    # three rods of equal length hold a bar that stays level: one of three is redundant, and lying flat is singular
    system = System(
        mass=np.diag([1.0, 1.0, 0.1]),
        force=[0, -9.81, 0],
        constraint=lambda q: [(q[0] + s * np.cos(q[2]) - s) ** 2 + (q[1] + s * np.sin(q[2])) ** 2 - 1 for s in (-1.0, 0.0, 1.0)],
    )
    starts = [[np.sin(x), -np.cos(x), 0.0] for x in (0.3, 0.5, -0.4)]
    with pytest.warns(RedundancyWarning):
        runs = [simulate(system, 0.1, q0=q, v0=[0, 0, 0], redundant="minimum-norm") for q in starts]
    assert len(looked) == 1
    assert len({run.plan.rows for run in runs}) == 1
    with pytest.raises(RedundantConstraints, match="rank 2 of 3"):
        simulate(system, 0.1, q0=starts[0], v0=[0, 0, 0])
    with pytest.warns(RedundancyWarning, match="1 of 3"):
        assert begin(system, starts[1], [0, 0, 0], redundant="drop").rows == runs[0].plan.rows
    assert len(looked) == 1
    with pytest.raises(SingularPosition, match="rank 1 of 3 there, but 2 nearby"):
        begin(system, [1.0, 0.0, 0.0], [0, 0, 0], redundant="minimum-norm")
    assert len(looked) == 2
