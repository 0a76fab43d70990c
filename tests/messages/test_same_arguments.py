"""The six calls that take a system and its start read them alike: the same names, the same defaults, the same words."""

import inspect
import warnings

import numpy as np
import pytest

from holonomic import Dae, Ode, System, compare, diagnose, gradient, simulate, sweep, work_precision
from holonomic.arguments import Asked, GivenStart
from holonomic.errors import BadArgument, UnknownArgument
from holonomic.sweeping.sweep import AskedMembers

BALL = System(mass=np.eye(2), force=lambda p: np.array([0.0, -p.g]), coordinates=["x", "y"], params={"g": 9.81})
START = {"q0": [0.0, 0.0], "v0": [1.0, 1.0]}
CIRCLE = Dae(order=2, f=lambda x, p: np.array([0.0, -p.g]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1, params={"g": 9.81})
DECAY = Ode(lambda y, p: -p.g * y, params={"g": 1.0})
CALLS = {
    "simulate": simulate,
    "sweep": lambda *args, **given: sweep(*args, **{"params": {"g": [9.81, 9.8]}} | given),
    "gradient": lambda *args, **given: gradient(lambda sol: sol.t[-1], *args, wrt="g", **given),
    "compare": lambda *args, **given: compare(*args, **{"repeat": 1} | given),
    "work_precision": lambda *args, **given: work_precision(*args, **{"rtol": [1e-4], "repeat": 1} | given),
    "diagnose": diagnose,
}
OWN = {"simulate": simulate, "sweep": sweep, "gradient": gradient, "compare": compare,
       "work_precision": work_precision, "diagnose": diagnose}  # fmt: skip
PASSED_ON = {"gradient": sweep, "compare": simulate, "work_precision": simulate}


def takes(call: str) -> set[str]:
    """The names that can be written in a call."""
    functions = [OWN[call], *([PASSED_ON[call]] if call in PASSED_ON else [])]
    return {name for function in functions for name in inspect.signature(function).parameters}


def refused(call, system=BALL, t_end=1.0, *more, kind=BadArgument, **given) -> str:
    with pytest.raises(kind) as caught:
        CALLS[call](system, t_end, *more, **given)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("method", "integrator"), ("t_span", "t_end (a number, or a pair (t0, t_end))"), ("t_eval", "save_at"), ("dt", "step"),
        ("h", "step"), ("max_step_size", "max_step"), ("y_0", "y0"), ("args", "params of the System or Ode"),
        ("n_steps", "max_steps"),
    ],
)  # fmt: skip
def test_names_from_elsewhere_are_translated_in_every_call(call, name, meant):
    text = f"{call} has no argument {name!r}; here it is called {meant}."
    if meant.isidentifier() and meant not in takes(call):
        assert call == "diagnose"
        text = f"diagnose has no argument {name!r} and needs none: it looks at the start, and makes no run."
    assert refused(call, **START, **{name: 1.0}, kind=UnknownArgument) == text


@pytest.mark.parametrize("call", CALLS)
def test_misspelt_and_needless_names_are_told_in_every_call(call):
    for name, text in (
        ("initail", "{call} has no argument 'initail'. Did you mean 'initial'"),
        ("x_0", "{call} has no argument 'x_0'. Did you mean "),
        ("dense_output", "{call} has no argument 'dense_output' and needs none: sol(t) always works."),
        ("vectorized", "{call} has no argument 'vectorized' and needs none."),
        ("colour", "{call} has no argument 'colour'. Known: "),
    ):
        assert refused(call, **START, **{name: 1}, kind=UnknownArgument).startswith(text.format(call=call))
    tol = "rtol" if call == "diagnose" else "rtol and atol"
    assert refused(call, **START, tol=1e-6, kind=UnknownArgument) == f"{call} has no argument 'tol'; here it is called {tol}."


