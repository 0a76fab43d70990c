"""Pictures of very many bodies leave out what nobody asks for, and say so."""

import numpy as np
import pytest

from holonomic import BadArgument, load, simulate
from holonomic.multibody import Mechanism
from holonomic.results import drawn
from holonomic.view import scene, signals, thinning


def rope(links: int = 12):
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * links, 0)), links=links, mass=0.1 * links, first=m.ground)
    m.point("tip", f"rope {links - 1}", (0.1 * links, 0.0))
    return simulate(m, 0.05, save_at=5, compile="never")


@pytest.fixture
def few(monkeypatch):
    """Let ten bodies be many."""
    for room in (scene, signals, thinning):
        monkeypatch.setattr(room, "MANY", 10)
    monkeypatch.setattr(drawn, "MANY_JOINTS", 10)


def test_forces_and_signals_of_many_are_drawn_where_they_are_asked_for(few):
    sol = rope()
    made = scene.scene_of([sol])
    assert made.tracks[0].forces.shape[1] == 0 and {s.group for s in made.tracks[0].signals} == {"Run"}
    assert [note.split()[0] for note in made.notes] == ["Forces", "Signals"]
    asked = scene.scene_of([sol], forces=True, signals=["rope pin 3.force"])
    assert asked.tracks[0].forces.shape[1] == 12
    assert np.allclose(asked.tracks[0].forces[:, 3], sol["rope pin 3"].force)
    assert "rope pin 3.force" in {s.name for s in asked.tracks[0].signals}


def test_few_bodies_have_forces_and_signals():
    made = scene.scene_of([rope()])
    assert made.tracks[0].forces.shape[1] == 12 and len(made.tracks[0].signals) > 12 and not made.notes


def test_beyond_the_most_bodies_one_of_so_many_is_drawn(few, monkeypatch):
    monkeypatch.setattr(thinning, "MOST_BODIES", 6)
    sol = rope()
    made = scene.scene_of([sol])
    names = [body["name"] for body in made.what["bodies"]]
    assert names == [f"rope {k}" for k in range(0, 12, 2)]
    assert "One body of 2 is drawn, 6 of 12" in made.notes[1]
    assert np.array_equal(made.tracks[0].poses[:, 1, :2], sol["rope 2"].position)
    assert [joint["name"] for joint in made.what["joints"]] == ["rope pin 0"]  # on the ground; others lost an end
    sol.view(path=None, show=False)
    with pytest.raises(BadArgument, match="no point, body or joint 'rope 1'"):
        scene.scene_of([sol], traces=["rope 1"])


def test_a_chain_is_saved_and_read(tmp_path, few):
    sol = rope()
    sol.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc")
    assert np.array_equal(again["rope 11"].position, sol["rope 11"].position)
    assert np.array_equal(again["rope pin 3"].force, sol["rope pin 3"].force)
