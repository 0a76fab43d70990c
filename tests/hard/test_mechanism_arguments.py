"""Bad numbers, names, points and functions in every call that makes a mechanism: plain words, or nothing wrong with it.

Every argument of every method and shape gets each of the values below in turn. What comes out is one of our own errors,
never a raw one of Python, NumPy or LAPACK, and never a mechanism with numbers that are not finite.
"""

import warnings

import numpy as np
import pytest

from holonomic import simulate
from holonomic.errors import BadArgument, HolonomicError, NotFinite
from holonomic.multibody import Mechanism, box, cylinder, disk, equilibrium, linearize, plate, polygon, rod, sphere

nan, inf = float("nan"), float("inf")
BAD = (
    nan, inf, -inf, None, "x", "12", "", [], {1, 2}, np.datetime64("2020-01-01"),
    (), [1], (1, 2, 3, 4), (nan, 0), (nan, 0, 0), (inf, 0), np.arange(5.0), {}, {"a": nan}, True,
    1j, -1.0, 0.0, object(), (None, None), ("a", "b"), b"x", 10**400, np.zeros((2, 2, 2)), lambda: 1, lambda t: nan,
)  # fmt: skip


def flat():
    m = Mechanism(gravity=(0, -9.81))
    m.body("a", rod((0, 0), (1, 0), mass=1.0))
    m.body("b", rod((1, 0), (2, 0), mass=1.0))
    m.revolute("O", m.ground, "a", at=(0, 0))
    m.prismatic("S", m.ground, "b", at=(1, 0), axis=(1, 0))
    m.point("pt", "b", (1.5, 0))
    return m


def solid():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("a", cylinder((0, 0, 0), (1, 0, 0), radius=0.1, mass=1.0))
    m.body("b", box((1.5, 0, 0), (0.2, 0.3, 0.4), mass=1.0))
    m.revolute("O", m.ground, "a", at=(0, 0, 0), axis=(0, 1, 0))
    m.prismatic("S", m.ground, "b", at=(1, 0, 0), axis=(1, 0, 0))
    m.point("pt", "b", (1.5, 0, 0))
    return m


