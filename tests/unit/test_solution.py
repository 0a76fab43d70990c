"""What a solution gives: states between steps, reactions, outputs, drift, energy, report, references."""

import re
from dataclasses import replace

import numpy as np
import pytest

from holonomic import (
    DOP853,
    RK4,
    RK45,
    BadArgument,
    Baumgarte,
    Event,
    Index1,
    Ode,
    Projection,
    RedundancyWarning,
    StepFailed,
    System,
    UnknownName,
    simulate,
)
from holonomic.problems import kepler, pendulum, seven_body

TIMES = np.linspace(0.013, 1.987, 97)  # inside a run of 2 s, on no step


@pytest.fixture(scope="module")
def swing():
    """The pendulum over one period, every step kept."""
    return simulate(pendulum(), 2.0)


@pytest.fixture(scope="module")
def exact():
    """The same motion from elliptic functions, 15 digits."""
    known = [pendulum().exact(t) for t in TIMES]
    return np.array([q for q, _ in known]), np.array([v for _, v in known])


def ball(**options):
    system = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], coordinates=["x", "y"])
    bounce = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q * [1, 0], v * [1, -0.8]))
    return simulate(system, 1.5, q0=[0, 1], v0=[1, 0], events={"bounce": bounce}, **options)


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
    expected = [
        [[x, y, 1.0], [lx, ly, vy]] for (x, y), (lx, ly), (_, vy) in zip(sol.q, sol.lam, sol.v, strict=True)
    ]
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
    with pytest.raises(
        KeyError, match="Outputs: sheet, row, one, number; coordinates: x, y; constraints: pin"
    ):
        sol["wing"]
    with pytest.raises(UnknownName, match=r"no constraint 'pim'\. Did you mean 'pin'"):
        sol.reaction("pim")


# states between steps


def test_sol_t_is_as_accurate_as_the_run(swing, exact):
    there = swing(TIMES)
    at_steps = np.max(np.abs(swing.q - [pendulum().exact(t)[0] for t in swing.t]))
    # the dense output of order 7 follows steps of order 8 within a small factor at rtol 1e-6
    assert np.max(np.abs(there.q - exact[0])) < 4 * at_steps
    assert np.max(np.abs(there.q - exact[0])) < 1e-5


def test_dense_output_of_dop853_has_order_7(exact):
    errors = []
    for h in (1 / 10, 1 / 20):
        sol = simulate(pendulum(), 2.0, integrator=DOP853(), step=h)
        errors.append(np.max(np.abs(np.hstack([sol(TIMES).q, sol(TIMES).v]) - np.hstack(exact))))
    assert errors[1] > 1e-13  # not yet rounding
    assert np.log2(errors[0] / errors[1]) > 7 - 0.2


@pytest.mark.parametrize("integrator, order", [(RK4(), 3), (RK45(), 4)])
def test_dense_output_has_the_order_of_the_method(integrator, order, exact):
    errors = []
    for h in (1 / 20, 1 / 40):
        sol = simulate(pendulum(), 2.0, integrator=integrator, step=h)
        errors.append(np.max(np.abs(sol(TIMES).q - exact[0])))
    assert np.log2(errors[0] / errors[1]) > order - 0.2


def test_sol_t_lies_on_the_constraints(swing):
    largest = swing(TIMES).drift.max()
    # |g| is at most 2 ‖q‖ = 2 times the distance, which is kept to 1e-10; velocities to rounding
    assert largest["position"] <= 2.0e-10
    assert largest["velocity"] < 1e-13
    # accelerations and multipliers belong to the state there
    assert np.max(np.abs(swing(TIMES).drift.acceleration)) < 1e-12


def test_at_recorded_times_the_recorded_rows_come_back(swing):
    again = swing(swing.t)
    for name in ("t", "q", "v", "a", "lam"):
        assert np.array_equal(getattr(again, name), getattr(swing, name)), name


def test_between_neighbouring_times_the_curve_is_continuous(swing):
    t = swing.t[5]
    # 1e-9 s at a speed below 6 m/s
    assert swing(t + 1e-9).q == pytest.approx(swing(t).q, abs=1e-8)
    assert swing(t - 1e-9).q == pytest.approx(swing(t).q, abs=1e-8)


def test_a_number_gives_arrays_without_time_axis(swing):
    there = swing(0.25)
    assert there.q.shape == there.v.shape == there.a.shape == there.reactions.shape == (2,)
    assert there.lam.shape == (1,)
    assert np.ndim(there.t) == 0 and there.t == 0.25
    assert there.drift["position"].shape == (1,)
    assert there.energy.total.shape == ()
    assert there.drift.worst("position").t == 0.25


