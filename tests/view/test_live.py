"""Live pages: sliders moved in a browser give the runs that Python gives with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import holonomic as h
from holonomic.multibody import Mechanism, rod
from holonomic.problems import pendulum
from holonomic.view import view

RTOL = 1e-6
LIVE = {"g": (1, 25), "L": (0.5, 2), "v0.y": (-8, 8), "rtol": (1e-10, 1e-2)}


class Moved:
    """A live page whose sliders are moved."""

    def __init__(self, tab):
        self.tab = tab

    def rest(self) -> None:
        self.tab.tab.wait_for_function("holonomic.live.resting", timeout=20_000)

    def slide(self, **values) -> None:
        """Move sliders, by name; settings to the nearest position that the page has."""
        for name, value in values.items():
            self.tab(
                f"""(() => {{
                    const each = holonomic.live.inputs.find(each => each.slider.name === {name!r}), table = each.slider.values;
                    const far = table && table.map(v => Math.abs(v / {value} - 1));
                    each.input.value = table ? far.indexOf(Math.min(...far)) : {value};
                    for (const kind of ["input", "change"]) each.input.dispatchEvent(new Event(kind));
                }})()"""
            )
        self.rest()

    def choose(self, number: int) -> None:
        self.tab.tab.select_option("#method", str(number))
        self.rest()

    @property
    def told(self) -> dict:
        return self.tab("holonomic.live.last")

    @property
    def said(self) -> str:
        return self.tab.tab.inner_text("#told")

    @property
    def refused(self) -> str:
        return self.tab.tab.inner_text("#refused")

    def value(self, name: str) -> float:
        return self.tab(
            f"""(() => {{
                const {{ slider, input }} = holonomic.live.inputs.find(each => each.slider.name === {name!r});
                return slider.values ? slider.values[Number(input.value)] : Number(input.value);
            }})()"""
        )


@pytest.fixture
def moved(opened):
    def make(page, **options) -> Moved:
        tab = opened(page, **options)
        tab("holonomic.pause()")
        assert not tab.errors and all(each.startswith(("file:", "blob:")) for each in tab.requests)
        return Moved(tab)

    return make


@pytest.fixture(scope="module")
def swing():
    """A pendulum with DOP853 and projection."""
    return view(pendulum(), 5.0, live=LIVE, integrator=h.DOP853(), stabilization=h.Projection(), rtol=RTOL, show=False, frames=101)


def agrees(told: dict, sol, rtol: float) -> None:
    """A tenth of the tolerance, and the steps to within one: a step's length follows from powers that round differently."""
    end = np.concatenate([sol.q[-1], sol.v[-1]])
    assert abs(told["accepted"] - sol.stats["steps"]) <= 1
    assert np.max(np.abs(np.array(told["x"]) - end) / (rtol * np.maximum(1, np.abs(end)))) <= 0.1


def test_sliders_give_the_runs_of_python(swing, moved):
    page = moved(swing)
    page.slide(g=4.5, L=1.5, **{"v0.y": 2.0})
    problem = pendulum()
    sol = h.simulate(
        problem.system.with_params(g=4.5, L=1.5), 5.0, q0=problem.q0, v0=[0.0, 2.0], initial="project", save_at=2,
        integrator=h.DOP853(), stabilization=h.Projection(), rtol=RTOL,
    )  # fmt: skip
    agrees(page.told, sol, RTOL)
    assert page.said.startswith(f"{page.told['accepted']} steps") and page.said.endswith(" ms")


@pytest.mark.slow
def test_the_tolerance_is_a_slider(swing, moved):
    page = moved(swing)
    page.slide(rtol=1e-9)
    sol = h.simulate(
        pendulum(), 5.0, save_at=2, initial="project", integrator=h.DOP853(), stabilization=h.Projection(), rtol=page.value("rtol")
    )
    agrees(page.told, sol, page.value("rtol"))