PAIR = {"name": "J", "first": "a", "second": "b"}
LINE = {"name": "s", "first": "a", "second": "b", "at": ((0, 1), (1, 0))}
FLAT = {
    "revolute": PAIR | {"at": (1, 0)},
    "prismatic": PAIR | {"at": (1, 0), "axis": (1, 0)},
    "fixed": PAIR | {"at": (1, 0)},
    "pin_in_slot": {"name": "J", "slot": "a", "pin": "b", "at": (1, 0), "axis": (1, 0)},
    "distance": PAIR | {"at": ((1, 0), (1.5, 0)), "length": 0.5},
    "gear": PAIR | {"at": ((0, 0), (3, 0)), "radii": (1.0, 2.0)},
    "rack_and_pinion": {"name": "J", "rack": "a", "pinion": "b", "at": ((0, 0), (1.5, 0.2)), "axis": (1, 0), "radius": 0.2},
    "rolling": {"name": "J", "line": "a", "disk": "b", "at": ((0, 0), (1.5, 0.2)), "axis": (1, 0), "radius": 0.2},
    "skate": {"name": "J", "body": "b", "at": (1, 0), "axis": (1, 0)},
    "close": PAIR | {"at": (1, 0)},
    "drive": {"of": "O", "angle": 1.0},
    "couple": {"name": "c", "leader": "O", "follower": "S", "ratio": 1.0, "offset": 0.0},
    "spring": LINE | {"stiffness": 1.0, "length": 1.0, "damping": 0.1},
    "damper": LINE | {"damping": 1.0},
    "bushing": PAIR | {"at": (1, 0), "stiffness": (1, 1, 1), "damping": 1.0, "axis": (1, 0)},
    "torsion_spring": {"joint": "O", "stiffness": 1.0, "angle": 0.0, "damping": 0.1},
    "motor": {"joint": "O", "torque": 1.0},
    "friction": {"joint": "O", "coulomb": 1.0, "static": 2.0, "stribeck": 0.1, "viscous": 0.1, "smoothing": 0.01},
    "stop": {"joint": "O", "lower": -1.0, "upper": 1.0, "stiffness": 10.0, "damping": 0.1},
    "contact": {"name": "c", "body": "a", "centre": (1, 0), "radius": 0.1, "point": (0, -1), "normal": (0, 1), "stiffness": 1e3,
                "exponent": 1.5, "damping": 0.1, "friction": 0.1, "smoothing": 0.01},
    "force": {"name": "f", "body": "a", "at": (1, 0), "value": (1, 2)},
    "torque": {"name": "f", "body": "a", "value": 1.0},
    "body": {"name": "n", "at": (0, 0), "angle": 0.1, "mass": 1.0, "inertia": 0.1, "com": (0, 0), "about": (0, 0)},
    "point": {"name": "p", "body": "a", "at": (1, 0)},
    "frame": {"name": "p", "body": "a", "at": (1, 0), "axis": (1, 0)},
    "state": {"name": "st", "rate": lambda st: -st, "start": 1.0},
    "parameter": {"name": "par", "value": 1.0},
    "input": {"name": "u1", "given": 1.0},
    "output": {"name": "o", "function": lambda O: O.angle},
    "quantity": {"function": lambda O: O.angle},
    "assemble": {"values": {"O": 0.1}, "speeds": {"O": 1.0}, "near": None},
    "to_system": {"varying": ()},
}  # fmt: skip
MORE = {
    "assemble": [{"values": {"O": each}} for each in BAD] + [{"speeds": {"O": each}} for each in BAD]
    + [{"near": {"a": each}} for each in BAD],
    "motor": [{"joint": "O", "curve": each} for each in BAD] + [{"joint": "O", "curve": (each, (1, 2))} for each in BAD],
    "drive": [{"of": "pt", "path": each} for each in BAD] + [{"of": "O", "speed": each} for each in BAD],
    "friction": [{"joint": "O", "coefficient": each, "radius": 0.1} for each in BAD]
    + [{"joint": "O", "coefficient": 0.1, "radius": each} for each in BAD],
    "spring": [{"name": "s", "first": "a", "second": "b", "at": each, "stiffness": 1.0} for each in BAD]
    + [LINE | {"force": each} for each in BAD],
    "torsion_spring": [{"joint": "O", "torque": each} for each in BAD],
    "revolute": [PAIR | {"at": ("pt", each)} for each in BAD] + [PAIR | {"at": (each, each)} for each in BAD],
    "body": [{"name": "n", "at": (each, each), "mass": 1.0} for each in BAD],
    "start_states": [{"given": each} for each in BAD] + [{"given": None, "before": each} for each in BAD],
}  # fmt: skip
SHAPES = [
    (rod, {"start": (0, 0), "end": (1, 0), "mass": 1.0, "width": 0.1}), (rod, {"start": (0, 0, 0), "end": (1, 0, 0), "mass": 1.0}),
    (box, {"at": (0, 0), "size": (1, 1), "mass": 1.0, "angle": 0.1}),
    (box, {"at": (0, 0, 0), "size": (1, 1, 1), "mass": 1.0, "axes": np.eye(3)}),
    (disk, {"at": (0, 0), "radius": 1.0, "mass": 1.0, "inner": 0.5}), (disk, {"at": (0, 0, 0), "radius": 1.0, "axis": (0, 0, 1)}),
    (polygon, {"points": ((0, 0), (1, 0), (0, 1)), "mass": 1.0}), (sphere, {"at": (0, 0, 0), "radius": 1.0, "mass": 1.0}),
    (cylinder, {"start": (0, 0, 0), "end": (1, 0, 0), "radius": 0.1, "mass": 1.0, "inner": 0.05}),
    (plate, {"at": (0, 0), "size": (1, 1), "mass": 1.0}),
]  # fmt: skip


def in_space(value):
    """A call of the plane as one of space: points and directions get a third number."""
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, int | float) for part in value):
        return (*value, 0.0)
    return tuple(map(in_space, value)) if isinstance(value, tuple) and all(isinstance(part, tuple) for part in value) else value


SOLID = {name: {key: in_space(value) for key, value in given.items()} for name, given in FLAT.items() if name != "skate"}
SOLID["gear"] = PAIR | {"ratio": 2.0, "axis": (0, 1, 0)}
SOLID["bushing"]["stiffness"] = (1,) * 6
SOLID["body"] |= {"angle": np.eye(3), "inertia": (0.1, 0.1, 0.1)}
SOLID["torque"]["value"] = (1, 2, 3)
SOLID["rolling"] = {"name": "J", "line": "ground", "disk": "b", "at": ((0, 0, 0), (1.5, 0, 0.2)), "radius": 0.2}
SOLID["spherical"] = PAIR | {"at": (1, 0, 0)}
SOLID["cylindrical"] = SOLID["planar"] = PAIR | {"at": (1, 0, 0), "axis": (1, 0, 0)}
SOLID["universal"] = PAIR | {"at": (1, 0, 0), "axis": (1, 0, 0), "other": (0, 1, 0)}


def calls():
    """(mechanism, method, arguments) with one bad argument each."""
    for make, table in ((flat, FLAT), (solid, SOLID)):
        for method, good in table.items():
            yield from ((make, method, good | {key: bad}) for key in good for bad in BAD)
        yield from ((make, method, given) for method, every in MORE.items() for given in every)


def tried(make, method, given) -> str | None:
    """Make the call and assemble; return what was raw or silently wrong."""
    m = make()
    try:
        getattr(m, method)(**given)
        if not all(np.isfinite(value) for value in m.params.values()):
            return "a parameter is not finite"
        assert np.all(np.isfinite(m.assembly.q)), "not finite"
    except HolonomicError as refused:
        return None if str(refused) else "no words"
    except Exception as raw:
        return f"{type(raw).__name__}: {raw}"
    return None


