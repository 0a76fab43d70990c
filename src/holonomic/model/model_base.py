"""What compiled and interpreted models share: sizes, labels, the layout of data, and which function gave a NaN."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import HolonomicError
from ..kernels.signatures import Fn
from .call_by_name import BASIC, Names, call, flatten_params, param_names, param_slices, wanted
from .dae import Dae, asks_for_y, state_values
from .extra_states import NONE, Extras
from .extra_states import allowed as seen
from .names_in_order import PlacesInOrder
from .statement import coordinate_names, labelled
from .system import Ode, System
from .watch import Watch

PACKAGE = __name__.partition(".")[0] + "."
UNTRACED = ("params", "resolver", "metric", "drawing")  # fields of a system that do not enter its functions
N_GAINS = 3  # places for gains at the end of data: one for each level of a residual
MANY = 1000  # parameters, of which a digest is remembered in the place of all, and data are made when they are asked for


@dataclass(frozen=True)
class Bend:
    """How a stabilization of invariants changes the field: z' = fhat - γ F h; D and F as in `directions`."""

    F: str = "1.13"
    D: Any = "orthogonal"
    integral: bool = False  # fhat replaced by fhat - F (H fhat + h_t)


@dataclass(frozen=True)
class Direction:
    """In which directions whole states are corrected, as in `directions`."""

    D: Any = "orthogonal"
    shifted: bool = False  # H D + c I in the place of H D, c being the first gain


@dataclass(frozen=True)
class Variant:
    """What a set of functions is made for: metric, Baumgarte gains, independent rows, events, directions."""

    metric: str | tuple | None = None  # weights of (q, v): numbers, or (parameter, factor): the factor times its square
    mass_at: str | None = None  # "POS" or "VEL": the one level at which the mass matrix is the metric, whatever else is given
    gains: bool = False
    rows: tuple[int, ...] | None = None  # all others are left out
    kept: tuple[int, ...] | None = None  # none is left out: rows that count unless they become dependent
    events: Any = None  # {name: function}
    switching: bool = False  # whether switches are watched, too, behind the events
    formulation: Any = None  # one that gives a residual
    bend: Bend | None = None
    direction: Direction | None = None

    @property
    def functions(self) -> tuple:
        """Directions that are functions of the user's."""
        ways = [way.D for way in (self.bend, self.direction, self.formulation) if way is not None]
        return tuple(D for D in dict.fromkeys(ways) if callable(D))

    @property
    def selector(self) -> int | None:
        """Which selectors the formulation has chosen before every step, if any."""
        return None if self.formulation is None else self.formulation.selector

    @property
    def is_foreign(self) -> bool:
        """Whether the formulation is one of someone else's: its name does not tell its equations."""
        return self.formulation is not None and not type(self.formulation).__module__.startswith(PACKAGE)

    @cached_property
    def is_ours(self) -> bool:
        """Whether it follows from the system and from methods of this package alone."""
        return self.events is None and not self.is_foreign and not self.functions


PLAIN = Variant()


@dataclass(frozen=True)
class Held:
    """What the numbers at a start say of M that is positive definite on the constraints alone; see `massless_coordinates`."""

    coordinates: tuple[int, ...] = ()  # without mass
    all_rows: bool = False  # whether M is singular without them, too: then every row may have to hold something


