"""The page in a real browser: it draws what the run computed, plays, and says what is wrong."""

import numpy as np
import pytest

from holonomic import RK4, Baumgarte, Midpoint, Ode, System, simulate
from holonomic.view import view

# numbers travel as 32-bit floats
SINGLE = 2e-7


def test_page_opens_without_errors_and_asks_for_nothing_else(opened, crank):
    page = opened(view(crank, show=False))
    assert page.errors == []
    assert len(page.requests) == 1  # the file itself
    assert page.banner == ""
    assert page.inked() > 0.01
    assert page.inked(".panel canvas") > 0.01


@pytest.mark.parametrize("t", [0.0, 0.7313, 2.0])
def test_bodies_are_drawn_where_the_run_has_them(opened, crank, t):
    page = opened(view(crank, show=False, frames=501))
    page.seek(t)
    there = crank(t)
    for name in ("crank", "link", "slider", "middle"):
        # frames are 0.04 rad apart; between them the cubic with slopes by differences errs by some 0.04⁴/10
        assert page.where(name) == pytest.approx(there[name].position, abs=5e-7)
    assert page.where("A") == pytest.approx(there["A"].place, abs=5e-7)


def test_pixels_follow_the_places(opened, crank):
    page = opened(view(crank, show=False))
    page.seek(0.5)
    x, y = page("holonomic.painter.to(holonomic.where('slider'))")
    alpha = page(
        f"(() => {{ const r = Math.min(devicePixelRatio, 2), c = document.getElementById('ink').getContext('2d');"
        f" return c.getImageData(Math.round(({x} + 10) * r), Math.round({y} * r), 1, 1).data[3]; }})()"
    )
    assert alpha == 255  # the slider's block is there


def test_spatial_bodies_are_drawn_where_the_run_has_them(opened, top):
    page = opened(view(top, show=False, frames=401))
    assert page.errors == []
    assert page("Boolean(holonomic.painter.gl)")
    t = float(page("holonomic.tracks[0].tau[123]"))
    page.seek(t)
    there = top(t)
    assert page.where("wheel") == pytest.approx(there["wheel"].position, abs=SINGLE)
    assert page.where("rim") == pytest.approx(there["rim"].position, abs=SINGLE)
    before = page("[...holonomic.painter.eye]")
    page.tab.mouse.move(400, 400)
    page.tab.mouse.down()
    page.tab.mouse.move(500, 430)
    page.tab.mouse.up()
    page.frame()
    assert np.linalg.norm(np.subtract(page("[...holonomic.painter.eye]"), before)) > 0.01


# a driver that falls over as soon as it is asked
LOST = """const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  const made = get.call(this, kind, ...more);
  if (made && kind === "webgl") made.getExtension("WEBGL_lose_context").loseContext();
  return made;
};"""
TAKEN = "holonomic.painter.gl.getExtension('WEBGL_lose_context').loseContext()"  # as browsers do with the oldest of many


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("none", "This browser has no WebGL: bodies are drawn flat"),
        ("lost at once", "WebGL does not work in this browser (its context was lost at once): bodies are drawn flat"),
        ("taken away", "The browser has taken WebGL away: bodies are drawn flat"),
    ],
)
def test_space_is_drawn_flat_without_webgl_and_the_page_says_so(opened, browser_without_webgl, top, what, said):
    made = view(top, show=False)
    usual = opened(made)
    usual.seek(0.3)
    there = opened(made, **{"none": {"within": browser_without_webgl}, "lost at once": {"before": LOST}}.get(what, {}))
    there.seek(0.3)
    if what == "taken away":
        there(TAKEN)
        there.tab.wait_for_function("!holonomic.painter.gl")
        there.frame()
    assert there.banner.startswith(said)
    assert there.errors == []
    # a place on the disk off its axle, which takes up a tenth of the picture: the colour it has with WebGL, a shade apart
    colours = []
    for page in (usual, there):
        x, y, _ = page("holonomic.painter.to(holonomic.tracks[0].place(0, [0.02, 0.06, -0.06]))")
        colours.append(page.painted()[round(y), round(x)])
    assert np.abs(colours[0] - colours[1]).max() < 0.15
    assert colours[1].min() < 0.5  # blue, not the ground