def test_the_page_is_one_small_file_whose_first_picture_is_the_recorded_run(swing, moved):
    assert len(swing.html) < 1_000_000
    page = moved(swing)
    same = page.tab("holonomic.tracks.map(t => Array.from(t.lines.slice(0, 40)))")
    assert same[0] == same[1] and page.tab("holonomic.tracks.map(t => t.ghost)") == [True, False]
    before = page.tab("Array.from(holonomic.tracks[0].lines.slice(0, 40))")
    page.slide(L=1.8)
    assert page.tab("Array.from(holonomic.tracks[0].lines.slice(0, 40))") == before
    lines = np.array(page.tab("Array.from(holonomic.tracks[1].lines)")).reshape(101, -1, 2)
    assert np.allclose(np.hypot(*lines[:, -1].T), 1.8, atol=1e-6)  # 32-bit numbers
    page.tab.tab.click("#recorded")
    page.rest()
    assert page.value("L") == 1.0


@pytest.mark.slow
def test_methods_and_their_settings_are_chosen_on_the_page(moved):
    methods = [
        (h.DOP853(), h.Projection()),
        {"integrator": h.RK4(), "stabilization": h.Baumgarte(alpha=10), "step": 0.01},
        (h.RK45(), None),
    ]
    page = moved(
        view(
            pendulum(),
            2.0,
            live={"step": (1e-3, 0.1), "alpha": (0, 40), "rtol": (1e-8, 1e-2)},
            methods=methods,
            show=False,
            frames=51,
        )
    )
    assert page.tab("holonomic.live.inputs.map(e => e.input.disabled)") == [True, True, False]
    page.choose(1)
    assert page.tab("holonomic.live.inputs.map(e => e.input.disabled)") == [False, False, True]
    page.slide(step=0.02, alpha=20.0)
    sol = h.simulate(
        pendulum(),
        2.0,
        save_at=2,
        integrator=h.RK4(),
        stabilization=h.Baumgarte(alpha=page.value("alpha")),
        step=page.value("step"),
    )
    agrees(page.told, sol, 1e-9)
    assert page.said.startswith("RK4 + Baumgarte: ")
    page.choose(2)
    page.slide(rtol=1e-4)
    sol = h.simulate(pendulum(), 2.0, save_at=2, integrator=h.RK45(), stabilization=None, rtol=page.value("rtol"))
    agrees(page.told, sol, page.value("rtol"))
    drift = page.tab("Math.max(...holonomic.signals.get('drift').get(holonomic.tracks[1]).values)")
    assert drift == pytest.approx(max(sol.drift.max().values()), rel=0.5)  # at the frames, not at the two times kept here


def test_all_methods_run_side_by_side(moved):
    methods = {"kept": (h.RK4(), h.Projection()), "left alone": (h.RK4(), None), "damped": (h.RK4(), h.Baumgarte(alpha=10))}
    live = {"step": (0.005, 0.1), "alpha": (0, 40)}
    page = moved(view(pendulum(), 2.0, live=live, methods=methods, side_by_side=True, step=0.02, show=False, frames=51))
    page.slide(step=0.04)
    step = page.value("step")
    for number, (integrator, stabilization) in enumerate(methods.values()):
        sol = h.simulate(pendulum(), 2.0, save_at=2, integrator=integrator, stabilization=stabilization, step=step)
        agrees(page.tab(f"holonomic.live.all[{number}].told"), sol, 1e-9)
    assert page.said.startswith("3 runs, ") and page.refused == ""
    assert page.tab("holonomic.tracks.map(t => t.name)") == ["recorded", *methods]
    page.slide(alpha=30.0)
    assert page.refused == (
        f"damped: alpha times the step is {30 * step:.3g}, where simulate() allows 1; the picture shows what comes of it."
    )


TRIANGLE = h.System(
    mass=np.eye(4), force=[0, -9.81, 0, -9.81],
    constraint={
        "left": lambda q, p: q[0] ** 2 + q[1] ** 2 - p.left**2, "right": lambda q, p: (q[2] - 3) ** 2 + q[3] ** 2 - p.right**2,
        "bar": lambda q, p: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - p.bar**2,
    },
    params={"left": 1.0, "right": 1.0, "bar": 3.0},
    drawing=lambda q: {"bars": [(0, 0), (q[0], q[1]), (q[2], q[3]), (3, 0)]},
)  # fmt: skip