def test_times_come_back_in_the_order_asked_for(swing):
    there = swing([1.5, 0.25, 1.5])
    assert there.t.tolist() == [1.5, 0.25, 1.5]
    assert np.array_equal(there.q[1], swing(0.25).q)
    assert np.array_equal(there.q[0], there.q[2])
    assert swing([]).q.shape == (0, 2)


def test_a_solution_at_times_asks_the_run_again(swing):
    assert np.array_equal(swing([0.1, 0.2])(0.7).q, swing(0.7).q)


@pytest.mark.parametrize("t", [-0.1, 2.5, np.nan])
def test_times_outside_the_run_are_refused(swing, t):
    with pytest.raises(BadArgument, match="outside the run, which covers 0 to 2 s"):
        swing([0.5, t])


def test_an_end_off_by_rounding_is_the_end(swing):
    assert np.array_equal(swing(np.nextafter(2.0, 3.0)).q, swing.q[-1])
    with pytest.raises(BadArgument, match="one time or a row of times"):
        swing([[0.5]])
    with pytest.raises(BadArgument, match="in seconds"):
        swing("end")


def test_runs_backward_are_sampled_too(exact):
    q, v = pendulum().exact(2.0)
    sol = simulate(pendulum(), (2.0, 0.0), q0=q, v0=v, rtol=1e-10, atol=1e-12)
    # tolerance 1e-10 over one period; measured 1e-9
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-8
    assert sol.span == (2.0, 0.0)


def test_with_save_at_the_run_is_repeated_between_kept_times(swing, exact):
    sol = simulate(pendulum(), 2.0, save_at=[0.5, 1.0])
    inside = TIMES[TIMES < 1.9]
    error = np.max(np.abs(swing(TIMES).q - exact[0]))
    # before the first, between and after the kept times; another sequence of steps of the same tolerance
    assert np.max(np.abs(sol(inside).q - exact[0][TIMES < 1.9])) < 4 * error
    assert np.array_equal(sol(1.0).q, sol.q[1])
    assert sol(TIMES).drift.max()["position"] <= 2.0e-10
    assert sol.span == (0.0, 2.0)
    assert sol.end.t == 2.0
    assert np.array_equal(sol(2.0).q, sol.end.q)


def test_fixed_steps_with_save_at(exact):
    sol = simulate(pendulum(), 2.0, integrator=DOP853(), step=0.02, save_at=4)
    # order 8 with steps of 0.02: far below 1e-9
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-9


def test_baumgarte_runs_are_sampled_with_their_gains(exact):
    sol = simulate(pendulum(), 2.0, rtol=1e-9, atol=1e-11, stabilization=Baumgarte(alpha=10))
    # rtol 1e-9; a replay without gains would leave an acceleration-level error of α²g ~ 1e-7 as well
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-7


def test_interpreted_runs_are_sampled_alike(swing):
    interpreted = simulate(replace(pendulum().system, trace=False), 2.0, q0=[1, 0], v0=[0, 0])
    there = interpreted(TIMES[::8])
    # the same steps up to rounding: γ comes from differences, good to about 1e-9
    assert there.q == pytest.approx(swing(TIMES[::8]).q, abs=1e-8)
    assert there.drift.max()["position"] <= 2.0e-10
    assert interpreted.reactions[5] == pytest.approx(interpreted(interpreted.t[5]).reactions, abs=1e-12)


# jumps


def test_at_a_mapped_event_the_later_state_counts():
    sol = ball()
    t = sol.events["bounce"].t[0]
    assert t == pytest.approx(np.sqrt(2 / 9.81), abs=1e-12)
    rows = np.flatnonzero(sol.t == t)
    assert len(rows) == 2
    fall = 9.81 * t
    assert sol.v[rows, 1] == pytest.approx([-fall, 0.8 * fall], rel=1e-12)
    assert sol(t).v[1] == sol.v[rows[1], 1]
    # 1e-6 s away the velocity has changed by 1e-5, not by half the jump of 8
    assert sol(t - 1e-6).v[1] == pytest.approx(-fall, abs=2e-5)
    assert sol(t + 1e-6).v[1] == pytest.approx(0.8 * fall, abs=2e-5)


