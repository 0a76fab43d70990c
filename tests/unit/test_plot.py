"""Plots: what is drawn is what was computed, without windows and without touching the caller's figures."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import holonomic
from holonomic import BadArgument, Event, Ode, System, UnknownName, simulate
from holonomic.problems import chain, kepler, pendulum, seven_body


@pytest.fixture(autouse=True)
def no_windows():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def swing():
    return simulate(pendulum(), 2.0)


@pytest.fixture(scope="module")
def ball():
    system = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], coordinates=["x", "y"])
    bounce = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q * [1, 0], v * [1, -0.8]))
    return simulate(system, 1.5, q0=[0, 1], v0=[1, 0], events={"bounce": bounce})


def lines(axes):
    """Curves of an axes, without the marks of events."""
    return [line for line in axes.get_lines() if len(line.get_xdata()) > 2]


def test_one_axes_per_name(swing, tmp_path):
    figure = swing.plot("q", "v", "a", "lam", "reactions", "drift", "energy", "x", "rod")
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 9
    assert [len(lines(axes)) for axes in figure.axes] == [2, 2, 2, 1, 2, 2, 3, 1, 1]
    assert "time" in figure.axes[-1].get_xlabel() and "(s)" in figure.axes[-1].get_xlabel()
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_without_names_q_and_drift_are_shown(swing):
    assert [axes.get_title(loc="left") for axes in swing.plot().axes] == ["Positions q", "Drift"]
    free = simulate(Ode(lambda y: -y), 1.0, y0=[1.0])
    assert [axes.get_title(loc="left") for axes in free.plot().axes] == ["State y"]


def test_curves_follow_the_dense_output(swing):
    curve = lines(swing.plot("q", points=2000).axes[0])[0]
    t, x = curve.get_data()
    assert 1000 <= len(t) <= 2001
    assert np.array_equal(x, swing(t).q[:, 0])
    assert set(swing.t) <= set(t)


def test_drift_is_logarithmic_and_never_below_the_computed_one(swing):
    axes = swing.plot("drift").axes[0]
    assert axes.get_yscale() == "log"
    drawn = max(lines(axes)[0].get_ydata())
    # points between the steps count too, so what is drawn may be larger, up to the tolerance (2 · 1e-10 in g)
    assert swing.drift.max()["position"] <= drawn <= 2e-10


def test_units_are_stated():
    figure = simulate(seven_body(), 0.002).plot("q", "v", "a", "energy", "beta", "F")
    assert [axes.get_title(loc="right") for axes in figure.axes] == ["rad", "rad/s", "rad/s²", "J", "rad", "SI units"]
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels[0] == "beta′"


def test_curves_are_parted_at_jumps_and_events_are_marked(ball):
    figure = ball.plot("v")
    t, vy = lines(figure.axes[0])[1].get_data()
    gaps = np.flatnonzero(np.isnan(vy))
    assert len(gaps) == len(ball.events["bounce"])
    bounce = ball.events["bounce"].t[0]
    assert t[gaps[0] - 1] == t[gaps[0] + 1] == bounce
    assert vy[gaps[0] - 1] < 0 < vy[gaps[0] + 1]
    marks = [line.get_xdata()[0] for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2]
    assert marks == ball.events["bounce"].t.tolist()
    assert "bounce (2)" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_given_axes_are_used_and_pyplot_is_left_alone(swing):
    figure = Figure()
    above, below = figure.subplots(2)
    before = pyplot.get_fignums()
    assert swing.plot("q", "v", ax=[above, below]) is figure
    assert swing.plot("x", ax=above, color="black", linewidth=3) is figure
    assert pyplot.get_fignums() == before
    assert above.get_lines()[-1].get_linewidth() == 3
    with pytest.raises(BadArgument, match="2 axes for 1 names"):
        swing.plot("q", ax=[above, below])


def test_settings_of_the_caller_stay(swing):
    before = dict(pyplot.rcParams)
    swing.plot("q", style="dark")
    assert dict(pyplot.rcParams) == before


def test_dark_figures_are_dark(swing):
    assert to_hex(swing.plot("q", style="dark").get_facecolor()) == "#14171c"
    assert to_hex(swing.plot("q").get_facecolor()) == "#ffffff"
    with pytest.raises(BadArgument, match="'light' or 'dark'"):
        swing.plot("q", style="blue")


def test_unknown_names_are_refused(swing):
    with pytest.raises(UnknownName, match="no quantity 'wing'"):
        swing.plot("wing")
    with pytest.raises(UnknownName):
        simulate(kepler(), 0.5).plot("reactions")


def test_notebooks_show_the_figure(swing):
    assert swing.plot("q")._repr_png_().startswith(b"\x89PNG")


def test_many_lines_get_a_short_legend():
    figure = simulate(chain(n=10), 0.1).plot("q")
    assert len(lines(figure.axes[0])) == 20
    assert len(figure.axes[0].get_legend().get_texts()) == 6


def test_one_time_and_chosen_times_are_drawn_as_points_and_lines(swing):
    assert len(swing(0.5).plot("q", "drift", "rod").axes) == 3
    t = np.linspace(0, 1, 7)
    assert lines(swing(t).plot("q").axes[0])[0].get_xdata().tolist() == t.tolist()


def test_phase_plots(swing, ball):
    axes = swing.phase("x").axes[0]
    curve = lines(axes)[0]
    assert len(curve.get_xdata()) > 1000
    assert curve.get_xdata()[-1] == swing.q[-1, 0] and curve.get_ydata()[-1] == swing.v[-1, 0]
    assert "x′" in axes.get_ylabel()
    assert ball.phase("x", "y", style="dark").axes[0].get_aspect() == 1.0
    with pytest.raises(BadArgument, match="needs a coordinate"):
        swing.phase("rod")
    with pytest.raises(BadArgument, match="one coordinate"):
        swing.phase()


def test_loaded_runs_are_plotted_too(ball, tmp_path):
    ball.save(tmp_path / "run.nc")
    figure = holonomic.load(tmp_path / "run.nc").plot("q", "v", "energy")
    vy = lines(figure.axes[1])[1].get_ydata()
    assert np.count_nonzero(np.isnan(vy)) == len(ball.events["bounce"])
    assert "bounce (2)" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_runs_backward_and_kept_times_are_plotted():
    back = simulate(pendulum(), (1.0, 0.0)).plot("q")
    assert back.axes[0].get_xlim() == (0.0, 1.0)
    kept = simulate(pendulum(), 1.0, save_at=5).plot("q").axes[0]
    assert len(lines(kept)[0].get_xdata()) > 500


def test_plotting_needs_no_display(tmp_path):
    program = (
        "import numpy as np; from holonomic import System, simulate\n"
        "sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1])\n"
        f"sol.plot('q').savefig({str(tmp_path / 'q.svg')!r})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / "q.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": 0}, "points=0 must be a whole number between 2 and 10000000."),
        ({"points": np.nan}, "points=nan must be a whole number between 2 and 10000000."),
        ({"ax": 1}, "ax= is an Axes of Matplotlib, or several of them, got 1."),
        ({"style": ["dark"]}, "style=['dark']: choose 'light' or 'dark'."),
        ({"colour": 2}, "Matplotlib does not draw a line with colour=2: Line2D.set() got an unexpected keyword argument 'colour'."),
    ],
)
def test_what_no_plot_can_mean_is_told_in_plain_words(swing, options, words):
    for draw in (swing.plot, swing.phase):
        with pytest.raises(BadArgument) as refused:
            draw("x", **options)
        assert str(refused.value) == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": 2.5}, "frames=2.5 must be a whole number between 2 and 100000."),
        ({"signals": {"q": 1}}, "signals= is a list of names, such as ['energy'], got {'q': 1}."),
        ({"traces": [1]}, "traces= has 1, which is no name. Write traces=['A']."),
        ({"forces": "yes"}, "forces='yes': choose True or False."),
        ({"title": 7}, "title=7 must be a text."),
        ({"show": 1}, "show=1: choose True or False."),
    ],
)
def test_what_no_page_can_mean_is_told_in_plain_words(swing, tmp_path, options, words):
    with pytest.raises(BadArgument) as refused:
        swing.view(path=tmp_path / "page.html", **options)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fps": "fast"}, "fps='fast' must lie between 0 and 100 frames a second."),
        ({"seconds": True}, "seconds=True must lie between 0 and 3600."),
        ({"dpi": 0}, "dpi=0 must lie between 10 and 1000."),
        ({"size": 4}, "size=4: give width and height in inches, such as (8, 4.5)."),
        ({"size": (4, np.nan)}, "size[1]=nan must lie between 0.5 and 100 inches."),
    ],
)
def test_what_no_film_can_mean_is_told_in_plain_words(swing, tmp_path, options, words):
    with pytest.raises(BadArgument) as refused:
        swing.animate(tmp_path / "film.gif", **options)
    assert str(refused.value) == words