def test_impossible_lengths_are_told_in_words_and_the_last_picture_stays(moved):
    page = moved(view(TRIANGLE, 1.0, q0=[0, -1, 3, -1], v0=[1, 0, 1, 0], live={"bar": (0.5, 6)}, show=False, frames=51))
    page.slide(bar=2.9)
    assert page.refused == "" and page.told["status"] == 1
    shown = page.tab("Array.from(holonomic.tracks[1].lines)")
    page.slide(bar=5.5)
    assert page.refused == (
        "with these values no start could be found near the recorded one: lengths that do not fit, or a singular position. "
        "The picture shows the last run that went through."
    )
    assert page.said == "no run" and page.tab("Array.from(holonomic.tracks[1].lines)") == shown
    page.slide(bar=3.05)
    assert page.refused == "" and page.told["status"] == 1


@pytest.mark.slow
def test_long_runs_go_to_a_worker_and_give_the_same(moved):
    live = {"g": (1, 25)}
    page = moved(
        view(pendulum(), 20.0, live=live, integrator=h.RK4(), stabilization=h.Projection(), step=2e-4, show=False, frames=51)
    )
    page.slide(g=5.0)
    here = page.told["x"]
    assert page.tab("holonomic.live.spent") > 1  # 100 000 steps, which quick computers take in less than 30 ms
    page.tab("holonomic.live.spent = 31")
    page.slide(g=6.0)
    page.tab("holonomic.live.spent = 31")
    page.slide(g=5.0)
    assert page.tab("Boolean(holonomic.live.worker)") and page.told["x"] == here


def test_sliders_are_inputs_with_labels_and_keys(swing, moved):
    page = moved(swing)
    labels = page.tab("[...document.querySelectorAll('#live input[type=range]')].map(i => i.labels[0].textContent.trim())")
    assert [label[: len(name)] for label, name in zip(labels, LIVE, strict=True)] == list(LIVE)
    page.tab.tab.focus("#slide-g")
    time = page.tab("holonomic.time")
    page.tab.tab.keyboard.press("ArrowRight")
    page.rest()
    assert page.value("g") == pytest.approx(pendulum().system.params["g"] + 0.2) and page.tab("holonomic.time") == time


@pytest.mark.slow
def test_events_end_runs_and_are_marked(moved):
    low = h.Event(lambda q: q[1] + 0.5, direction="rising", terminal=True)
    page = moved(view(pendulum(), 5.0, live={"g": (1, 25)}, events={"low": low}, integrator=h.DOP853(), show=False, frames=101))
    page.slide(g=10.0)
    sol = h.simulate(pendulum(g=10.0), 5.0, events={"low": low}, integrator=h.DOP853())
    assert page.told["t"] == pytest.approx(sol.t[-1], abs=1e-6)
    assert page.refused == f"“low” ended the run at t = {sol.t[-1]:.4g} s."