def test_plays_pauses_and_scrubs(opened, crank):
    page = opened(view(crank, show=False))
    assert page("holonomic.playing")
    page.tab.wait_for_function("holonomic.frames > 4")
    page.tab.keyboard.press("Space")
    assert not page("holonomic.playing")
    page.tab.click("#play")
    assert page("holonomic.playing")
    page.tab.fill("#scrub", "1.25")
    page.frame()
    assert not page("holonomic.playing")
    assert page("holonomic.time") == pytest.approx(1.25)
    assert "1.250" in page.tab.inner_text("#clock")
    page.tab.keyboard.press("Home")
    page.tab.keyboard.press("ArrowRight")
    page.frame()
    assert page("holonomic.time") == pytest.approx(2.0 / 999)
    page.tab.focus("#ink")
    page.tab.keyboard.press("End")
    assert page("holonomic.time") == pytest.approx(2.0)


def test_signals_beside_the_picture_are_those_of_the_run(opened, crank):
    page = opened(view(crank, signals="A.force", show=False, frames=401))
    page.seek(1.0)
    shown = page("[...document.querySelectorAll('.panel select')].map(s => s.value)")
    assert shown[:3] == ["A.force", "drift", "energy"]
    force = page("[...holonomic.signals.get('A.force').get(holonomic.tracks[0]).values.slice(3 * 200, 3 * 201)]")
    assert force[:2] == pytest.approx(crank(1.0)["A"].force, rel=1e-6)
    assert force[2] == pytest.approx(np.linalg.norm(crank(1.0)["A"].force), rel=1e-6)
    page.tab.select_option(".panel select >> nth=2", "slider.position")
    page.frame()
    assert page.errors == []


def test_dark_light_names_forces_and_traces(opened, crank):
    page = opened(view(crank, show=False), color_scheme="dark")
    assert page("holonomic.dark")
    page.tab.keyboard.press("t")
    assert not page("holonomic.dark")
    page.tab.click("text=Show")
    for label in ("names", "forces at joints", "A"):
        page.tab.check(f"details label:text-is('{label}') input")
    page.frame()
    assert page("[...holonomic.show.traces]") == ["middle", "A"]
    assert "longest arrows" in page.tab.inner_text("#legend")
    assert page.errors == []


@pytest.mark.parametrize("size", [(1280, 800), (390, 780), (820, 560)])
def test_nothing_overlaps_or_sticks_out(opened, crank, size):
    page = opened(view(crank, show=False), size=size)
    page.frame()
    wide = page("document.documentElement.scrollWidth")
    assert wide <= size[0]
    header, stage, side, footer = page(
        "['header', '#stage', '#side', 'footer'].map(s => document.querySelector(s).getBoundingClientRect())"
        ".map(b => [b.top, b.bottom, b.left, b.right])"
    )
    assert header[1] <= stage[0] + 1
    assert stage[3] <= side[2] + 1 or stage[1] <= side[0] + 1
    if size[0] > 760:
        assert stage[1] <= footer[0] + 1


def test_everything_that_can_be_operated_has_a_name(opened, crank):
    page = opened(view(crank, show=False))
    bare = page(
        "[...document.querySelectorAll('button, select, input, canvas[role]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')))"
        ".map(e => e.outerHTML)"
    )
    assert bare == []


def test_a_run_that_drifts_comes_apart_beside_one_that_does_not(opened):
    from cranks import slider_crank

    m = slider_crank()
    runs = {
        name: simulate(m, 1.5, integrator=Midpoint(), step=0.02, stabilization=how)
        for name, how in {"none": None, "projected": "auto"}.items()
    }
    page = opened(view(runs, show=False))
    assert page.errors == []
    page.seek(1.5)
    apart = page("holonomic.tracks.map(t => t.apart)")
    assert apart[0] > 0
    assert apart[1] == 0
    assert "come apart: none" in page.tab.inner_text("#legend")
    page.tab.click("#runs button >> nth=0")
    page.frame()
    assert page("holonomic.tracks.map(t => t.visible)") == [False, True]


def test_systems_without_a_picture_show_one_coordinate_over_another(opened):
    def rhs(y):
        return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])

    kepler = Ode(rhs, invariants={"momentum": lambda y: y[0] * y[3] - y[1] * y[2]})
    sol = simulate(kepler, 7.0, y0=[0.4, 0, 0, 2], integrator=RK4(), step=0.05)
    page = opened(view(sol, show=False, frames=201))
    page.seek(3.5)
    assert page.errors == []
    assert page("holonomic.tracks[0].point") == pytest.approx(sol(3.5).y[:2], abs=1e-6)
    assert page.inked() > 0.01


