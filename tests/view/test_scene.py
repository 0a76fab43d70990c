"""What a page is made of: the scene of a run, saved runs, and the file itself."""

import json
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
from cranks import slider_crank

import holonomic
from holonomic import BadArgument, Dae, HolonomicError, System, load, simulate
from holonomic.multibody import Mechanism, rod
from holonomic.problems import pendulum
from holonomic.results import drawn
from holonomic.view import view
from holonomic.view.geometry import placed
from holonomic.view.scene import scene_of


def meta_of(page) -> dict:
    return json.loads(re.search(r'id="meta">(.*?)</script>', page.html, re.DOTALL).group(1))


def test_a_saved_run_shows_what_the_run_itself_shows(crank, tmp_path):
    crank.save(tmp_path / "crank.nc")
    again = load(tmp_path / "crank.nc")
    assert drawn.scene(again) == drawn.scene(crank)
    times = crank.t[:: max(1, len(crank.t) // 7)]
    # at saved times a loaded run is what was saved, bit for bit
    assert np.array_equal(drawn.arrays(again(times))["forces"], drawn.arrays(crank(times))["forces"])
    one, other = scene_of(crank, frames=600), scene_of(again)
    # in between it is cubic over steps of about 0.5 rad, so the file has frames of its own, exact
    assert np.array_equal(other.tracks[0].poses, one.tracks[0].poses)
    assert np.array_equal(other.tracks[0].forces, one.tracks[0].forces)
    again.save(tmp_path / "again.nc")
    assert np.array_equal(scene_of(load(tmp_path / "again.nc")).tracks[0].poses, one.tracks[0].poses)
    assert other.what == one.what
    assert "A.force" in meta_of(view(again, show=False, signals="A.force"))["shown"]


def test_lines_of_a_system_are_saved_too(tmp_path):
    swing = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, drawing=lambda q: {"rod": [(0, 0), q]})
    sol = simulate(swing, 1.0, q0=[1, 0], v0=[0, 0])
    sol.save(tmp_path / "pendulum.nc")
    again = load(tmp_path / "pendulum.nc")
    assert drawn.scene(again)["lines"] == [{"name": "rod", "first": 0, "count": 2}]
    assert np.array_equal(drawn.arrays(again)["lines"], drawn.arrays(sol)["lines"])


def test_a_failed_run_keeps_its_reason_in_a_file(tmp_path):
    with pytest.raises(HolonomicError) as caught:
        simulate(System(mass=np.eye(1), force=lambda q: [-1 / np.sqrt(q[0])]), 10.0, q0=[1.0], v0=[0.0])
    sol = caught.value.solution
    assert str(caught.value) in sol.failure
    sol.save(tmp_path / "failed.nc")
    assert load(tmp_path / "failed.nc").failure == sol.failure
    assert scene_of(load(tmp_path / "failed.nc")).tracks[0].wanted_end == 10.0


def test_a_run_that_did_not_fail_has_no_failure(crank):
    assert crank.failure == ""


def test_the_page_is_one_file_and_small(crank, tmp_path):
    page = view(crank, path=tmp_path / "page.html")
    text = page.path.read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)\s*=|@import|url\(""", text)
    assert "http" not in re.sub(r"http://www\.w3\.org/\S*", "", text)
    data = len(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert len(text) - data < 200_000  # everything but the numbers; the limit was 6 MB


def test_names_cannot_break_the_page():
    m = Mechanism(gravity=(0.0, -9.81))
    m.body("</script><b>", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("@@js@@", m.ground, "</script><b>", at=(0, 0))
    page = view(simulate(m, 0.1), show=False, frames=5, title="<i>@@css@@</i>")
    assert "</script><b>" not in page.html
    assert "<i>" not in page.html
    assert meta_of(page)["what"]["bodies"][0]["name"] == "</script><b>"
    assert meta_of(page)["what"]["joints"][0]["name"] == "@@js@@"


def test_a_page_of_fifty_bodies_and_a_thousand_frames_takes_less_than_a_second():
    m = Mechanism(gravity=(0.0, -9.81))
    for k in range(50):
        m.body(f"rod {k}", rod((k, 0), (k + 0.5, 0), mass=1.0))
        m.revolute(f"pin {k}", m.ground, f"rod {k}", at=(k, 0))
    sol = simulate(m, 2.0)
    view(sol, show=False).html  # compiles what samples the run
    best = np.inf
    for _ in range(3):  # the machine may be busy
        again = sol(sol.t[-1]) and simulate(m, 2.0)
        began = time.perf_counter()
        text = view(again, show=False, frames=1000).html
        best = min(best, time.perf_counter() - began)
    assert best < 1.0
    assert len(text) < 6e6


def test_fast_rotation_gets_more_frames_and_large_mechanisms_fewer(crank):
    from holonomic.view import scene

    notes = []
    assert scene._frame_count([crank], None, notes) == 1000
    fast = simulate(slider_crank(), 2.0)
    fast.q[:, 2] = np.linspace(0, 1000, len(fast.t))
    assert scene._frame_count([fast], None, notes) == 4000
    assert not notes
    trail = SimpleNamespace(known={"scene": {"dimension": 2, "bodies": [{}] * 3000}})
    many = SimpleNamespace(q=np.zeros((2, 9000)), trail=trail)
    assert scene._frame_count([many], None, notes) == 666
    assert "frames" in notes[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sol: sol.view(show=False, frames=1), "frames"),
        (lambda sol: sol.view(show=False, style="sepia"), "sepia"),
        (lambda sol: sol.view(show=False, traces="nobody"), "nobody"),
        (lambda sol: sol.view(show=False, signals="A.colour"), "A.force"),
        (lambda sol: sol.view(path="nowhere/page.html"), "no folder"),
        (lambda sol: sol.view(sol, names=["one"], show=False), "names"),
        (lambda sol: view([], show=False), "no runs"),
        (lambda sol: view([3], show=False), "int"),
    ],
)
def test_what_cannot_be_meant_is_refused(crank, call, message):
    with pytest.raises((BadArgument, KeyError), match=message):
        call(crank)


def test_runs_side_by_side_need_the_same_bodies(crank, top):
    with pytest.raises(BadArgument, match="another mechanism"):
        crank.view(top, show=False)


@pytest.mark.parametrize(
    "made", [lambda q: 3, lambda q: {"rod": [(0,)]}, lambda q: {"a": [(0, 0)], "b": [(0, 0, 0)]}, lambda q: {}]
)
def test_a_drawing_that_is_none_is_refused(made):
    sol = simulate(System(mass=np.eye(2), force=[0, -9.81], drawing=made), 0.1, q0=[1, 0], v0=[0, 0])
    with pytest.raises(BadArgument, match="lines by name"):
        sol.view(show=False)


def test_a_drawing_of_a_dae_names_x():
    pendulum = Dae(
        order=2, f=lambda x: np.array([0, -9.81]), B=lambda x: 2 * x.reshape(2, 1), g=lambda x: x @ x - 1,
        drawing=lambda x, dx: {"rod": [(0, 0), x], "speed": [x, x + 0.1 * dx]},
    )  # fmt: skip
    sol = simulate(pendulum, 0.1, x0=[1, 0], dx0=[0, 0])
    assert sol.view(show=False).scene.dimension == 2
    lines = drawn.arrays(sol)["lines"]
    assert np.allclose(lines[-1, 1], sol.q[-1, :2]) and np.allclose(lines[-1, 3], sol.q[-1, :2] + 0.1 * sol.q[-1, 2:])


def test_a_drawing_names_states():
    motor = System(mass=[[1.0]], states={"i": lambda i: -i}, drawing=lambda q, i: {"needle": [(0, 0), (q[0], i)]})
    sol = simulate(motor, 1.0, q0=[1.0], v0=[0.0], s0=[2.0])
    assert np.allclose(drawn.arrays(sol)["lines"][-1, 1], [1.0, 2 * np.exp(-1.0)], atol=1e-6)


def test_notebooks_show_the_page_in_place(crank):
    shown = view(crank, show=False, frames=5)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown  # escaped: it belongs to the frame


def test_runs_at_chosen_times_and_single_states_have_pages(crank):
    chosen = simulate(slider_crank(), 1.0, save_at=20)
    assert len(scene_of(chosen).tracks[0].t) == 20
    assert len(scene_of(crank(np.linspace(0, 1, 7))).tracks[0].t) == 7
    assert len(scene_of(crank(0.5)).tracks[0].t) == 1


def test_parts_of_a_mechanism_are_plotted_by_dotted_names(crank, tmp_path):
    crank.save(tmp_path / "crank.nc")
    for sol in (crank, load(tmp_path / "crank.nc")):
        figure = sol.plot("A.force", "slider.position", "A")
        labels = [line.get_label() for line in figure.axes[0].get_lines()]
        assert labels[:2] == ["x", "y"]
        assert figure.axes[0].get_title(loc="right") == "N"
        shown = figure.axes[2].get_lines()[1].get_ydata()
        assert np.nanmax(np.abs(shown)) > 1.0
    with pytest.raises(KeyError, match=r"A\.force"):
        crank.plot("A.colour")


def test_comparisons_show_all_their_runs():
    found = holonomic.compare(
        pendulum(t_end=0.5), integrator=holonomic.RK4(), step=[0.05, 0.1], stabilization=[None, holonomic.Projection()], repeat=1
    )
    names = [track.name for track in found.view(show=False).scene.tracks]
    assert names == ["none, h = 0.05", "none, h = 0.1", "Projection, h = 0.05", "Projection, h = 0.1"]


def test_comparisons_are_drawn_on_axes_of_the_callers():
    from matplotlib.figure import Figure

    found = holonomic.compare(pendulum(t_end=0.2), integrator=holonomic.RK4(), step=0.05, stabilization=[None], repeat=1)
    figure = Figure()
    upper, lower = figure.subplots(2, 1)
    assert found.plot(ax=[upper, lower]) is figure
    assert len(upper.get_lines()) == 1
    with pytest.raises(BadArgument, match="2 panels"):
        found.plot(ax=upper)


def test_points_of_a_body_are_drawn_where_its_pose_puts_them():
    quarter = np.pi / 2
    plane = np.array([[1.0, 2.0, quarter]])
    np.testing.assert_allclose(placed(plane, 0, [1.0, 0.0]), [1.0, 3.0], atol=1e-15)  # to the left, as angles count
    half = np.sqrt(0.5)
    for axis, point, seen in ((0, [0, 1, 0], [0, 0, 1]), (1, [0, 0, 1], [1, 0, 0]), (2, [1, 0, 0], [0, 1, 0])):
        pose = np.array([[5.0, 6.0, 7.0, half, *(half * np.eye(3)[axis])]])
        np.testing.assert_allclose(placed(pose, 0, point), np.add([5.0, 6.0, 7.0], seen), atol=1e-15)
    np.testing.assert_array_equal(placed(plane, -1, [1.0, 0.0]), [1.0, 0.0])  # the ground