@pytest.mark.slow
def test_a_notebook_shows_a_page_that_simulates(swing, browser, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><body>{swing._repr_html_()}</body>", encoding="utf-8")
    tab = browser.new_page()
    tab.goto(path.as_uri())
    (frame,) = tab.frames[1:]
    frame.wait_for_function("window.holonomic && holonomic.live.resting")
    frame.evaluate("holonomic.live.inputs[0].input.value = 4; holonomic.live.inputs[0].input.dispatchEvent(new Event('input'))")
    frame.wait_for_function("holonomic.live.resting && holonomic.live.shown > 0")
    assert frame.evaluate("holonomic.live.last.status") == 1
    tab.close()


@pytest.mark.slow
def test_a_solution_is_made_live_with_its_own_methods(moved):
    sol = h.simulate(pendulum(), 3.0, integrator=h.RK45(), stabilization=h.Projection(), rtol=1e-7)
    page = moved(sol.view(live={"g": (1, 25)}, show=False))
    page.slide(g=3.0)
    agrees(
        page.told, h.simulate(pendulum(g=3.0), 3.0, integrator=h.RK45(), stabilization=h.Projection(), rtol=1e-7, save_at=2), 1e-7
    )


def test_a_page_fits_a_phone(swing, moved):
    page = moved(swing, size=(390, 800))
    assert page.tab("document.documentElement.scrollWidth") <= 390
    assert page.tab("Math.min(...[...document.querySelectorAll('#live input[type=range]')].map(i => i.clientWidth))") > 120


def slider_crank() -> Mechanism:
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.spring("spring", m.ground, slider, at=((2.5, 0), B), stiffness=20.0)
    return m


def test_a_mechanism_is_assembled_anew_with_shapes_and_forces_that_follow(moved):
    m = slider_crank()
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection()}
    live = {"A.x": (0.1, 0.6), "link.mass": (0.5, 4), "spring.stiffness": (0, 100), "v0[2]": (-10, 10)}
    page = moved(view(m, 1.0, live=live, show=False, frames=51, signals="A.force", **methods))
    page.slide(**{"A.x": 0.4, "link.mass": 3.5, "spring.stiffness": 40.0, "v0[2]": 2.0})
    system, q0, v0 = m.to_system(varying=tuple(live))
    new = {"A.x": 0.4, "link.mass": 3.5, "spring.stiffness": 40.0}
    start = v0 + 2.0 * (np.arange(len(v0)) == 2)
    swept = {name: [value] for name, value in new.items()}
    runs = h.sweep(system, 1.0, q0=q0, v0=start, params=swept, save_at=51, initial="project", **methods)
    end = np.concatenate([runs.q[0, -1], runs.v[0, -1]])
    assert page.told["accepted"] + page.told["rejected"] == runs.steps[0]
    assert np.max(np.abs(np.array(page.told["x"]) - end)) <= 1e-7  # a tenth of the tolerance
    force = np.array(page.tab("Array.from(holonomic.signals.get('A.force').get(holonomic.tracks[1]).values)")).reshape(51, 3)
    assert np.allclose(force[:, :2], runs["A.force"][0], atol=1e-4 * np.abs(force).max())  # 32-bit numbers
    signal = lambda name: np.array(page.tab(f"Array.from(holonomic.signals.get('{name}').get(holonomic.tracks[1]).values)"))
    assert np.allclose(signal("O.angle"), runs["O.angle"][0], atol=1e-5)
    assert np.allclose(signal("guide.position"), runs["guide.position"][0], atol=1e-5)
    assert np.max(np.abs(signal("energy change"))) < 1e-4  # rtol = 1e-6, over some dozen steps
    page.tab.seek(1.0)
    assert "apart" not in page.tab.tab.inner_text("#legend") and page.tab("holonomic.tracks[1].apart") == 0


BOUNCING = h.System(
    mass=np.diag([1.0, 3.0]), force=lambda p: [0, -p.g], coordinates=["x", "y"], params={"g": 9.81, "e": 0.9, "far": 2.0},
    drawing=lambda q: {"ball": [q]},
)  # fmt: skip
BOUNCES = {
    "ground": h.Event(lambda q: q[1], direction="falling", then=lambda q, v, p: (q, [v[0], -p.e * v[1]])),
    "high": h.Event(lambda q: q[1] - 0.5),
    "wall": h.Event(lambda q, p: q[0] - p.far, then=lambda q, v: (q, [-v[0], v[1]])),
    "back": h.Event(lambda q: q[0] + 0.5, terminal=True),
}


