"""What the fuzz of arguments tries: every public call with one argument at a time replaced by something that is not meant."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

import holonomic as h
from holonomic import multibody

RAGGED = [[1.0], [2.0, 3.0]]
NONSENSE = {
    "object": object(), "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "zero": 0, "minus one": -1, "half": 0.5, "true": True,
    "huge": 2**70, "complex": 1j, "text": "nonsense", "no text": "", "bytes": b"nonsense", "null": "a\0b", "list": [],
    "ragged": RAGGED, "texts": ["a", "b"], "nan list": [np.nan, 1.0], "many": [1.0, 2.0, 3.0, 4.0, 5.0],
    "cube": np.zeros((2, 2, 2)),
    "none inside": [None, None], "mapping": {}, "mapping of nan": {"a": np.nan}, "mapping of object": {"a": object()},
    "number key": {1: 2.0}, "function": lambda: 0.0, "function of x": lambda x: x, "type": dict, "set": {1, 2}, "none": None,
    "long": "x" * 10_000, "objects": np.array([object(), 1], dtype=object), "date": np.datetime64("2020-01-01"),
}  # fmt: skip
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@cache
def swing() -> h.System:
    return h.System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * 9.81 * q[1], constraint={"rod": lambda q: q @ q - 1},
        params={"m": 1.0}, inputs={"push": 0.0}, outputs={"height": lambda q: q[1]}, coordinates=["x", "y"],
    )  # fmt: skip


@cache
def kepler() -> h.Ode:
    energy = {"energy": lambda y, p: p.k * y[0] ** 2 + y[1] ** 2}
    return h.Ode(lambda y, p: np.array([y[1], -p.k * y[0]]), invariants=energy, params={"k": 1.0})


@cache
def sol() -> h.Solution:
    return h.simulate(swing(), 0.2, q0=[1, 0], v0=[0, 0], events={"low": lambda q: q[1] + 0.05})


@cache
def runs() -> h.Ensemble:
    return h.sweep(swing(), 0.1, q0=[1, 0], v0=[0, 0], params={"m": [1.0, 2.0, 3.0]}, save_at=3)


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="holonomic-fuzz-"))


def mechanism():
    m = multibody.Mechanism(gravity=(0, -9.81))
    bar = m.body("bar", multibody.rod((0, 0), (1, 0), mass=1.0))
    m.revolute("O", m.ground, bar, at=(0, 0))
    return m


START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def stated(kind: type, given: dict, t_end: float = 0.01, **start) -> None:
    """State a system and run it: what is not seen in the first has to be in the second."""
    h.simulate(kind(**given), t_end, **start)


def of(function: Callable, **given) -> tuple[Callable, dict, list[str]]:
    """A call that is right, and the names of all its arguments; a function without arguments among them makes one anew."""
    parameters = inspect.signature(function).parameters.values()
    return function, given, [each.name for each in parameters if each.kind not in VARIADIC and each.name != "progress"]


def system_of(kind: type, given: dict, **start) -> tuple[Callable, dict, list[str]]:
    names = [name for name in inspect.signature(kind).parameters if name not in ("args", "drawing", "derivatives")]
    return (lambda **all_of_it: stated(kind, all_of_it, **start)), given, names


CALLS: dict[str, tuple[Callable, dict, list[str]]] = {
    "simulate": of(h.simulate, system=swing, t_end=0.1, **START),
    "simulate an Ode": of(h.simulate, system=kepler, t_end=0.1, y0=[1.0, 0.0]),
    "sweep": of(h.sweep, system=swing, t_end=0.1, **START, params={"m": [1.0, 2.0]}),
    "System": system_of(h.System, {"mass": np.eye(2)}, **START),
    "Ode": system_of(h.Ode, {"rhs": lambda y: -y}, y0=[1.0]),
    "Event": of(h.Event, f=lambda q: q[0]),
    "grid": of(lambda g: h.grid(g=g), g=[1.0, 2.0]),
    "sample": of(lambda n, method, seed, g: h.sample(n, method, seed, g=g), n=4, method="sobol", seed=0, g=(1, 2)),
    "load": of(h.load, path=None),
    "sol()": of(lambda t: sol()(t), t=0.1),
    "sol[]": of(lambda name: sol()[name], name="x"),
    "sol.save": of(lambda path: sol().save(path), path=None),
    "sol.to_csv": of(lambda path, name: sol().to_csv(path, name), path=lambda: folder() / "a.csv", name="q"),
    "sol.to_dataframe": of(lambda name: sol().to_dataframe(name), name="q"),
    "sol.reaction": of(lambda name: sol().reaction(name), name="rod"),
    "sol.drift": of(lambda name: sol().drift[name], name="position"),
    "sol.events": of(lambda name: sol().events[name], name="low"),
    "runs[]": of(lambda m: runs()[m], m=0),
    "runs.mean": of(lambda name: runs().mean(name), name="q"),
    "runs.std": of(lambda name: runs().std(name), name="q"),
    "runs.extremes": of(lambda name: runs().extremes(name), name="q"),
    "runs.quantiles": of(lambda name, q: runs().quantiles(name, q), name="q", q=[0.5]),
    "with_params": of(lambda m: h.simulate(swing().with_params(m=m), 0.01, **START), m=2.0),
    "assemble": of(lambda values, speeds: mechanism().assemble(values, speeds=speeds), values=None, speeds=None),
    "rod": of(multibody.rod, start=(0, 0), end=(1, 0), mass=1.0),
    "Mechanism": of(multibody.Mechanism, gravity=(0, -9.81)),
}
METHODS = [
    each for each in vars(h).values()
    if isinstance(each, type) and each.__module__.split(".")[1] in ("integrators", "stabilizations", "formulations")
]  # fmt: skip
CALLS |= {each.__name__: of(each) for each in METHODS}


def cases() -> Iterator[tuple[str, str, str]]:
    """Every (call, argument, nonsense)."""
    for call, (_, _, names) in CALLS.items():
        for name in names:
            for value in NONSENSE:
                yield call, name, value


def run(call: str, name: str, value: str) -> None:
    """Make one call with one argument replaced."""
    function, given, _ = CALLS[call]
    made = {key: each() if callable(each) and not inspect.signature(each).parameters else each for key, each in given.items()}
    function(**made | {name: NONSENSE[value]})