def outcome(cases) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(method, given, tried(make, method, given)) for make, method, given in cases]
    return [f"{method}({given!r}): {wrong}" for method, given, wrong in found if wrong is not None]


def test_a_sample_of_bad_arguments_is_told_in_plain_words():
    every = list(calls())
    assert len(every) > 4000
    assert outcome([every[i] for i in np.random.default_rng(5).permutation(len(every))[:600]]) == []


@pytest.mark.slow
def test_all_bad_arguments_are_told_in_plain_words():
    assert outcome(calls()) == []


def test_good_arguments_are_taken():
    """Otherwise the tests above would show nothing."""
    for make, table in ((flat, FLAT), (solid, SOLID)):
        for method, given in table.items():
            getattr(make(), method)(**given)


@pytest.mark.parametrize(("shape", "good"), SHAPES)
def test_shapes_refuse_what_no_shape_has(shape, good):
    shape(**good)
    for key in good:
        for bad in BAD:
            try:
                made = shape(**good | {key: bad})
            except HolonomicError:
                continue
            assert np.all(np.isfinite(made.inertia)) and np.all(np.isfinite(made.centre)) and made.size > 0.0, (key, bad)


def test_what_is_read_and_asked_for_by_wrong_things_is_told_in_plain_words(tmp_path):
    sol = simulate(flat(), 0.01)
    (tmp_path / "empty.urdf").write_text('<robot name="r"><link name="base"/></robot>')
    asked = (
        lambda bad: sol[bad], lambda bad: sol["O"].reaction(frame=bad), lambda bad: sol.reaction(bad), lambda bad: flat()[bad],
        lambda bad: sol.impulse(bad), lambda bad: sol.drift[bad], lambda bad: sol.drift.labels(bad),
        lambda bad: sol.drift.worst(bad),
        lambda bad: flat().params[bad], lambda bad: flat().params.__setitem__("a.mass", bad), lambda bad: Mechanism(gravity=bad),
        lambda bad: Mechanism(gravity=(0, bad)), lambda bad: linearize(flat(), bad), lambda bad: equilibrium(flat(), near=bad),
        lambda bad: Mechanism.from_urdf(bad), lambda bad: Mechanism.from_urdf(tmp_path / "empty.urdf", base=bad),
        lambda bad: Mechanism.from_urdf(tmp_path / "empty.urdf", package_dirs=bad), lambda bad: simulate(flat(), 0.01, initial=bad),
    )  # fmt: skip
    for number, ask in enumerate(asked):
        for bad in BAD:
            try:
                ask(bad)
            except HolonomicError:
                continue
            except Exception as raw:
                pytest.fail(f"question {number} with {bad!r}: {type(raw).__name__}: {raw}")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: flat().assemble(nan), 'assemble: values are given by joint, {"O": 0.3}, got nan.'),
        (lambda: flat().assemble({"O": nan}), "assemble: the value of joint 'O' must be finite, got nan."),
        (lambda: flat().assemble(speeds={"O": "fast"}), "assemble: the speed of joint 'O' must be a number, got 'fast'."),
        (lambda: flat().assemble({"Q": 1.0}), "there is no joint 'Q'. There are: O, S."),
        (lambda: flat().assemble(near={"a": (0, nan, 0)}), "near['a'][1] is not finite: [ 0. nan  0.]."),
        (lambda: flat().revolute("J", "a", "b", at=nan), "at of joint 'J' must be a point such as (0, 0), got nan."),
        (lambda: flat().stop("O", lower=None, upper=1, stiffness=1), "the lower limit of joint 'O' must be a number, got None."),
        (lambda: flat().params.__setitem__("a.mass", 10**400), "a.mass must be a number, got one of more digits than a float has."),
        (lambda: rod("12", (1, 0), mass=1.0), "start of a rod must be a point such as (0, 0), got '12'."),
        (lambda: rod((0, 0), (1, 0), mass=True), "mass of a rod must be a positive number, got True."),
        (lambda: flat().body("c", at=(0, 0), mass="5"), "mass of body 'c' must be a number, got '5'."),
        (lambda: Mechanism(gravity={0, -9.81}), "gravity must be a point such as (0, 0), got {0, -9.81}."),
        (lambda: equilibrium("crank"), "rest and small motions are those of a Mechanism, got str."),
        (lambda: cylinder((0, 0, 0), (1, 0, 0), radius=0.1, mass=1.0, inner=0.2),
         "inner=0.2 of a cylinder must lie between 0 and its radius 0.1."),
    ],
)  # fmt: skip
def test_words_of_some_refusals(ask, words):
    with pytest.raises(BadArgument) as refused:
        ask()
    assert str(refused.value) == words


def test_a_drive_that_is_not_finite_at_the_start_is_named():
    m = flat()
    m.distance("rod", m.ground, "a", at=((0, 1), (1, 0)), length=lambda t: nan)
    with pytest.raises(NotFinite, match=r"'rod' is not finite at t = 0\. Check what its function of time gives there"):
        m.assembly