class ModelBase:
    """Sizes, labels and data of one system; functions come from the classes that inherit from it."""

    interpreted: bool
    dense = True  # whether it offers dense terms of the whole system: TERMS, and BY_Y, BY_SLOPE of a formulation
    has_impulses = True  # whether impulses of constraints can be had
    couples_all = False  # whether velocities are coupled so that M⁻¹ is too long an expression
    is_long = False  # whether what was traced has so many operations that functions of it are played
    has_terms = True  # whether TERMS, at least, can be had for a single look
    may_pass = True  # whether singular positions can be passed, which takes such looks
    formulations: tuple[type, ...] = ()  # where it does not: those whose equations it has
    untraced: str | None = None  # why it cannot be traced, where that was tried
    attainable_rtol = 1e-14  # the tightest rtol that makes sense
    inexact: Sequence[str] = ()  # names of what comes from differences: in `derivatives=`, or parts with opaque functions
    exacter = "Give"  # how their derivatives are given
    tier: str = "compiled"  # how its equations run, in a word
    switches: tuple = ()  # names of comparisons that the step loop can locate
    outside: Mapping[str, tuple] = {}  # opaque functions, by the part of the system they are in
    start: tuple[np.ndarray, np.ndarray, float, Extras]  # where it was traced or first looked at: q0, v0, t0, layout of extras
    invariants_are_checked = False  # whether the equations were seen to keep them
    examined_with: bytes | None = None  # parameters with which mass matrix and rank were looked into at a start
    held: Held | None = None  # where a mass matrix of these parameters is singular
    _redundancy: tuple[bytes, Any] | None = None
    numbers: np.ndarray
    constraint_labels: list[str]
    nonholonomic_labels: list[str]
    invariant_labels: list[str]
    output_shapes: dict[str, tuple[int, ...]]

    def __init__(self, system: System | Ode, q0: np.ndarray, v0: np.ndarray, extras: Extras = NONE):
        """q0 holds the extras, too: nq counts coordinates (nc), states (ns) and algebraic variables (nw)."""
        self.system, self.extras = system, extras
        self.is_ode = isinstance(system, Ode)
        self.nq, self.nv = len(q0), len(v0)
        self.ns, self.nw = extras.ns, extras.nw
        self.nc = self.nq - len(extras)
        self.places = param_slices({} if system.params is None else system.params)
        self.coordinates, self.coordinate_kinds = coordinate_names(system, self.nc)
        angles = [kind == "angle" for kind in self.coordinate_kinds]
        self.turns = np.array(angles + [False] * len(extras), dtype=bool)
        self.has_potential = system.potential is not None
        self.choices: dict[Any, Any] = {}  # what was asked for -> the choice that it amounts to
        self.plans: dict[Any, Any] = {}  # those that were made with this model
        self.prepared: dict[Any, Any] = {}  # what was asked for -> what runs asked for so have in common
        self.seemed_short = False  # whether little happened in its last run with the integrator left open
        self.moving: dict[bytes, bool] = {}  # parameters -> whether constraints change their direction with time alone
        self.rooms: dict[Any, list] = {}  # for looks at how constraints change, by what is looked at: those not in use

    def watched(self) -> Watch:
        """A look at what the system's functions reach; all else in a system is its own."""
        s = self.system
        given = (getattr(s, name) for name in s.__dataclass_fields__ if name not in UNTRACED)
        listed = (each if isinstance(each, Mapping) else {"": each} for each in given)
        return Watch(*(function for each in listed for function in each.values() if callable(function)))

    def evaluate(self, fn: Fn, t: float, a, b, data, variant: Variant = PLAIN) -> np.ndarray:
        """Call one function from Python; `a` and `b` as in `signatures.Fn`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how its functions are called")

    def examined(self, data: np.ndarray) -> bool:
        """Tell whether mass matrix and rank have been looked into with the parameters in data."""
        return self.examined_with is not None and self.examined_with == self._params_in(data)

    def note_examined(self, data: np.ndarray) -> None:
        """Remember that mass matrix and rank have been looked into."""
        self.examined_with = self._params_in(data)

    def note_held(self, held: Held) -> None:
        """Remember that the mass matrix is singular, with these parameters or with others before."""
        before = self.held or held
        self.held = Held(tuple(sorted({*before.coordinates, *held.coordinates})), all_rows=before.all_rows or held.all_rows)

    def redundancy_of(self, data: np.ndarray) -> Any:
        """What was found of redundant rows with the parameters in data, or None."""
        return self._redundancy[1] if self._redundancy is not None and self._redundancy[0] == self._params_in(data) else None

    def note_redundancy(self, data: np.ndarray, found: Any) -> None:
        """Remember what was found of redundant rows."""
        self._redundancy = (self._params_in(data), found)

    def _params_in(self, data: np.ndarray) -> bytes:
        """The parameters, which stand first in data; of many a digest."""
        params = data[: self._n_params]
        return params.tobytes() if len(params) <= MANY else hashlib.blake2b(params.data).digest()

    @cached_property
    def _n_params(self) -> int:
        if isinstance(self.places, PlacesInOrder):
            return len(self.places)
        return sum(where.stop - where.start for where, _ in self.places.values())

    def weights(self, metric: tuple, data) -> list:
        """Weights of a metric as numbers, or as symbols of data."""
        found = []
        for given in metric:
            if isinstance(given, tuple):
                size = data[self.places[given[0]][0].start]
                given = given[1] * size * size
            found.append(given)
        return found

    def is_current(self) -> bool:
        """Tell whether the system's functions are known to do what they did when this model was made."""
        raise NotImplementedError(f"{type(self).__name__} does not say whether it still is what its system gives")

    @property
    def content(self) -> str | None:
        """The name of what was traced: equal names, equal equations and numbers. None where nothing can be told."""
        return None

    def renewed_by(self, other: ModelBase) -> ModelBase:
        """Return the model to go on with where another one was made anew: this one, if both are the same."""
        return other

    @cached_property
    def n_constraints(self) -> int:
        return len(self.constraint_labels)

    @cached_property
    def n_lam(self) -> int:
        return 0 if self.is_ode else self.n_constraints + len(self.nonholonomic_labels)

    @property
    def order(self) -> int:
        """How often constraints are differentiated: twice for a System, not at all for invariants (1: h' = ..)."""
        return 2 if not self.is_ode else self.system.order

    @property
    def levels(self) -> int:
        """How many levels of its constraints a state holds as rows of their own: m for a Dae, else 1."""
        return self.system.order if self.is_ode else 1

    @cached_property
    def n_invariants(self) -> int:
        return len(self.invariant_labels)

    @cached_property
    def shared(self) -> bool:
        """Whether position and velocity rows have one Jacobian, so that one factorization serves both."""
        if isinstance(self.system, Ode):
            return False
        system = self.system
        return system.kinematics is None and system.nonholonomic is None and not (self.n_invariants or len(self.extras))

    @cached_property
    def has_constant_mass(self) -> bool:
        """Whether M is the same at the start and at a point beside it."""
        if self.is_ode:
            return False
        q, v, t = self.start[:3]
        values = []
        for shift in (0.0, 0.1):
            x = np.concatenate([q + shift * (1.0 + np.abs(q)), v + shift])
            flat = self.evaluate(Fn.TERMS, t + shift, x, np.zeros(0), self.data())
            values.append(flat[self.nq : self.nq + self.nv**2])
        return bool(np.allclose(values[0], values[1], rtol=1e-12, atol=0.0))

    @cached_property
    def lam_in_force(self) -> bool:
        """Whether force() names lam, or f() of a Dae y."""
        system = self.system
        if isinstance(system, Dae):
            return asks_for_y(system)
        if isinstance(system, Ode):
            return False
        return callable(system.force) and "lam" in wanted(system.force, "force()", (*seen(system, "force", BASIC), "lam"))

    @cached_property
    def has_velocity_forces(self) -> bool:
        """Whether the force is another one at other velocities."""
        if self.is_ode:
            return False
        q, v, t = self.start[:3]
        forces = []
        for shift in (0.0, 0.37):
            flat = self.evaluate(Fn.TERMS, t, np.concatenate([q, v + shift * (1.0 + np.abs(v))]), np.zeros(0), self.data())
            forces.append(flat[self.nq + self.nv**2 : self.nq + self.nv**2 + self.nv])
        return not np.allclose(forces[0], forces[1], rtol=1e-12, atol=0.0)

    @property
    def row_labels(self) -> list[str]:
        """Labels of the velocity-level rows: constraints, then nonholonomic ones."""
        return self.constraint_labels + self.nonholonomic_labels

    @property
    def inputs(self) -> dict[str, Any]:
        return dict(self.system.inputs or {})

    def data(self) -> np.ndarray:
        """Return the data array: parameters, numbers, inputs, invariants at the start, root of a Dae, modes, likeness, gains."""
        return self._data.copy() if self._n_params <= MANY else self._made_data()

    @cached_property
    def _data(self) -> np.ndarray:
        return self._made_data()

    def _made_data(self) -> np.ndarray:
        params = flatten_params({} if self.system.params is None else self.system.params)
        data = np.concatenate([params, self.numbers, np.zeros(self.data_places["gains"].stop - len(params) - len(self.numbers))])
        data[self.data_places["alike"]] = [switch.likeness for switch in self.switches]
        return data

    @cached_property
    def data_places(self) -> dict[str, slice]:
        """Where inputs, invariants' start values, the root of a Dae, modes of switches, which are alike, and gains lie in data."""
        at = self._n_params + len(self.numbers)
        inputs = slice(at, at + 3 * len(self.inputs))
        start = slice(inputs.stop, inputs.stop + self.n_invariants)
        root = slice(start.stop, start.stop + self._n_root)
        modes = slice(root.stop, root.stop + len(self.switches))
        alike = slice(modes.stop, modes.stop + len(self.switches))
        gains = slice(alike.stop, alike.stop + N_GAINS)
        return {"inputs": inputs, "invariants": start, "root": root, "modes": modes, "alike": alike, "gains": gains}

    @property
    def _n_root(self) -> int:
        """Numbers that lead to the solution for y of a Dae: none where y is not in f."""
        return self.n_constraints // self.order + 1 if isinstance(self.system, Dae) and self.lam_in_force else 0

    # who gave a NaN

    def blame(self, t: float, x: np.ndarray, data: np.ndarray) -> str | None:
        """Name the user's function that is not finite at this state, or whose derivative is not, if any."""
        nq = self.nq
        values: dict[str, Any] = {"t": float(t), "p": param_names(data, self.places)}
        values |= state_values(self.system, x[:nq].copy(), x[nq : nq + self.nv].copy(), self.extras)
        allowed = self.system.names if isinstance(self.system, Ode) else seen(self.system, "force", BASIC)
        if isinstance(self.system, Dae):
            allowed = self.system.names
        if len(self.extras):  # states may ask for what is not known here
            values |= {"a": np.zeros(self.nv), "lam": np.zeros(self.n_lam)}
            allowed = (*allowed, "a", "lam")
        elif self.lam_in_force:  # friction is looked at without its normal forces
            name, n = ("y", self.n_constraints // self.order) if self.is_ode else ("lam", self.n_lam)
            values[name], allowed = np.zeros(n), (*allowed, name)
        with np.errstate(all="ignore"):
            inputs = {}
            for i, (name, given) in enumerate(self.inputs.items()):
                role, at = f"input {name!r}", self.data_places["inputs"].start + 3 * i
                line = data[at] + data[at + 1] * (t - data[at + 2])
                inputs[name], raised = _outcome(given, role, ("t", "p"), values) if callable(given) else (line, "")
                if not np.all(np.isfinite(inputs[name])):
                    return role + raised
            values["u"] = Names(**inputs)
            for role, function in self._roles():
                value, raised = _outcome(function, role, allowed, values)
                if not np.all(np.isfinite(value)):
                    return role + raised
            return self._blame_derivative(t, x, data)

    def _roles(self) -> Iterator[tuple[str, Any]]:
        """The user's functions, by the names messages call them."""
        for name in ("rhs", "f", "B", "mass", "force", "potential", "kinetic", "kinematics"):
            if getattr(self.system, name) is not None:
                yield f"{name}()", getattr(self.system, name)
        for kind, word in (("states", "state"), ("algebraic", "algebraic equation")):
            for label, function in (getattr(self.system, kind) or {}).items():
                yield f"{word} {label!r}", function
        kinds = {"constraint": "constraint", "nonholonomic": "nonholonomic", "invariants": "invariant"}
        for name, singular in [*kinds.items(), ("g", "constraint")]:
            for label, function in labelled(getattr(self.system, name), singular).items():
                yield role_of(label, singular), function

    def _blame_derivative(self, t, x, data) -> str | None:
        if self.is_ode:
            return None
        nq, nv = self.nq, self.nv
        try:
            flat = self.evaluate(Fn.TERMS, t, x[: nq + nv], np.zeros(0), data)
        except (HolonomicError, ValueError, ArithmeticError, np.linalg.LinAlgError):
            return None
        parts = np.split(flat, np.cumsum([nq, nv * nv, nv, self.n_lam * nv]))
        if not np.all(np.isfinite(parts[2])) and not self.lam_in_force:
            return "the derivative of potential()" if self.has_potential else "the velocity terms of mass()"
        G, gamma = parts[3].reshape(self.n_lam, nv), parts[4]
        for row, label in enumerate(self.row_labels):
            if not np.all(np.isfinite(G[row])):
                return f"the derivative of constraint {label!r}"
            if not np.isfinite(gamma[row]):
                return f"the second derivative of constraint {label!r}"
        return None


def role_of(label: str, singular: str) -> str:
    """Return how messages call a labelled function: constraint 'rod', or constraint() if it has no name."""
    return f"{singular} {label!r}" if label != singular else f"{singular}()"


def out_of_domain(problem: Exception) -> bool:
    """Tell whether an exception means what NaN means: an argument outside a function's domain."""
    if isinstance(problem, ArithmeticError):  # division by zero, overflow
        return True
    return isinstance(problem, ValueError) and ("math domain" in str(problem) or "expected a" in str(problem))


def _outcome(function, role, allowed, values) -> tuple[np.ndarray, str]:
    """Return what a user's function gives: NaN where it raises, as compiled code has it, and what it raises on purpose."""
    try:
        return np.asarray(call(function, role, allowed, values), dtype=float), ""
    except Exception as problem:
        said = ": ".join([type(problem).__name__, *str(problem).splitlines()[:1]])
        return np.array(np.nan), "" if out_of_domain(problem) else f" (it raises {said})"