def test_events_that_map_the_state_are_live(moved):
    options = {"integrator": h.RK45(), "events": BOUNCES}
    live = {"e": (0.5, 1), "g": (1, 25), "far": (1, 6)}
    page = moved(view(BOUNCING, 4.0, q0=[0, 1], v0=[1, 0], live=live, show=False, frames=51, **options))
    for e, g, far in ((0.7, 9.81, 2.0), (1.0, 20.0, 1.0), (0.8, 5.0, 6.0)):
        page.slide(e=e, g=g, far=far)
        sol = h.simulate(BOUNCING.with_params(e=e, g=g, far=far), 4.0, q0=[0, 1], v0=[1, 0], **options)
        agrees(page.told, sol, RTOL)
        found = {name: [t for k, t in page.told["events"] if k == number] for number, name in enumerate(BOUNCES)}
        for name, times in found.items():
            np.testing.assert_allclose(times, sol.events[name].t, atol=1e-6)
        assert page.told["t"] == pytest.approx(sol.t[-1], abs=1e-6) and len(found["ground"]) >= 2
    page.slide(e=1.0, g=20.0, far=1.0)
    assert page.refused.startswith("“back” ended the run at t = 2.5")


def test_an_impulse_keeps_what_is_thrown_back_on_its_constraints(moved):
    heavy = h.System(
        mass=np.diag([1.0, 2.0, 1.5, 4.0]), force=[0, -19.62, 0, -39.24],
        constraint={
            "first": lambda q, p: q[:2] @ q[:2] - p.L**2,
            "second": lambda q: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1.0,
            "moving": lambda t, q: q[2] - q[0] - 0.6 - 0.2 * np.sin(t),
        },
        params={"L": 1.0, "keep": 0.8, "jump": 0.0}, drawing=lambda q: {"rods": [(0, 0), q[:2], q[2:]]},
    )  # fmt: skip
    wall = h.Event(lambda q: q[0] + 0.6, direction="falling", then=lambda q, v, p: (q + [p.jump, 0, 0, 0], -p.keep * v))
    start = {"q0": [1, 0, 1.6, -0.8], "v0": [0, 0, 0, 0], "initial": "project"}
    options = {"integrator": h.DOP853(), "stabilization": h.Projection(), "events": {"wall": wall}}
    live = {"L": (0.8, 1.2), "keep": (0, 1), "jump": (0, 1)}
    page = moved(view(heavy, 2.0, **start, live=live, show=False, frames=51, **options))
    page.slide(L=1.05, keep=0.5)
    recorded = h.simulate(heavy, 2.0, **start, save_at=2, **options)
    changed = heavy.with_params(L=1.05, keep=0.5)
    sol = h.simulate(changed, 2.0, q0=recorded.q[0], v0=recorded.v[0], initial="project", save_at=2, **options)
    assert len(sol.events["wall"].t) >= 1
    agrees(page.told, sol, RTOL)
    page.slide(jump=0.1)
    assert ": the map of an event leaves the constraints, or no velocity is consistent there. The picture" in page.refused


def test_maps_that_a_page_cannot_have_are_named():
    opaque = h.Event(lambda q: q[1], direction="falling", then=lambda q, v: (q, [v[0], -v[1] * int(v[1] < 0)]))
    with pytest.raises(h.BadArgument, match=r"^view: then of event 'ground' cannot be traced, and a page has no Python: "):
        view(BOUNCING, 1.0, q0=[0, 1], v0=[1, 0], live={"g": (1, 25)}, events={"ground": opaque}, show=False)
    kepler = h.Ode(
        lambda y, p: np.concatenate([y[2:], -p.k * y[:2] / (y[:2] @ y[:2]) ** 1.5]), params={"k": 1.0},
        invariants={"momentum": lambda y: y[0] * y[3] - y[1] * y[2]},
    )  # fmt: skip
    push = h.Event(lambda y: y[1], then=lambda y: 1.01 * y)
    with pytest.raises(h.IncompatibleMethods, match=r"an event with then= maps its state, which may change its invariants\.$"):
        view(kepler, 3.0, y0=[0.4, 0, 0, 2], live={"k": (0.5, 2)}, events={"push": push}, integrator=h.RK45(), show=False)


