"""Environments for learning, as gymnasium knows them: one, or many side by side on threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .arguments import GivenStart, brought, check_kind, refuse_unknown
from .batch_stepper import BatchStepper
from .errors import BadArgument, MissingExtra
from .model.call_by_name import FULL
from .model.extra_states import allowed
from .model.function_signature import taken
from .model.given_numbers import is_whole, positive
from .model.system import Ode, System
from .multibody import Mechanism

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise MissingExtra('environments need gymnasium: pip install "holonomic[gym]".') from None

STARTS = 1024  # that a vector environment draws beforehand: each takes about 0.2 ms


def make_env(
    system, *, actions: Mapping[str, Any], period: float, observations=None, reward=None, terminated=None, reset=None,
    episode: int | None = None, **run,
) -> Environment:  # fmt: skip
    """Make an environment of gymnasium (extra `gym`) out of a system.

    What is observed, the reward and the end of an episode are plain functions, as outputs are: they name what they need of
    `t, q, v, a, lam, p, u`, states, or of the parts of a mechanism, and are compiled with the system. Each looks at a step's end.

    Parameters
    ----------
    system : System, Ode, Problem or Mechanism
        What to simulate.
    actions : {input: (low, high)} or {input: [value, value, ...]}
        The inputs that an action sets, held over a step: in a range, which makes a Box; or one input with the values it may
        take, which makes a Discrete.
    period : float
        Time of one step, s; the integrator takes as many steps of its own as the tolerance asks for.
    observations : function or sequence of str, optional
        What is observed: a function that returns numbers, or names of outputs and coordinates. Positions and velocities, if
        not given.
    reward : function or str, optional
        The reward of a step, one number, or the name of an output; 0 if not given.
    terminated : function or str, optional
        Whether the episode has come to its end, such as `lambda q: np.abs(q[0]) > 2.4`.
    reset : function, optional
        Takes a random generator and returns a start by names, `{"q0": ..., "v0": ...}`. The given start, if not given.
    episode : int, optional
        Steps after which an episode is truncated.
    **run
        The start and how to simulate, as in `BatchStepper`: `q0`, `v0`, `integrator`, `step`, `rtol`, `initial` and so on.

    Returns
    -------
    Environment
        A `gymnasium.Env`. A step that cannot be made, at a singular position for example, truncates the episode, and
        `info["failure"]` says why.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, make_env
    >>> cart = System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0})
    >>> env = make_env(cart, actions={"push": (-1.0, 1.0)}, period=0.1, reward=lambda q: -(q[0] ** 2), episode=50,
    ...                q0=[1.0], v0=[0.0])
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(np.array([-1.0]))
    >>> observation.round(4), terminated, truncated
    (array([ 0.995, -0.1  ]), False, False)
    """
    refuse_unknown(make_env, (), run, system, passed_on=BatchStepper)
    return Environment(Task("make_env", system, actions, period, observations, reward, terminated, reset, episode, run))


def make_vector_env(
    system, count: int, *, actions: Mapping[str, Any], period: float, observations=None, reward=None, terminated=None, reset=None,
    episode: int | None = None, starts: int = STARTS, workers: int | None = None, **run,
) -> VectorEnvironment:  # fmt: skip
    """Make many environments of one system that step together, on threads and without Python's lock.

    Parameters
    ----------
    system, actions, period, observations, reward, terminated, reset, episode, **run
        As in `make_env`.
    count : int
        How many environments there are.
    starts : int
        How many starts `reset` draws beforehand; episodes begin with one of these, chosen at random.
    workers : int, optional
        Number of threads; all cores if not given.

    Returns
    -------
    VectorEnvironment
        A `gymnasium.vector.VectorEnv`. An environment whose episode is over begins again in the next step, whose action it ignores
        (AutoresetMode.NEXT_STEP).

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, make_vector_env
    >>> cart = System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0})
    >>> envs = make_vector_env(cart, 3, actions={"push": (-1.0, 1.0)}, period=0.1, q0=[1.0], v0=[0.0])
    >>> observations, infos = envs.reset(seed=0)
    >>> envs.step(np.array([[-1.0], [0.0], [1.0]]))[0][:, 0].round(4)
    array([0.995, 1.   , 1.005])
    """
    refuse_unknown(make_vector_env, (), run, system, passed_on=BatchStepper)
    if not is_whole(starts, 1):
        raise BadArgument(f"starts={starts!r} must be a whole number, at least 1.")
    task = Task("make_vector_env", system, actions, period, observations, reward, terminated, reset, episode, run)
    return VectorEnvironment(task, count, starts, workers)


class Task:
    """What an environment is about: the system with what is observed and rewarded, its actions and starts; see `make_env`."""

    def __init__(self, call: str, system, actions, period, observations, reward, terminated, reset, episode, run):
        run = dict(run)
        start = GivenStart(**{name: run.pop(name) for name in list(run) if name in GivenStart._fields})
        stated, _, self.start = brought(system, None, start)
        check_kind(call, stated)
        self.period = positive(period, "period", "an action is held for that time, s.")
        if episode is not None and not is_whole(episode, 1):
            raise BadArgument(f"episode={episode!r} must be a whole number of steps, at least 1.")
        if reset is not None and not callable(reset):
            raise BadArgument(f'reset= is a function of a random generator that returns {{"q0": ..., "v0": ...}}, got {reset!r}.')
        self.episode, self.draw, self.run = episode, reset, run
        outputs = dict(stated.outputs or {})
        for name, given in (("observations", observations), ("reward", reward), ("terminated", terminated)):
            if callable(given):
                if name in outputs:
                    raise BadArgument(f"the system has an output {name!r}: leave out {name}=, and it is taken.")
                outputs[name] = _seen(system, stated, given)
            elif isinstance(given, str) and name != "observations" and given in outputs:
                outputs[name] = outputs[given]
            elif given is not None and name != "observations":
                known = ", ".join(outputs) or "none"
                raise BadArgument(f"{name}={given!r} must be a function, or the name of an output; known: {known}.")
        self.names = None if observations is None or callable(observations) else _listed(observations, outputs, stated)
        self.system = replace(stated, outputs=outputs or None)
        self.inputs, self.values, self.space = _actions(actions, stated.inputs or {})

    def begin(self, count: int, workers: int | None) -> BatchStepper:
        """Return steppers of this task."""
        given = {name: value for name, value in self.start._asdict().items() if value is not None}
        if self.draw is not None:
            given |= self.drawn(np.random.default_rng(0))
        batch = BatchStepper(self.system, count, **given, workers=workers, **self.run)
        for name in ("reward", "terminated"):
            shape = batch.plan.model.output_shapes.get(name, ())
            if np.prod(shape) != 1:
                raise BadArgument(f"{name}= must give one number, got an array of shape {shape}.")
        return batch

    def drawn(self, random: np.random.Generator) -> dict[str, Any]:
        """Return a start by names."""
        found = self.draw(random)
        if not isinstance(found, Mapping) or not found or set(found) - set(GivenStart._fields):
            raise BadArgument(f'reset= must return a start by names, {{"q0": ..., "v0": ...}}, got {found!r}.')
        return dict(found)

    def set_by(self, actions: np.ndarray, count: int) -> dict[str, np.ndarray]:
        """The inputs that actions of all members set."""
        try:
            given = np.asarray(actions, dtype=float).reshape(count, len(self.inputs))
        except (TypeError, ValueError):
            each = " for each of them" if count > 1 else ""
            raise BadArgument(f"step({actions!r}): an action is one of {self.space}{each}.") from None
        if self.values is None:
            return {name: given[:, j] for j, name in enumerate(self.inputs)}
        given = given[:, 0]
        which = given.astype(np.int64) if given.min() >= 0.0 and given.max() < len(self.values) else None
        if which is None or (which != given).any():
            raise BadArgument(f"step({actions!r}): an action is a whole number from 0 to {len(self.values) - 1}.")
        return {self.inputs[0]: self.values[which]}

    def observed(self, batch: BatchStepper) -> np.ndarray:
        """What is observed of all members."""
        outputs = batch.outputs
        if self.names is None:
            own = outputs.get("observations")
            return np.hstack([batch.q, batch.v]) if own is None else own.reshape(len(batch), -1).copy()
        q, labels = batch.q, list(batch.plan.model.coordinates)
        parts = [outputs[name].reshape(len(batch), -1) if name in outputs else q[:, [labels.index(name)]] for name in self.names]
        return np.hstack(parts)

    def judged(self, batch: BatchStepper) -> tuple[np.ndarray, np.ndarray]:
        """Rewards, and which members have come to an end of their own."""
        outputs, n = batch.outputs, len(batch)
        reward = outputs["reward"].reshape(n).copy() if "reward" in outputs else np.zeros(n)
        return reward, outputs["terminated"].reshape(n) != 0.0 if "terminated" in outputs else np.zeros(n, dtype=bool)


class Environment(gymnasium.Env):
    """One environment; see `make_env`."""

    def __init__(self, task: Task):
        self._task, self._batch = task, task.begin(1, 1)
        self.action_space = task.space
        self.observation_space = _box(task.observed(self._batch).shape[1])
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """Begin an episode; return what is observed, and {"t": time}."""
        super().reset(seed=seed)
        if self._task.draw is not None:
            self._batch.prepare(**self._task.drawn(self.np_random))
        self._batch.reset()
        self._steps = 0
        return self._task.observed(self._batch)[0], {"t": float(self._batch.t[0])}

    def step(self, action):
        """Hold an action for one period; return observation, reward, terminated, truncated, and {"t": time}."""
        batch, task = self._batch, self._task
        failed = batch.step(task.period, u=task.set_by(action, 1))
        self._steps += 1
        reward, over = task.judged(batch)
        info: dict[str, Any] = {"t": float(batch.t[0])}
        if failed:
            info["failure"] = failed[0]
        truncated = bool(failed) or (task.episode is not None and self._steps >= task.episode)
        return task.observed(batch)[0], 0.0 if failed else float(reward[0]), bool(over[0]) and not failed, truncated, info


class VectorEnvironment(VectorEnv):
    """Many environments that step together; see `make_vector_env`."""

    def __init__(self, task: Task, count: int, starts: int, workers: int | None):
        self._task, self._batch, self._drawn = task, task.begin(count, workers), starts
        self.num_envs, self.metadata = count, {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_action_space = task.space
        self.single_observation_space = _box(task.observed(self._batch).shape[1])
        self.action_space = batch_space(self.single_action_space, count)
        self.observation_space = batch_space(self.single_observation_space, count)
        self._steps, self._over = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """Begin episodes in all environments; with a seed, starts are drawn anew."""
        super().reset(seed=seed)
        if self._task.draw is not None and (seed is not None or self._batch.starts == 1):
            found = [self._task.drawn(self.np_random) for _ in range(self._drawn)]
            self._batch.prepare(**{name: np.array([each[name] for each in found]) for name in found[0]})
        self._begin(np.ones(self.num_envs, dtype=bool))
        return self._task.observed(self._batch), {"t": self._batch.t}

    def _begin(self, members: np.ndarray) -> None:
        self._batch.reset(members, self.np_random.integers(self._batch.starts, size=int(members.sum())))
        self._steps[members], self._over[members] = 0, False

    def step(self, actions):
        """Hold an action in each environment for one period; those that were over begin anew instead."""
        batch, task, again = self._batch, self._task, self._over
        going = ~again
        if np.any(again):
            again = again.copy()
            self._begin(again)
        u = task.set_by(actions, self.num_envs)
        failed = batch.step(task.period, u=u, members=going) if np.any(going) else {}
        self._steps += going
        reward, over = task.judged(batch)
        reward, over = np.where(going, reward, 0.0), over & going
        truncated = going & (self._steps >= task.episode) if task.episode is not None else np.zeros(self.num_envs, dtype=bool)
        infos: dict[str, Any] = {"t": batch.t}
        if failed:
            lost = np.array(sorted(failed))
            reward[lost], over[lost], truncated[lost] = 0.0, False, True
            why = np.full(self.num_envs, None, dtype=object)
            why[lost] = [failed[m] for m in lost.tolist()]
            infos |= {"failure": why, "_failure": np.isin(np.arange(self.num_envs), lost)}
        self._over = over | truncated
        return task.observed(batch), reward, over, truncated, infos


def _box(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float64)


def _seen(system, stated: System | Ode, function: Callable) -> Callable:
    """A function of the state, or of the parts of a mechanism, as an output."""
    known = stated.names if isinstance(stated, Ode) else allowed(stated, "output", FULL)
    if not isinstance(system, Mechanism) or all(one.name in known for one in taken(function, "a function", known).parameters):
        return function
    return system.quantity(function)


def _listed(given, outputs: Mapping[str, Any], stated: System | Ode) -> tuple[str, ...]:
    """The names of what is observed."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else ()
    known = [*outputs, *(stated.coordinates or ())]
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise BadArgument(f"observations={given!r}: there is no output or coordinate {name!r}; known: {there}.")
    if not names:
        raise BadArgument(f"observations={given!r} must be a function, or names of outputs and coordinates.")
    return names


