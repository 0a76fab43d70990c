"""Environments for learning: gymnasium's own check, the numbers of single steppers, episodes that end and begin anew."""

import runpy
import sys
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from holonomic import RK4, BadArgument, MissingExtra, Ode, Stepper, System, UnknownArgument, make_env, make_vector_env
from holonomic.multibody import Mechanism, rod


def cart(**more):
    return System(
        mass=np.eye(1), force=lambda q, u: [u.push - p_of(q)], inputs={"push": 0.0, "other": 1.0}, coordinates=["x"],
        outputs={"speed": lambda v: v[0], "both": lambda q, v: [q[0], v[0]]}, **more,
    )  # fmt: skip


def p_of(q):
    return 0.2 * q[0]


def drawn(random):
    return {"q0": random.uniform(-1.0, 1.0, 1), "v0": [0.0]}


TASK = {
    "actions": {"push": (-1.0, 2.0)}, "period": 0.1, "reward": lambda q, u: -(q[0] ** 2) - 0.1 * u.push**2,
    "terminated": lambda q: np.abs(q[0]) > 1.5, "reset": drawn, "episode": 40,
}  # fmt: skip


@pytest.mark.parametrize("actions", [{"push": (-1.0, 2.0)}, {"push": [-1.0, 0.0, 1.0]}, {"push": (-1.0, 1.0), "other": (0.0, 1.0)}])
def test_gymnasium_finds_nothing_wrong(actions):
    env = make_env(cart(), **TASK | {"actions": actions})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would have observations with bounds, and actions from -1 to 1
        check_env(env, skip_render_check=True)


def test_an_episode_is_what_a_stepper_does():
    env = make_env(cart(), **TASK)
    observation, info = env.reset(seed=5)
    assert info == {"t": 0.0}
    stepper = Stepper(cart(), q0=observation[:1], v0=[0.0])
    for k in range(1, 41):
        push = np.sin(k)
        observation, reward, terminated, truncated, info = env.step(np.array([push]))
        stepper.step(0.1, u={"push": push})
        assert np.array_equal(observation, [*stepper.q, *stepper.v]) and info["t"] == stepper.t
        assert reward == pytest.approx(-(stepper.q[0] ** 2) - 0.1 * push**2, abs=1e-15)
        assert truncated == (k == 40) and not terminated
    same, _ = env.reset(seed=5)
    assert np.array_equal(same, make_env(cart(), **TASK).reset(seed=5)[0])
    assert not np.array_equal(same, env.reset(seed=6)[0])


def test_many_step_like_one_and_begin_anew_after_their_end():
    envs = make_vector_env(cart(), 3, **TASK | {"episode": 5}, starts=7)
    seen, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(seen) and envs.action_space.shape == (3, 1)
    singles = []
    for m in range(3):
        env = make_env(cart(), **TASK | {"reset": None, "episode": 5}, q0=seen[m, :1], v0=[0.0])
        env.reset()
        singles.append(env)
    for k in range(5):
        actions = np.array([[0.5 * k], [-1.0], [1.0]])
        found = envs.step(actions)
        for m, env in enumerate(singles):
            observation, reward, terminated, truncated, _ = env.step(actions[m])
            assert np.array_equal(found[0][m], observation) and found[1][m] == reward
            assert (found[2][m], found[3][m]) == (terminated, truncated)
    assert found[3].all()
    seen, reward, terminated, truncated, infos = envs.step(actions)  # ignored: they begin anew
    assert (infos["t"] == 0.0).all() and (reward == 0.0).all() and not terminated.any() and not truncated.any()
    assert (seen[:, 1] == 0.0).all() and (np.abs(seen[:, 0]) <= 1.0).all()
    assert envs.step(actions)[4]["t"].tolist() == [0.1] * 3


def test_an_end_of_its_own_is_told_and_a_failure_truncates():
    far = make_vector_env(cart(), 2, **TASK | {"reset": None}, q0=[1.4], v0=[3.0])
    far.reset(seed=0)
    _, _, terminated, truncated, _ = far.step(np.array([[0.0], [-1.0]]))
    assert terminated.tolist() == [True, True] and not truncated.any()
    wall = Ode(lambda y, u: [1.0 / (1.0 - y[0]) + u.push], inputs={"push": 0.0})
    for count in (None, 2):
        given = {"actions": {"push": (-5.0, 5.0)}, "period": 0.6, "reward": lambda y: y[0], "y0": [0.0]}
        if count is None:
            env = make_env(wall, **given)
            env.reset()
            observation, reward, terminated, truncated, info = env.step(np.array([0.0]))
            assert truncated and not terminated and reward == 0.0 and ("step" in info["failure"] or "NaN" in info["failure"])
            assert 0.0 <= observation[0] < 1.0 + 1e-6  # the tolerance
        else:
            envs = make_vector_env(wall, 2, **given)
            envs.reset(seed=0)
            _, reward, terminated, truncated, infos = envs.step(np.array([[0.0], [-5.0]]))
            assert truncated.tolist() == [True, False] and infos["_failure"].tolist() == [True, False]
            assert infos["failure"][0] and infos["failure"][1] is None and reward[0] == 0.0


def test_observations_are_functions_or_names():
    assert make_env(cart(), **TASK | {"observations": ["speed", "x"]}).reset(seed=0)[0].shape == (2,)
    assert make_env(cart(), **TASK | {"observations": "both"}).reset(seed=0)[0].shape == (2,)
    own = make_env(cart(), **TASK | {"observations": lambda q, u: [q[0], u.other, 3.0]}).reset(seed=0)[0]
    assert own[1:].tolist() == [1.0, 3.0]
    rewarded = make_env(cart(), **TASK | {"reward": "speed"})
    rewarded.reset(seed=0)
    observation, reward, *_ = rewarded.step(np.array([1.0]))
    assert reward == observation[1]