def test_jumps_between_kept_times_are_repeated():
    every, some = ball(), ball(save_at=3)
    t = np.linspace(0, 1.5, 60)
    # free flight is a parabola, exact for both up to the location of the bounces (1e-14 s)
    assert some(t).q == pytest.approx(every(t).q, abs=1e-11)
    assert some(t).v == pytest.approx(every(t).v, abs=1e-11)


def test_a_time_kept_at_a_bounce_does_not_lose_the_bounce():
    t = float(ball().events["bounce"].t[0])
    sol = ball(save_at=[0.0, t, 1.5])
    # the row kept at t is the state before the mapping; 0.1 s later the ball must be above ground
    assert sol(t + 0.1).q == pytest.approx(ball()(t + 0.1).q, abs=1e-11)


@pytest.mark.parametrize("options", [{}, {"save_at": 40}])
def test_replay_knows_the_invariants_of_before_and_after_a_jump(options):
    # at y[0] = 0 the velocity grows by a tenth: another orbit, other energy and momentum
    kick = Event(lambda y: y[0], direction="falling", then=lambda y: y * np.array([1, 1, 1.1, 1.1]))
    sol = simulate(kepler(), 8.0, events={"kick": kick}, **options)
    assert len(sol.events["kick"]) >= 1
    for there in (sol, sol(np.linspace(0, 8, 201))):
        # kept to 1e-10 as a distance; the gradients are below 10 on these orbits
        assert max(there.drift.max().values()) < 1e-9
    y = sol(np.linspace(0, 8, 201)).y
    momentum = y[:, 0] * y[:, 3] - y[:, 1] * y[:, 2]
    assert np.ptp(momentum) > 0.05  # the kicks are there


def test_end_is_the_end_of_the_run_not_the_last_kept_time():
    hit = Event(lambda q: q[0] - 0.5, terminal=True)
    sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1], save_at=4, events={"hit": hit})
    assert sol.ended == "hit"
    assert sol.t.tolist() == [0.0, 1 / 3]
    assert sol.end.t == pytest.approx(0.5, abs=1e-14)
    assert sol(0.4).q == pytest.approx([0.4], abs=1e-14)
    assert sol(sol.end.t).q == pytest.approx([0.5], abs=1e-14)


# inputs


def test_replay_uses_the_piece_of_the_table_that_held():
    times, values = np.array([0.0, 0.4, 0.7, 1.0]), np.array([0.0, 2.0, -1.0, 0.5])
    system = System(
        mass=np.eye(1), force=lambda u: np.array([u.push]), inputs={"push": (times, values)},
        outputs={"push": lambda u: u.push},
    )  # fmt: skip
    t = np.linspace(0, 1.2, 50)

    def velocity(t):  # integral of the table
        fine = np.union1d(np.linspace(0, 1.2, 4801), [*times, t])
        u = np.interp(fine, times, values)
        return np.append(0.0, np.cumsum(np.diff(fine) * (u[1:] + u[:-1]) / 2))[np.searchsorted(fine, t)]

    for options in ({}, {"save_at": 3}, {"integrator": RK4(), "step": 0.05}):
        sol = simulate(system, 1.2, q0=[0], v0=[0], **options)
        # piecewise quadratic: every method here is exact
        assert sol(t).v[:, 0] == pytest.approx([velocity(s) for s in t], abs=1e-12)
        assert sol(t)["push"] == pytest.approx(np.interp(t, times, values), abs=1e-14)
    back = simulate(system, (1.2, 0.0), q0=[0], v0=[0])
    assert back(t)["push"] == pytest.approx(np.interp(t, times, values), abs=1e-14)
    assert back["push"] == pytest.approx(np.interp(back.t, times, values), abs=1e-14)


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
    return System(
        mass=np.eye(2),
        force=[0, -9.81],
        constraint={"rod": lambda q: q @ q - 1, "copy": lambda q: 2 * (q @ q) - 2},
    )


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


# report, references, construction


def test_report_speaks_of_a_change_of_energy_only_where_there_is_a_total(swing):
    """The work of force= is not counted: what it changes is no error."""
    assert re.search(r"energy +changes by \S+ J, \S+ relative", str(swing))
    pushed = simulate(System(mass=1.0, force=2.0), 3.0, q0=[0.0], v0=[0.0])
    assert "energy         kinetic 0 J at first, 18 J at last; without potential= there is no total" in str(pushed)


def test_report_says_what_is_solved_for():
    """An Ode has no accelerations and no multipliers, a System without constraints no multipliers."""
    ode = simulate(Ode(lambda y: -y), 1.0, y0=[1.0])
    assert "formulation    Index1(), the equations are integrated as they stand" in str(ode)
    free = simulate(System(mass=1.0, force=2.0), 1.0, q0=[0.0], v0=[0.0])
    assert "Index1(), accelerations are solved for at every point" in str(free)