def test_an_argument_that_only_others_have_is_not_offered():
    assert refused("sweep", **START, h0=0.1, kind=UnknownArgument) == "sweep has no argument 'h0' and needs none: it is chosen."
    assert refused("diagnose", **START, integrator="auto", kind=UnknownArgument) == (
        "diagnose has no argument 'integrator' and needs none: it looks at the start, and makes no run."
    )
    assert refused("gradient", **START, n_jobs=2, kind=UnknownArgument).endswith("; here it is called workers.")


@pytest.mark.parametrize("call", CALLS)
def test_a_start_without_its_name_is_told_it_in_every_call(call):
    first = "loss, " if call == "gradient" else ""
    assert refused(call, BALL, (0, 1), [0.0, 0.0], [1.0, 1.0]) == (
        f"{call} takes {first}system and t_end without a name; 2 more were given. Write the start with its name: "
        f"{call}({first}system, t_end, q0=..., v0=...)."
    )
    assert refused(call, CIRCLE, (0, 1), [1.0, 0.0]).endswith(f"{call}({first}system, t_end, x0=..., dx0=...).")


VALUES = [
    (BALL, {"q0": None}, "{call} needs q0: initial positions and velocities are q0= and v0=."),
    (BALL, {"v0": None}, "{call} needs v0: initial positions and velocities are q0= and v0=."),
    (BALL, {"q0": [0, np.inf]}, "q0[1] is not finite: [ 0. inf]."),
    (BALL, {"q0": "here"}, "q0 must be numbers, got 'here'."),
    (BALL, {"q0": [], "v0": []}, "q0 is empty: there is nothing to simulate."),
    (BALL, {"v0": [1.0]}, "q0 has 2 entries but v0 has 1; they must agree unless kinematics= is given."),
    (BALL, {"y0": [1.0]}, "a System starts from q0 and v0; y0 belongs to an Ode."),
    (BALL, {"x0": [1.0]}, "x0, dx0 and ddx0 belong to a Dae; a System starts from q0 and v0."),
    (BALL, {"s0": [1.0]}, "s0= is given, but the system has no states. State them as states=."),
    (BALL, {"initial": "guess"}, 'initial=\'guess\': choose "check", "project", "impact" or "free".'),
    (BALL, {"hold": "x"}, 'hold= goes with initial="project".'),
    (BALL, {"hold": "z", "initial": "project"}, "hold='z' is no coordinate; known: x, y, or 0 to 1."),
    (BALL, {"redundant": "ignore"}, 'redundant=\'ignore\': choose "minimum-norm" or "drop".'),
    (DECAY, {}, "{call} needs y0, the initial state of the Ode."),
    (DECAY, {"y0": [1.0], "v0": [1.0]}, "an Ode starts from y0 alone; v0 belongs to a System."),
    (CIRCLE, {"x0": [1.0, 0.0]}, "{call} needs dx0: a Dae of order 2 starts from x0, dx0."),
    (CIRCLE, {"x0": [1.0, 0.0], "dx0": [0.0]}, "dx0 has 1 entries, x0 has 2."),
    (max, {}, "{call} needs a System, an Ode, a Dae or a Problem, got builtin_function_or_method. For y' = f(t, y) write Ode(f)."),
    (BALL, {"rtol": 0}, "rtol=0 must be a positive number."),
    (BALL, {"rtol": "fine"}, "rtol='fine' must be a positive number."),
    (BALL, {"rtol": 2}, "rtol=2 must lie between 1e-14 and 1; double precision has 16 digits."),
    (BALL, {"integrator": 3}, "integrator=3 is not an integrator; for example integrator=DOP853()."),
    (BALL, {"integrator": "rk45"}, "integrator='rk45': pass an object, for example integrator=RK45()."),
    (BALL, {"stabilization": 3},
     "stabilization=3 is not a stabilization; for example stabilization=Projection(), or None for without."),
    (BALL, {"atol": -1e-6}, "atol=-1e-06 must be a positive number, or 0."),
    (BALL, {"atol": [1e-6, 1e-6]}, "atol has 2 entries, expected 4."),
    (BALL, {"constraint_tol": 0.0}, "constraint_tol=0.0 must be a positive number."),
    (BALL, {"max_steps": 10.5}, "max_steps=10.5 must be a whole number, at least 1."),
    (BALL, {"max_step": 0}, "max_step=0 must be a positive number."),
    (BALL, {"first_step": -1.0}, "first_step=-1.0 must be a positive number."),
    (BALL, {"save_at": 1}, "save_at=1: a number of times must be a whole number, at least 2."),
    (BALL, {"save_at": [0.0, 2.0]}, "save_at reaches from 0 to 2, outside the run (0, 1)."),
    (BALL, {"save_at": [0.5, 0.2]}, "save_at must go from t0 to t_end without repeating a time."),
    (BALL, {"events": [1]}, 'events= is a mapping {{name: Event(...)}}, for example {{"slack": Event(lambda lam: lam[0])}}.'),
    (BALL, {"events": {"end": lambda q: q[0]}},
     "an event cannot be called 'end'. sol.ended is 'end' where a run reaches its end. Give it another name, a text."),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_the_same_wrong_value_is_refused_in_the_same_words(call, number):
    system, given, text = VALUES[number]
    if not set(given) <= takes(call):
        assert call in {"diagnose", "sweep", "gradient"}  # which have not all arguments of a run
        return
    start = START if system is BALL else {}
    assert refused(call, system, **start | given) == text.format(call=call)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("t_end", "text"),
    [
        (None, "{call} needs t_end: a number, or a pair (t0, t_end)."),
        (0.0, "the interval is empty: it begins and ends at t = 0."),
        (np.inf, "the interval (0.0, inf) must be finite."),
        ((0, 1, 2), "t_end must be a number or a pair (t0, t_end), got (0, 1, 2)."),
        ("soon", "t_end must be a number or a pair (t0, t_end), got 'soon'."),
    ],
)
def test_the_same_wrong_interval_is_refused_in_the_same_words(call, t_end, text):
    if call == "diagnose" and t_end is None:
        return  # a look needs no end
    assert refused(call, BALL, t_end, **START) == text.format(call=call)


