"""What the fuzz of arguments tries: every public call with one argument at a time replaced by something that is not meant."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

import holonomic as h
from holonomic import multibody, view

RAGGED = [[1.0], [2.0, 3.0]]
NONSENSE = {
    "object": object(), "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "zero": 0, "minus one": -1, "half": 0.5, "true": True,
    "huge": 2**70, "complex": 1j, "text": "nonsense", "no text": "", "bytes": b"nonsense", "null": "a\0b", "list": [],
    "ragged": RAGGED, "texts": ["a", "b"], "nan list": [np.nan, 1.0], "many": [1.0, 2.0, 3.0, 4.0, 5.0],
    "cube": np.zeros((2, 2, 2)),
    "none inside": [None, None], "mapping": {}, "mapping of nan": {"a": np.nan}, "mapping of object": {"a": object()},
    "number key": {1: 2.0}, "function": lambda: 0.0, "function of x": lambda x: x, "type": dict, "set": {1, 2}, "none": None,
    "long": "x" * 10_000, "objects": np.array([object(), 1], dtype=object), "date": np.datetime64("2020-01-01"),
    "digit": "1", "digits": ["1.0", "0.0"], "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "duration": np.timedelta64(1, "s"), "durations": np.array([1, 2], dtype="timedelta64[s]"), "a text among": [1.0, "0"],
    "giving none": lambda: None, "giving text": lambda: "a", "giving nan": lambda: np.nan, "giving complex": lambda: 1j,
    "giving ragged": lambda: RAGGED, "giving a mapping": lambda: {"a": 1.0}, "giving many": lambda: np.ones(5),
    "giving an object": lambda: object(), "giving cubes": lambda: np.ones((2, 2, 2)),
    "mapping of none": {"a": lambda: None}, "mapping of text": {"a": lambda: "a"}, "mapping of functions": {"a": lambda x: x},
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


def pendulum_at_rest():
    m = mechanism()
    m.torsion_spring("O", stiffness=100.0)
    return m


ONE = {"q0": [1.0], "v0": [0.0]}
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


@cache
def picture():
    return h.simulate(mechanism(), 0.01, save_at=3)


@cache
def comparison() -> h.Comparison:
    return h.compare(swing(), 0.02, **START, integrator=h.RK4(), step=[0.01, 0.005], repeat=1)


@cache
def precision() -> h.WorkPrecision:
    return h.work_precision(swing(), 0.02, **START, rtol=[1e-3, 1e-4], repeat=1)


@cache
def diagnosis() -> h.Diagnosis:
    return h.diagnose(swing(), 0.02, q0=[1.0, 0.0], v0=[0.0, 0.0])


def stated(kind: Callable, given: dict, t_end: float = 0.01, **start) -> h.Solution:
    """State a system and run it: what is not seen in the first has to be in the second, or in the drawing."""
    sol = h.simulate(kind(**given), t_end, max_steps=200, **start)
    if given.get("drawing") is not None:
        sol.view(path=folder() / "drawn.html", frames=2)
    for name in given.get("outputs") or ():
        assert np.all(np.isfinite(sol[name])), f"output {name} is not finite"
    return sol


def of(function: Callable, /, **given) -> tuple[Callable, dict, list[str]]:
    """A call that is right, and the names of all its arguments; a function without arguments among them makes one anew."""
    parameters = inspect.signature(function).parameters.values()
    return function, given, [each.name for each in parameters if each.kind not in VARIADIC and each.name != "progress"]


def system_of(kind: Callable, given: dict, *more: str, **start) -> tuple[Callable, dict, list[str]]:
    function, _, names = of(kind)
    return (lambda **all_of_it: stated(function, all_of_it, **start)), given, [*names, *more]


MORE = ("params", "inputs", "outputs", "coordinates", "trace")  # of ways to state a system that hand on what they get


def named(given: Callable, trace: bool) -> Callable:
    """A call that states a system with one named thing, which is all of its argument."""

    def call(each):
        arguments, start = given(each)
        stated(h.System if "q0" in start else h.Ode, arguments | {"trace": trace}, **start)

    return call


# one thing under its name, and the start of the system that it belongs to
NAMED = {
    "an input": lambda each: ({"mass": 1.0, "force": lambda q, u: -u.k * q, "inputs": {"k": each}}, ONE),
    "a parameter": lambda each: ({"mass": lambda p: p.m, "params": {"m": each}}, ONE),
    "an output": lambda each: ({"mass": np.eye(2), "outputs": {"out": each}}, START),
    "a state": lambda each: ({"mass": np.eye(2), "states": {"z": each}}, START | {"s0": [1.0]}),
    "an algebraic variable": lambda each: ({"mass": np.eye(2), "algebraic": {"z": each}}, START | {"w0": [1.0]}),
    "a constraint": lambda each: ({"mass": np.eye(2), "constraint": {"rod": each}}, START),
    "a nonholonomic constraint": lambda each: ({"mass": np.eye(2), "nonholonomic": {"wheel": each}}, START),
    "an invariant": lambda each: ({"rhs": lambda y: -y, "invariants": {"i": each}}, {"y0": [1.0]}),
    "a coordinate": lambda each: ({"mass": np.eye(2), "coordinates": ["x", each]}, START),
    "a kind of coordinate": lambda each: ({"mass": np.eye(2), "coordinates": {"x": each, "y": ""}}, START),
}
CALLS: dict[str, tuple[Callable, dict, list[str]]] = {
    "simulate": of(h.simulate, system=swing, t_end=0.1, **START),
    "simulate an Ode": of(h.simulate, system=kepler, t_end=0.1, y0=[1.0, 0.0]),
    "sweep": of(h.sweep, system=swing, t_end=0.1, **START, params={"m": [1.0, 2.0]}),
    "System": system_of(h.System, {"mass": np.eye(2)}, **START),
    "System, untraced": system_of(h.System, {"mass": np.eye(2), "constraint": lambda q: q @ q - 1, "trace": False}, **START),
    "System, full": system_of(
        h.System,
        {
            "mass": lambda q, p: p.m * np.eye(2),
            "force": lambda q, v, u, a: -v + u.push + a,
            "potential": lambda q: q[1],
            "constraint": {"rod": lambda q: q @ q - 1},
            "invariants": {"i": lambda q: q @ q},
            "states": {"a": lambda q, a: q[0] - a},
            "algebraic": {"b": lambda q, b: b - q[0]},
            "params": {"m": 1.0},
            "inputs": {"push": ([0.0, 1.0], [0.0, 0.0])},
            "outputs": {"height": lambda q: q[1]},
            "coordinates": {"x": "length", "y": "length"},
        },
        **START,
        s0=[0.0],
        w0=[1.0],
    ),
    "from_energies": system_of(
        h.System.from_energies,
        {"kinetic": lambda v: 0.5 * v @ v, "potential": lambda q: q[1], "constraint": lambda q: q @ q - 1},
        *MORE,
        **START,
    ),
    "System.linear": system_of(h.System.linear, {"mass": np.eye(2), "C": -np.eye(2), "G": np.array([[0.0, 1.0]])}, *MORE, **START),
    **{
        f"{what}{', untraced' * (not trace)}": (named(given, trace), {"each": lambda: None}, ["each"])
        for what, given in NAMED.items()
        for trace in (True, False)
        if trace or what != "an algebraic variable"
    },
    "a derivative": of(
        lambda each: stated(
            h.System, {"mass": np.eye(2), "constraint": lambda q: q @ q - 1, "trace": False, "derivatives": {"G": each}}, **START
        ),
        each=lambda: lambda q: 2 * q,
    ),
    "Ode": system_of(h.Ode, {"rhs": lambda y: -y}, y0=[1.0]),
    "Ode, untraced": system_of(h.Ode, {"rhs": lambda y: -y, "trace": False}, y0=[1.0]),
    "Dae": system_of(
        h.Dae,
        {"order": 2, "f": lambda x: np.array([0, -9.81]), "B": lambda x: 2 * x[:, None], "g": lambda x: x @ x - 1},
        x0=[1.0, 0.0],
        dx0=[0.0, 0.0],
    ),
    "Dae.linear": system_of(h.Dae.linear, {"A": [-np.eye(2)], "B": [[0.0], [1.0]], "C": [[0.0, 1.0]]}, *MORE, x0=[1.0, 0.0]),
    "diagnose": of(h.diagnose, system=swing, t_end=0.02, **START),
    "diagnosis.along": of(lambda t_end: diagnosis().along(t_end), t_end=0.02),
    "diagnosis.plot": of(lambda t_end, style: diagnosis().plot(t_end, style=style), t_end=0.02, style="light"),
    "gradient": of(h.gradient, loss=lambda: lambda sol: sol.q[-1, 0], system=swing, t_end=0.02, **START, wrt="m"),
    "compare": of(h.compare, system=swing, t_end=0.02, **START, integrator=h.RK4(), step=0.01, repeat=1),
    "work_precision": of(h.work_precision, system=swing, t_end=0.02, **START, rtol=[1e-3], repeat=1),
    "comparison.plot": of(
        lambda levels, style, ax: comparison().plot(levels, style=style, ax=ax), levels=None, style="light", ax=None
    ),
    "comparison.view": of(lambda path: comparison().view(path=path), path=lambda: folder() / "c.html"),
    "precision.plot": of(
        lambda error, costs, style, ax: precision().plot(error, costs, style=style, ax=ax),
        error="error_q",
        costs="seconds",
        style="light",
        ax=None,
    ),
    "precision.cost_at": of(lambda error: precision().cost_at(error), error=1e-4),
    "essential_ode": of(h.essential_ode, sol=sol),
    "sol.plot": of(
        lambda name, ax, style, points, color: sol().plot(name, ax=ax, style=style, points=points, color=color),
        name="q",
        ax=None,
        style="light",
        points=20,
        color="red",
    ),
    "sol.phase": of(
        lambda name, other, ax, style, points: sol().phase(name, other, ax=ax, style=style, points=points),
        name="x",
        other="y",
        ax=None,
        style="light",
        points=20,
    ),
    "sol.view": of(lambda other: sol().view(other, path=folder() / "a.html", frames=3), other=sol),
    "view": of(view.view, what=picture, path=lambda: folder() / "v.html", frames=3),
    "sol.animate": (
        lambda path, **options: sol().animate(path, **options),
        {"path": lambda: folder() / "a.gif", "fps": 2, "seconds": 1},
        ["path", "fps", "seconds", "panels", "size", "dpi", "style", "names", "signals", "traces", "forces", "title"],
    ),
    "sol.to_csv of several": of(lambda path, name: sol().to_csv(path, "q", name), path=lambda: folder() / "a.csv", name="v"),
    "sol.cite": of(lambda software: sol().cite(software), software=False),
    "sol.impulse": of(lambda name: sol().impulse(name), name="rod"),
    "picture[]": of(lambda name: picture()[name], name="O"),
    "picture.to_dataframe": of(lambda name: picture().to_dataframe(name), name="O.force"),
    "joint.reaction": of(lambda frame: picture()["O"].reaction(frame=frame), frame="bar"),
    "linearize": of(multibody.linearize, m=pendulum_at_rest),
    "equilibrium": of(multibody.equilibrium, m=pendulum_at_rest),
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


def used(kind: type) -> Callable:
    """A method with its settings, and a run by it: what is not seen in the first has to be in the second."""
    role = kind.__module__.split(".")[1].removesuffix("s")  # the room that it is in

    def call(**settings):
        made = kind(**settings)
        fixed = role == "integrator" and not made.adaptive
        h.simulate(swing(), 0.01, **START, **{role: made}, **({"step": 0.005} if fixed else {}), max_steps=200)

    return call


CALLS |= {each.__name__: (used(each), {}, of(each)[2]) for each in METHODS}


def cases() -> Iterator[tuple[str, str, str]]:
    """Every (call, argument, nonsense)."""
    for call, (_, _, names) in CALLS.items():
        for name in names:
            for value in NONSENSE:
                yield call, name, value


def run(call: str, name: str, value: str) -> None:
    """Make one call with one argument replaced; what a sweep says of every member, it has said."""
    function, given, _ = CALLS[call]
    made = {key: each() if callable(each) and not inspect.signature(each).parameters else each for key, each in given.items()}
    found = function(**made | {name: NONSENSE[value]})
    if isinstance(found, h.Ensemble) and len(found.failed) == len(found):
        raise h.HolonomicError(found.failed[0].why)