def seen(page, name: str, lines: int = 1) -> np.ndarray:
    """A signal of the run that is moved, as the page shows it."""
    found = page.tab(f"Array.from(holonomic.signals.get('{name}').get(holonomic.tracks[1]).values)")
    return np.array(found, dtype=float).reshape(-1, lines)


def test_torques_of_joints_follow_the_sliders_in_the_plane(moved):
    m = Mechanism(gravity=(0, -9.81))
    link, tip = m.body("link", rod((0, 0), (1, 0), mass=1.0)), m.body("tip", rod((1, 0), (1, 0.5), mass=0.5))
    slider = m.body("slider", at=(0, 0), mass=2.0, inertia=0.1)
    m.prismatic("guide", m.ground, slider, at=(0.1, 0), axis=(1, 0))
    m.revolute("O", slider, link, at=(0, 0))
    m.fixed("weld", link, tip, at=(1, 0))
    page = moved(view(m, 2.0, live={"tip.mass": (0.1, 2), "gravity.y": (-20, 5)}, show=False, frames=41))
    page.slide(**{"tip.mass": 1.5, "gravity.y": -5.0})
    runs = h.sweep(m, 2.0, params={"tip.mass": [1.5], "gravity.y": [-5.0]}, save_at=41)
    for name in ("weld", "guide"):
        torque = runs[name].torque[0]
        np.testing.assert_allclose(seen(page, f"{name}.torque").ravel(), torque, atol=2e-5 * np.abs(torque).max())


def test_forces_and_efforts_of_coupled_joints_follow_the_sliders(moved):
    m = Mechanism(gravity=(0, -9.81))
    for k in range(3):
        m.body(f"link {k}", rod((k, 0), (k + 1, 0), mass=1.0))
    m.revolute("O", m.ground, "link 0", at=(0, 0))
    m.prismatic("A", "link 0", "link 1", at=(1, 0), axis=(1, 0))
    m.revolute("B", "link 1", "link 2", at=(2, 0))
    m.couple("tie", "B", "O", ratio=0.7)
    m.couple("lift", "B", "A", ratio=-0.2)
    m.motor("B", torque=lambda t, speed: 1.0 + t - speed)
    page = moved(view(m, 0.5, live={"link 2.mass": (0.5, 2)}, show=False, frames=41))
    page.slide(**{"link 2.mass": 1.7})
    runs = h.sweep(m, 0.5, params={"link 2.mass": [1.7]}, save_at=41)
    for name, key, lines in (("A", "torque", 1), ("B", "effort", 1), ("A", "force", 3)):
        values = np.reshape(getattr(runs[name], key)[0], (41, -1))
        shown = seen(page, f"{name}.{key}", lines)[:, : values.shape[1]]
        np.testing.assert_allclose(shown, values, atol=2e-5 * np.abs(values).max())


def test_torques_and_angles_that_count_turns_follow_the_sliders_in_space(moved):
    m = Mechanism(gravity=(0, 0, -9.81))
    arm = m.body("arm", rod((0, 0, 0), (1, 0, 0.1), mass=1.0))
    tip = m.body("tip", rod((1, 0, 0.1), (1, 0.4, 0), mass=0.5))
    m.revolute("hinge", m.ground, arm, at=(0, 0, 0), axis=(0, 0, 1))
    m.fixed("weld", arm, tip, at=(1, 0, 0.1))
    system, q, _ = m.to_system()
    v = np.array([0, 0.5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]) * 9.0
    live = {"tip.mass": (0.1, 2), "v0[5]": (2, 20)}
    page = moved(view(system, 2.0, q0=q, v0=v, initial="project", live=live, show=False, frames=41))
    page.slide(**{"tip.mass": 1.2, "v0[5]": 18.0})
    start = h.simulate(system, 0.1, q0=q, v0=v, initial="project", save_at=2).v[0]
    start[5] = 18.0
    runs = h.sweep(system, 2.0, q0=q, v0=[start], initial="project", params={"tip.mass": [1.2]}, save_at=41)
    angle, torque = runs["hinge.angle"][0], runs["weld"].torque[0]
    assert abs(angle[-1]) > 4 * np.pi
    np.testing.assert_allclose(seen(page, "hinge.angle").ravel(), angle, atol=1e-4)
    np.testing.assert_allclose(seen(page, "weld.torque", 3), torque, atol=2e-5 * np.abs(torque).max())