def _actions(given, own: Mapping[str, Any]) -> tuple[list[str], np.ndarray | None, spaces.Space]:
    """The inputs that actions set, the values of a discrete one, and the space of actions."""
    if not isinstance(given, Mapping) or not given:
        text = f"actions= is a mapping {{input: (low, high)}}, or {{input: [value, value]}} for a choice, got {given!r}."
        raise BadArgument(text)
    for name, each in given.items():
        if name not in own or callable(own[name]):
            known = ", ".join(one for one, value in own.items() if not callable(value)) or "none"
            raise BadArgument(f"actions={{{name!r}: ...}}: the system has no such input that can be set; known: {known}.")
        try:
            values = np.array(each, dtype=float)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.ndim != 1 or len(values) < 2 or not np.all(np.isfinite(values)):
            raise BadArgument(f"actions[{name!r}] must be a range (low, high), or a list of at least two values, got {each!r}.")
        if isinstance(each, tuple) and (len(values) != 2 or not values[0] < values[1]):
            raise BadArgument(f"actions[{name!r}] must be a range (low, high) with low below high, got {each!r}.")
        if not isinstance(each, tuple) and len(given) > 1:
            raise BadArgument(f"actions[{name!r}] is a choice between values: that goes with one input alone.")
    names, first = list(given), next(iter(given.values()))
    if not isinstance(first, tuple):
        return names, np.array(first, dtype=float), spaces.Discrete(len(first))
    low, high = np.array([given[name] for name in names], dtype=float).T
    return names, None, spaces.Box(low, high, dtype=np.float64)