def test_report_says_what_ran_and_how_well():
    sol = simulate(seven_body(), 0.01)
    text = str(sol)
    assert text == repr(sol)
    assert text.startswith("Solution from t = 0 to 0.01 s, reached its end")
    said = ["Index1()", "DOP853()", "Projection(", "rtol 1e-06", "atol 1e-09", "kept to 1e-10", "rejected"]
    said += ["pivot ratio", "drift", "velocity", "energy", "holonomic", "numba", "numpy"]
    for part in said:
        assert part in text, part
    assert re.search(r"position \d.\de-\d+ \('loop \d [xy]' at t = ", text)
    assert f"{sol.stats['steps']}, {sol.stats['rejected']} rejected" in text


def test_html_report_has_the_same_lines_escaped():
    sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1], events={"a<b": lambda q: q[0] - 0.5})
    page = sol._repr_html_()
    assert "a&lt;b 1" in page and "a<b" not in page
    assert page.count("<tr>") == len(str(sol).splitlines()) - 1


def test_report_tells_of_moved_starts_and_failures():
    moved = simulate(pendulum(), 0.1, q0=[1.1, 0], v0=[0, 0], initial="project")
    assert "moved onto the constraints, by 1.0e-01 in q" in str(moved)
    with pytest.raises(StepFailed) as caught:
        simulate(pendulum(), 2.0, max_steps=5)
    assert caught.value.solution.ended == "failed"
    assert "stopped by a failure" in str(caught.value.solution)


def test_states_at_times_show_themselves(swing):
    assert str(swing(0.25)).startswith("Solution at t = 0.25 s\n  q ")
    assert str(swing([0.1, 0.2])).startswith("Solution at 2 times from 0.1 to 0.2 s")
    assert "<pre>" in swing(0.25)._repr_html_()


def test_cite_gives_exactly_the_methods_used():
    def keys(sol, **options):
        return set(re.findall(r"^@\w+\{([^,]+),", sol.cite(**options), flags=re.MULTILINE))

    sol = simulate(pendulum(), 0.1)
    assert keys(sol) == {*Index1.references, *DOP853.references, *Projection.references}
    assert "prince-dormand-1981" in keys(sol)
    assert keys(sol, software=True) - keys(sol) == {"andersson-2019", "lam-2015"}
    free = simulate(System(mass=np.eye(1)), 0.1, q0=[0], v0=[1], integrator=RK4(), step=0.01)
    assert keys(free) == {"HNW93"}
    held = simulate(pendulum(), 0.1, stabilization=Baumgarte(alpha=5))
    assert keys(held) == {*Index1.references, *DOP853.references, *Baumgarte.references}


def test_construction_computes_nothing():
    sol = simulate(pendulum(), 0.1, stabilization=Projection())
    lazy = {
        "_arrays",
        "stats",
        "events",
        "_facts",
        "_multipliers",
        "_forces",
        "_residuals",
        "_energies",
        "_outputs",
    }
    assert not lazy & set(sol.__dict__)


def test_the_end_starts_the_next_run(swing, exact):
    first = simulate(pendulum(), 0.7, rtol=1e-10, atol=1e-12)
    rest = simulate(pendulum().system, 2.0, q0=first.end, rtol=1e-10, atol=1e-12)
    # two runs of tolerance 1e-10
    assert rest(TIMES[-1]).q == pytest.approx(exact[0][-1], abs=1e-8)


def test_rotations_with_kinematics_are_sampled_on_the_unit_sphere():
    def rates(q):  # q' = Z(q) v of a unit quaternion
        w, x, y, z = q
        return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])

    def gyroscopic(v):
        return np.array([-1.0 * v[1] * v[2], 1.0 * v[0] * v[2], 0.0])

    top = System(
        mass=np.diag([1.0, 1.0, 2.0]),
        force=gyroscopic,
        kinematics=rates,
        invariants={"norm": lambda q: q @ q},
    )
    sol = simulate(top, 2.0, q0=[1, 0, 0, 0], v0=[0.3, 0.1, 4.0])
    there = sol(np.linspace(0, 2, 41))
    # the invariant is kept to 1e-10 as a distance, q @ q doubles it
    assert np.max(np.abs(there.drift["norm"])) <= 2.0e-10
    assert there.q.shape == (41, 4) and there.v.shape == (41, 3)