def test_inputs_that_are_numbers_have_sliders(moved):
    pushed = h.System(
        mass=np.eye(2), force=lambda q, u: [u.push, -9.81 + u.lift], constraint={"rod": lambda q: q @ q - 1.0},
        inputs={"wave": lambda t: np.sin(t), "push": 0.0, "lift": 1.0},
    )  # fmt: skip
    start = {"q0": [1, 0], "v0": [0, 0]}
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection()}
    page = moved(view(pushed, 2.0, **start, live={"push": (-5, 5)}, inputs={"lift": 3.0}, show=False, frames=51, **methods))
    for push in (0.0, 2.5):
        page.slide(push=push)
        sol = h.simulate(pushed, 2.0, **start, inputs={"push": push, "lift": 3.0}, save_at=2, **methods)
        agrees(page.told, sol, RTOL)
    found = h.simulate(pushed, 2.0, **start, inputs={"push": 1.5}, **methods)
    page = moved(found.view(live={"lift": (0, 5)}, show=False, frames=51))
    page.slide(lift=2.0)
    agrees(page.told, h.simulate(pushed, 2.0, **start, inputs={"push": 1.5, "lift": 2.0}, save_at=2, **methods), RTOL)


def test_what_sets_inputs_in_time_is_refused():
    pushed = h.System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0}, params={"k": 1.0})
    law = h.Controller(lambda q: -q[0], period=0.1)
    start = {"q0": [1.0], "v0": [0.0]}
    with pytest.raises(h.IncompatibleMethods, match=r"^this run cannot be live: its controllers run as Python\.$"):
        view(pushed, 1.0, **start, live={"v0[0]": (-1, 1)}, controllers={"push": law}, show=False)
    with pytest.raises(h.IncompatibleMethods, match=r"^this run cannot be live: an input is a table; pages take numbers"):
        view(pushed, 1.0, **start, live={"v0[0]": (-1, 1)}, inputs={"push": ([0, 1], [0, 1])}, show=False)


def test_pins_move_in_space_with_rods_that_follow(moved):
    m = Mechanism(gravity=(0, 0, -9.81))
    arm, tip = m.body("arm", rod((0, 0, 0), (1, 0, 0), mass=1.0)), m.body("tip", rod((1, 0, 0), (1, 0.6, 0), mass=0.5))
    m.spherical("pin", m.ground, arm, at=(0, 0, 0))
    m.revolute("hinge", arm, tip, at=(1, 0, 0), axis=(1, 0, 0))
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection()}
    page = moved(view(m, 1.0, live={"hinge.x": (0.5, 1.6)}, show=False, frames=51, **methods))
    recorded = page.tab("holonomic.painter.meshes.map(each => Array.from(each.numbers).slice(0, 6))")
    page.slide(**{"hinge.x": 1.5})
    system, q0, v0 = m.to_system(varying=("hinge.x",))
    runs = h.sweep(system, 1.0, q0=q0, v0=v0, params={"hinge.x": [1.5]}, save_at=51, initial="project", **methods)
    end = np.concatenate([runs.q[0, -1], runs.v[0, -1]])
    assert np.max(np.abs(np.array(page.told["x"]) - end)) <= 1e-7  # a tenth of the tolerance
    page.tab.seek(1.0)
    assert "apart" not in page.tab.tab.inner_text("#legend") and page.tab("holonomic.tracks[1].apart") < 1e-6
    drawn = page.tab("holonomic.painter.following.map(each => Array.from(each.numbers).slice(0, 6))")
    assert drawn != recorded and page.tab("holonomic.painter.meshes.map(each => Array.from(each.numbers).slice(0, 6))") == recorded
    assert not page.tab.errors
