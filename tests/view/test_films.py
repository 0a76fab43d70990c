"""Films: they move, end where they should, and say what is missing."""

import sys

import numpy as np
import pytest
from cranks import slider_crank
from PIL import Image

from holonomic import RK4, BadArgument, MissingExtra, Ode, simulate
from holonomic.view.geometry import bounds, path_of, placed
from holonomic.view.scene import scene_of


def frames_of(path):
    film = Image.open(path)
    for k in range(film.n_frames):
        film.seek(k)
        yield np.asarray(film.convert("RGB"), dtype=int)


def test_a_gif_of_a_planar_mechanism_moves(crank, tmp_path):
    path = crank.animate(tmp_path / "crank.gif", seconds=0.4, fps=10, traces="A", forces=True, size=(4, 3), dpi=60)
    first, *rest = frames_of(path)
    assert len(rest) == 3
    assert first.shape == (180, 240, 3)
    for frame in rest:  # the crank has turned: more than a hundredth of the picture is another
        assert np.mean(np.abs(frame - first).max(axis=2) > 40) > 0.01


def test_a_gif_of_a_spatial_mechanism_moves(top, tmp_path):
    path = top.animate(tmp_path / "top.gif", seconds=0.3, fps=10, panels=(), style="dark", size=(3, 3), dpi=60, forces=True)
    first, *rest = frames_of(path)
    assert np.mean(np.abs(rest[-1] - first).max(axis=2) > 40) > 0.01
    assert first[0, -1].max() < 60  # dark in the corner


def test_a_run_without_a_picture_is_a_phase_portrait(tmp_path):
    sol = simulate(Ode(lambda y: np.array([y[1], -y[0]])), 6.0, y0=[1.0, 0.0], integrator=RK4(), step=0.1)
    first, *rest = frames_of(sol.animate(tmp_path / "circle.gif", seconds=0.3, fps=10, size=(3, 3), dpi=60))
    assert np.any(rest[0] != first)


def test_an_mp4_is_written_by_ffmpeg(crank, tmp_path):
    from holonomic.view.films import ffmpeg

    try:
        ffmpeg()
    except MissingExtra:
        pytest.skip("needs ffmpeg: pip install 'holonomic[view]'")
    path = crank.animate(tmp_path / "crank.mp4", seconds=0.3, size=(3, 2), dpi=60)
    assert path.read_bytes()[4:8] == b"ftyp"


def test_without_ffmpeg_the_message_names_what_to_install(crank, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=r'pip install "holonomic\[view\]"'):
        crank.animate(tmp_path / "crank.mp4")
    assert not (tmp_path / "crank.mp4").exists()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("film.avi", {}, r"\.gif or \.mp4"),
        ("nowhere/film.gif", {}, "no folder"),
        ("film.gif", {"fps": 0}, "fps"),
        ("film.gif", {"seconds": -1}, "seconds"),
        ("film.gif", {"seconds": 3000}, "too many"),
        ("film.gif", {"panels": ("nothing",)}, "nothing"),
        ("film.gif", {"traces": "nobody"}, "nobody"),
        ("film.gif", {"style": "sepia"}, "sepia"),
    ],
)
def test_what_cannot_be_meant_is_refused(crank, tmp_path, name, options, message):
    with pytest.raises((BadArgument, KeyError), match=message):
        crank.animate(tmp_path / name, **options)


def test_places_are_those_of_the_run(crank, top):
    for sol, body, point in ((crank, "link", "middle"), (top, "wheel", "rim")):
        scene = scene_of(sol, frames=50)
        there = sol(scene.tracks[0].t)
        assert path_of(scene.what, scene.tracks[0], point) == pytest.approx(there[point].position, abs=1e-12)
        assert path_of(scene.what, scene.tracks[0], body) == pytest.approx(there[body].position, abs=1e-12)


def test_bounds_hold_everything_and_leave_out_runs_that_fly_apart(crank):
    scene = scene_of([crank, crank], names=["a", "b"], frames=50)
    low, high = bounds(scene_of(crank, frames=50))
    scene.tracks[1].poses[10:] *= 1e6
    assert bounds(scene)[1] == pytest.approx(high)
    poses = scene.tracks[0].poses[25]
    assert np.all(placed(poses, 2, (0.0, 0.0)) <= high + 1e-9)
    assert np.all(low <= placed(poses, 0, (0.0, 0.0)))


def test_several_runs_lie_one_over_the_other(tmp_path):
    m = slider_crank()
    runs = [simulate(m, 0.5, integrator=RK4(), step=0.02, stabilization=how) for how in (None, "auto")]
    path = runs[0].animate(tmp_path / "both.gif", runs[1], seconds=0.2, fps=10, size=(4, 2), dpi=60, names=["one", "two"])
    assert len(list(frames_of(path))) == 2