def test_systems_may_say_how_they_look(opened):
    pendulum = System(
        mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, drawing=lambda q: {"rod": [(0, 0), q], "bob": [q]}
    )
    sol = simulate(pendulum, 2.0, q0=[1, 0], v0=[0, 0])
    page = opened(view(sol, show=False, frames=201))
    page.seek(1.0)
    assert page("Array.from(holonomic.tracks[0].L)") == pytest.approx([0, 0, *sol(1.0).q, *sol(1.0).q], abs=SINGLE)
    assert page.errors == []


def test_a_failed_run_says_how_far_it_came_and_why(opened):
    square_root = System(mass=np.eye(1), force=lambda q: [-1 / np.sqrt(q[0])])
    with pytest.raises(Exception) as caught:
        simulate(square_root, 10.0, q0=[1.0], v0=[0.0])
    page = opened(view(caught.value.solution, show=False))
    assert page.errors == []
    assert "Stopped at t = " in page.banner
    assert "of 10 s" in page.banner
    assert caught.value.solution.failure in page.banner
    assert page.inked() > 0.005


def test_numbers_that_are_not_finite_leave_the_rest_visible(opened, crank):
    page = view(crank, show=False, frames=101)
    page.scene.tracks[0].poses[50:, 1] = np.nan
    page.scene.tracks[0].signals[1].values[50:] = np.inf
    there = opened(page)
    there.seek(1.8)
    assert there.errors == []
    assert there.inked() > 0.01


def test_blown_up_runs_do_not_make_the_others_small(opened):
    from cranks import slider_crank

    m = slider_crank()
    good = simulate(m, 0.5)
    page = view([good, good], names=["good", "bad"], show=False, frames=51)
    page.scene.tracks[1].poses[20:] *= 1e9
    there = opened(page)
    there.seek(0.1)
    assert there("holonomic.painter.k") > 100  # pixels per metre


def test_thousands_of_bodies_are_drawn(opened, crank):
    page = view(crank, show=False, frames=51)
    track, what = page.scene.tracks[0], page.scene.what
    many = [body | {"name": f"{body['name']} {k}"} for k in range(1000) for body in what["bodies"]]
    page.scene.what = what | {"bodies": many}
    track.poses = np.tile(track.poses, (1, 1000, 1))
    there = opened(page)
    there.seek(1.0)
    assert there.errors == []
    assert there.inked() > 0.01


def test_stabilizations_give_names_to_runs():
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    start = {"q0": [1, 0], "v0": [0, 0], "integrator": RK4(), "step": 0.01}
    runs = [simulate(pendulum, 0.1, stabilization=how, **start) for how in (None, Baumgarte(alpha=20))]
    names = [track.name for track in view(runs, show=False).scene.tracks]
    assert len(set(names)) == 2
    assert "Baumgarte" in names[1]


@pytest.mark.parametrize("forward", [True, False])
def test_runs_backward_in_time_play_from_their_beginning(opened, forward):
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, drawing=lambda q: {"bob": [q]})
    sol = simulate(pendulum, (1.0, 3.0) if forward else (3.0, 1.0), q0=[1, 0], v0=[0, 0])
    page = opened(view(sol, show=False, frames=201))
    page.seek(2.5)
    assert page("holonomic.time") == pytest.approx(2.5)
    assert page("Array.from(holonomic.tracks[0].L)") == pytest.approx(sol(2.5).q, abs=1e-6)
    assert page.errors == []


def test_a_single_state_and_a_single_number_have_pages_too(opened, crank):
    for sol in (crank(0.3), simulate(Ode(lambda y: -y), 1.0, y0=[1.0])):
        page = opened(view(sol, show=False))
        assert page.errors == []
        assert page.inked() > 0.005


def test_events_are_marked_in_the_curves(opened):
    from holonomic import Event

    ball = System(mass=np.eye(1), potential=lambda q: 9.81 * q[0])
    hit = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.8 * v))
    page = opened(view(simulate(ball, 2.0, q0=[1.0], v0=[0.0], events={"bounce": hit}), show=False))
    assert page("holonomic.tracks[0].events.map(e => e.name)") == ["bounce"]
    assert page("holonomic.tracks[0].events[0].tau[0]") == pytest.approx(np.sqrt(2 / 9.81), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_fifty_bodies_move_thirty_times_a_second(opened, dimension):
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
    from measure_view import pendulums

    page = opened(view(simulate(pendulums(dimension), 4.0), show=False, frames=1000))
    page.tab.wait_for_timeout(2500)  # where it is slow, the page gives up shadows and pixels first
    first, start = page("[holonomic.frames, performance.now()]")
    page.tab.wait_for_timeout(2000)
    last, end = page("[holonomic.frames, performance.now()]")
    assert 1000 * (last - first) / (end - start) > 30