def test_functions_of_a_mechanism_name_its_parts():
    m = Mechanism(gravity=(0, -9.81))
    link = m.body("link", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("pin", m.ground, link, at=(0, 0))
    m.input("torque", 0.0)
    m.motor("pin", torque=lambda u: u.torque)
    env = make_env(
        m, actions={"torque": (-50.0, 50.0)}, period=0.05, observations=lambda pin: [np.cos(pin.angle), pin.speed],
        reward=lambda link: link.position[1], terminated=lambda q: q[1] < -0.4, integrator=RK4, step=0.01,
    )  # fmt: skip
    observation, _ = env.reset()
    assert observation == pytest.approx([1.0, 0.0])
    for _ in range(20):
        observation, reward, terminated, *_ = env.step(np.array([0.0]))
        if terminated:
            break
    assert terminated and -0.5 <= reward < -0.4


@pytest.mark.slow
def test_the_leg_of_the_gallery_learns_to_stand_within_a_minute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    began = time.process_time()
    left = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "examples" / "balance.py"))
    assert time.process_time() - began < 60.0
    assert left["scores"][0] < 20.0 and left["scores"][-1] > 180.0  # of 250
    assert np.abs(left["sol"]["seen"][-1]).max() < 0.05 and left["sol"].drift.max()["position"] < 1e-10


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"actions": {}}, "actions= is a mapping {input: (low, high)}, or {input: [value, value]} for a choice, got {}."),
        ({"actions": {"pull": (0.0, 1.0)}},
         "actions={'pull': ...}: the system has no such input that can be set; known: push, other."),
        ({"actions": {"push": (1.0, -1.0)}}, "actions['push'] must be a range (low, high) with low below high, got (1.0, -1.0)."),
        ({"actions": {"push": 3.0}}, "actions['push'] must be a range (low, high), or a list of at least two values, got 3.0."),
        ({"actions": {"push": [0.0, 1.0], "other": (0.0, 1.0)}},
         "actions['push'] is a choice between values: that goes with one input alone."),
        ({"period": 0.0}, "period=0.0 must be a positive number."),
        ({"episode": 0.5}, "episode=0.5 must be a whole number of steps, at least 1."),
        ({"reset": [1.0]}, 'reset= is a function of a random generator that returns {"q0": ..., "v0": ...}, got [1.0].'),
        ({"reset": lambda random: [1.0]}, 'reset= must return a start by names, {"q0": ..., "v0": ...}, got [1.0].'),
        ({"reward": 1.0}, "reward=1.0 must be a function, or the name of an output; known: speed, both."),
        ({"observations": ["seen"]},
         "observations=['seen']: there is no output or coordinate 'seen'; known: speed, both, reward, terminated, x."),
        ({"observations": 3}, "observations=3 must be a function, or names of outputs and coordinates."),
    ],
)  # fmt: skip
def test_bad_tasks_get_plain_words(given, text):
    for make in (lambda **task: make_env(cart(), **task), lambda **task: make_vector_env(cart(), 2, **task)):
        with pytest.raises(BadArgument) as problem:
            make(**TASK | given)
        assert str(problem.value) == text


def test_unknown_names_and_a_missing_library_are_told(monkeypatch):
    with pytest.raises(UnknownArgument, match="make_env has no argument 'dt'"):
        make_env(cart(), **TASK, dt=0.1)
    with pytest.raises(UnknownArgument, match="make_vector_env has no argument 'n_envs'"):
        make_vector_env(cart(), 2, **TASK, n_envs=3)
    with pytest.raises(BadArgument, match="make_env needs a System, an Ode, a Dae or a Problem, got int"):
        make_env(3, **TASK)
    monkeypatch.delitem(sys.modules, "holonomic.environments")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r'environments need gymnasium: pip install "holonomic\[gym\]"'):
        __import__("holonomic.environments")


def test_actions_that_are_none_are_refused_in_words():
    env = make_env(cart(), **TASK | {"actions": {"push": [-1.0, 0.0, 1.0]}})
    env.reset(seed=1)
    for action in (-1, 3, 0.5, np.nan, None):
        with pytest.raises(BadArgument, match=r"^step\(.*\): an action is a whole number from 0 to 2\.$"):
            env.step(action)
    with pytest.raises(BadArgument, match=r"^step\('push'\): an action is one of Discrete\(3\)\.$"):
        env.step("push")
    many = make_vector_env(cart(), 3, **TASK | {"actions": {"push": [-1.0, 0.0, 1.0]}})
    many.reset(seed=1)
    with pytest.raises(BadArgument, match=r"^step\(\[0, 1\]\): an action is one of Discrete\(3\) for each of them\.$"):
        many.step([0, 1])
    ranged = make_env(cart(), **TASK)
    ranged.reset(seed=1)
    with pytest.raises(BadArgument, match=r"^step\(\[0, 1\]\): an action is one of Box\(-1\.0, 2\.0, \(1,\), float64\)\.$"):
        ranged.step([0, 1])
    with pytest.raises(BadArgument, match=r"^reward= must give one number, got an array of shape \(2,\)\.$"):
        make_env(cart(), **TASK | {"reward": lambda q, v: [q[0], v[0]]})