@pytest.mark.parametrize("call", CALLS)
def test_a_whole_solution_is_no_start_in_any_call(call):
    for system, name, start in ((BALL, "q0", START), (DECAY, "y0", {"y0": [1.0]}), (CIRCLE, "x0", {"x0": [1, 0], "dx0": [0, 0]})):
        text = f"{name} is a whole Solution: pass {name}=sol.end to go on from where it ended."
        assert refused(call, system, 2.0, **{name: simulate(system, 1.0, **start)}) == text


def test_defaults_are_the_same_in_every_call():
    meant = {"sweep": {"save_at": 2}, "gradient": {"rtol": 1e-10}, "work_precision": {"rtol": ..., "step": ()}}
    defaults = GivenStart()._asdict() | Asked()._asdict() | AskedMembers()._asdict()
    for call, function in OWN.items():
        for name, parameter in inspect.signature(function).parameters.items():
            if name in defaults and name not in meant.get(call, {}):
                assert parameter.default == defaults[name], (call, name)


def test_every_argument_is_read_into_one_of_the_objects():
    own = {"system", "t_end", "positional", "unknown"}
    fields = {*GivenStart._fields, *Asked._fields}
    assert set(inspect.signature(simulate).parameters) - own == fields | {"error"}  # which a second run answers, after the first
    of_one = {"first_step", "checkpoint", "every", "precision"}
    assert set(inspect.signature(sweep).parameters) - own == (fields | {*AskedMembers._fields}) - of_one
    assert set(inspect.signature(diagnose).parameters) - own <= fields


@pytest.mark.parametrize("call", ["sweep", "gradient", "diagnose"])
def test_what_cannot_be_traced_is_refused_without_a_warning_that_it_runs(call):
    def force(q, p):
        return np.array([0.0, -p.g * round(float(q[0]))])

    system = System(mass=np.eye(2), force=force, params={"g": 9.81})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert "force() " in refused(call, system, 1.0, **START)
    with pytest.warns(UserWarning, match="runs as plain Python"):  # the first run is told, whatever was refused before
        simulate(system, 0.1, **START)
    assert "force() " in refused(call, system, 1.0, **START)
