"""What a user states: a mechanical system, or an ODE with invariants. Frozen; knows nothing of time stepping."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from ..errors import BadArgument
from .call_by_name import BASIC, ODE, nearest, refuses_unknown, wanted
from .extra_states import allowed, check_names
from .freeze import freeze, own_params
from .statement import Labelled, check_statement, labelled, system_text

Quantity = Any  # a number, an array, or a function of named arguments
NO_DERIVATIVES = (
    "energies are differentiated, so their functions have to be traced. Leave out trace=False: where one cannot be traced, the "
    "error names it, the line and what to write instead; or state mass= and force=."
)


class MadeModels:
    """What was made of a system and can be made anew: neither pickled nor compared with it.

    Attributes
    ----------
    models : dict
        Models by their sizes.
    family : dict
        What was traced, shared by systems that differ in the values of parameters alone.
    """

    def __init__(self):
        self.models: dict[tuple, Any] = {}
        self.family: dict[tuple, Any] = {}


@refuses_unknown
@dataclass(frozen=True, eq=False)
class System:
    """A constrained mechanical system in plain NumPy.

    q' = Z(q) v,   M(t, q) v' = f(t, q, v, λ) - Gᵀλ,   0 = g(t, q),   G = ∂g/∂q Z

    Every function names what it needs of `t, q, v, p, u` (time, positions, velocities, parameters, inputs);
    the force also of `lam` (multipliers: friction), outputs of `a, lam` (accelerations, multipliers). A constant may
    stand for a function. States s and algebraic variables w beside q and v are named one by one, or as `s` and `w`:

    s' = h(t, q, v, s, w, a, λ),   0 = k(t, q, v, s, w)

    Parameters
    ----------
    mass : array or function
        Mass matrix M (nv x nv), symmetric.
    force : array or function, optional
        Applied force f (nv), everything that is not in `potential`. SI units.
    constraint : function or {name: function}, optional
        Holonomic constraints g = 0; each a number or a vector. Names label rows in messages and results.
    potential : function, optional
        Potential energy V(q); contributes -∂V/∂q to the force and is counted in the energy.
    nonholonomic : function or {name: function}, optional
        Velocity constraints Â(t, q) v + b(t, q) = 0, written as a function of v (linear in v).
    kinematics : function, optional
        Z(q), nq x nv, where q' = Z v and not v (quaternions).
    invariants : {name: function}, optional
        Functions of q alone that the exact motion keeps (the norm of a quaternion); kept by projecting q.
    states : {name: function}, optional
        Rates of further states, such as a motor's current or an integrator in a controller; they may use `a` and
        `lam`. Initial values are `simulate(..., s0={name: value})`; results `sol.s`, `sol[name]`.
    algebraic : {name: function}, optional
        Residuals of further variables that follow from the state at every instant, such as the point of a contact;
        ∂k/∂w must be regular. `simulate(..., w0={name: value})` is a first guess; results `sol.w`, `sol[name]`.
    params : dict, optional
        Parameters by name: numbers or arrays, available as `p.name`.
    inputs : dict, optional
        Inputs by name, available as `u.name`: a number, a function of t, or a pair (times, values), taken
        as linear in between and constant outside, or (times, values, "hold"), each value being kept until the next time;
        steps end on the times.
    outputs : dict, optional
        Named outputs, functions that may also use `a` and `lam`; read as `sol[name]`.
    coordinates : sequence of str, or {name: kind}, optional
        Names of the coordinates; kind "angle" marks one that counts turns.
    velocity_terms : bool, optional
        For M depending on q: True adds the Coriolis and centrifugal terms that follow from M, False says
        that `force` has them or that you leave them out on purpose.
    trace : {"auto", True, False}
        Functions are traced, differentiated and compiled. "auto": a system with one that cannot be traced runs as plain
        Python, with a warning. True refuses it, False runs plain Python in any case.
    derivatives : dict, optional
        With trace=False: functions "G" (∂g/∂q), "g_t" and "gamma" of the constraints, "potential" (∂V/∂q) and "H"
        (∂h/∂q of the invariants); what is missing is made by differences, which limits rtol.
    drawing : function, optional
        How the system looks, for `sol.view()` and `sol.animate()`: a function of what it names of `t, q, v, p` that
        returns lines by name, each a list of points, `{"rod": [(0, 0), q]}`; a single point is a mass.
    kinetic : function, optional
        Kinetic energy T(t, q, v), from which `System.from_energies` makes the mass matrix.

    Raises
    ------
    BadArgument
        A function that asks for what it cannot have, or a constraint that depends on nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, simulate
    >>> swing = System(
    ...     mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1],
    ...     constraint={"rod": lambda q, p: q @ q - p.L**2}, params={"m": 1.0, "g": 9.81, "L": 1.0},
    ...     outputs={"tension": lambda lam, p: 2 * p.L * lam[0]},
    ... )
    >>> sol = simulate(swing, 1.0, q0=[0, -1], v0=[3, 0])
    >>> round(float(sol["tension"][0]), 6)  # m g + m v² / L
    18.81
    """

    mass: Quantity
    force: Quantity = None
    constraint: Labelled = None
    potential: Quantity = field(default=None, kw_only=True)
    nonholonomic: Labelled = field(default=None, kw_only=True)
    kinematics: Quantity = field(default=None, kw_only=True)
    invariants: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    states: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    algebraic: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    params: Mapping[str, Any] | None = field(default=None, kw_only=True)
    inputs: Mapping[str, Any] | None = field(default=None, kw_only=True)
    outputs: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    coordinates: Sequence[str] | Mapping[str, str] | None = field(default=None, kw_only=True)
    velocity_terms: bool | None = field(default=None, kw_only=True)
    trace: bool | str = field(default="auto", kw_only=True)
    derivatives: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    kinetic: Quantity = field(default=None, kw_only=True, repr=False)
    drawing: Callable | None = field(default=None, kw_only=True, repr=False)

    letter: ClassVar[str] = "q"  # what its functions call the state
    # what only an Ode or a Dae has
    rhs: ClassVar[None] = None
    f: ClassVar[None] = None
    B: ClassVar[None] = None
    g: ClassVar[None] = None
    # a mechanism's system has these
    resolver: ClassVar[Any] = None  # reads results by the names of bodies, joints and forces
    redundant: ClassVar[Any] = None  # what to do about redundant rows by default
    metric: ClassVar[Any] = None  # weights of (q, v) when a state is moved onto the constraints

    def __post_init__(self):
        check_statement(self)
        check_names(self)
        if self.velocity_terms is not None and not isinstance(self.velocity_terms, bool):
            raise BadArgument(f"velocity_terms={reprlib.repr(self.velocity_terms)}: choose True, False or None.")
        for name in ("mass", "force", "potential", "kinematics", "kinetic"):
            given = getattr(self, name)
            if callable(given):
                known = allowed(self, name, BASIC)
                wanted(given, f"{name}()", (*known, "lam") if name == "force" and self.trace else known)
        for kind, word in (("states", "state"), ("algebraic", "algebraic equation")):
            for label, function in (getattr(self, kind) or {}).items():
                if callable(function):
                    wanted(function, f"{word} {label!r}", allowed(self, kind, BASIC))
        for name in ("constraint", "nonholonomic", "invariants"):
            for label, function in labelled(getattr(self, name), name).items():
                if callable(function):
                    known = allowed(self, name, BASIC)
                    asked = wanted(function, f"{name} {label!r}", known)
                    if name == "constraint" and not set(asked) & {"t", "q", *known[len(BASIC) :]}:
                        raise BadArgument(
                            f"constraint {label!r} depends on nothing: it names neither q nor t. Write it as a function of q."
                        )
                else:
                    raise BadArgument(
                        f"{name} {label!r} is the constant {function!r}: it depends on nothing. Write it as a function of q."
                    )
        for label, function in (self.outputs or {}).items():
            if callable(function):
                wanted(function, f"output {label!r}", allowed(self, "output", BASIC))
        freeze(self, "mass", "force", "potential", "kinematics", "kinetic")

    def __repr__(self) -> str:
        return system_text(self)

    @classmethod
    def from_energies(cls, kinetic, potential=None, constraint=None, force=None, **more) -> System:
        """Make a system from its kinetic energy T(t, q, v) and potential energy V(t, q).

        M = ∂²T/∂v², and the velocity terms follow from T by Lagrange's equations:
        d/dt(∂T/∂v) - ∂T/∂q + ∂V/∂q = f - Gᵀλ.
        """
        if more.get("trace", True) is False:
            raise BadArgument(NO_DERIVATIVES)
        return cls(mass=None, force=force, constraint=constraint, potential=potential, kinetic=kinetic, **more)

    @classmethod
    def from_sympy(cls, method, params=None, *, inputs=None, constraint=None, **more) -> System:
        """Make a system from equations derived with sympy.physics.mechanics.

        Constraints are kept as constraints, whatever SymPy made of them: dependent speeds and SymPy's own multipliers
        are left out.

        Parameters
        ----------
        method : KanesMethod, LagrangesMethod, or JointsMethod or System of SymPy
            With its equations formed.
        params : {Symbol: float}
            Values of all symbols.
        inputs : {dynamicsymbol: number, function of t, or (times, values)}, optional
            Given functions of time, such as applied torques.
        constraint : list or {name: expression}, optional
            Holonomic constraints in the coordinates, instead of those of `method`.
        **more
            Further arguments of System, such as outputs.
        """
        from .from_sympy import system_from_sympy

        return system_from_sympy(cls, method, params, inputs, constraint, **more)

    @classmethod
    def linear(cls, mass, C=None, D=None, G=None, *, Z=None, f=None, r=None, **more) -> System:
        """Make a system from the matrices of linear equations of motion, constant or functions of time.

            q' = Z v,   M v' = C q + D v + f - (G Z)ᵀλ,   0 = G q + r

        With `StrangenessFree` this is Algorithm 13 of [steinbrecher-2003]; `BackwardEuler(once=True)` solves each step
        by one linear system.

        Parameters
        ----------
        mass, C, D : array or function of t, p, u
            M, and the factors of q and of v in the force; (nv, nv), (nv, nq), (nv, nv).
        G : array or function of t, p, u
            One row per constraint, (n_lam, nq).
        Z : array or function of t, p, u, optional
            Kinematics; the identity if not given.
        f, r : array or function of t, p, u, optional
            Applied force and what moves the constraints.
        **more
            Further arguments of System, such as params and outputs.
        """
        from .linear_equations import linear_system

        return linear_system(cls, mass, C, D, G, Z=Z, f=f, r=r, **more)

    def with_params(self, **changes) -> System:
        """Return the same system with some parameters changed."""
        unknown = set(changes) - set(self.params or {})
        if unknown:
            raise BadArgument(f"unknown parameter {sorted(unknown)[0]!r}. {nearest(sorted(unknown)[0], self.params or {})}")
        other = replace(self, params={**(self.params or {}), **changes})
        other.made.family = self.made.family  # what was traced for one is true of the other
        return other

    @cached_property
    def made(self) -> MadeModels:
        """Models that were made of this system; they go when it goes."""
        return MadeModels()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the compiled models, which are made anew."""
        state = {name: value for name, value in vars(self).items() if name != "made"}
        return state | {"params": dict(self.params or {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"params": own_params(state["params"])})


@refuses_unknown
@dataclass(frozen=True, eq=False)
class Ode:
    """An ordinary differential equation y' = rhs(t, y) whose invariants are to be kept.

    Parameters
    ----------
    rhs : function
        Names what it needs of `t, y, p, u`; returns y'. Where it takes `t` and one other, that is the state, whatever its name.
    invariants : {name: function}, optional
        Functions of `t, y, p` that the exact flow keeps; each is kept at its value at t0.
    params, inputs, outputs, coordinates, trace, drawing
        As for `System`; outputs and the drawing name `t, y, p`, outputs also `u`.
    derivatives : dict, optional
        With trace=False: "H", ∂h/∂y of the invariants.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import RK4, Ode, simulate
    >>> def rhs(y):
    ...     return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])
    >>> kepler = Ode(rhs, invariants={"momentum": lambda y: y[0] * y[3] - y[1] * y[2]})
    >>> sol = simulate(kepler, 20.0, y0=[0.4, 0, 0, 2], integrator=RK4(), step=0.05)
    >>> bool(abs(sol.drift["momentum"]).max() < 1e-10)
    True
    """

    rhs: Callable
    invariants: Mapping[str, Callable] | None = None
    params: Mapping[str, Any] | None = field(default=None, kw_only=True)
    inputs: Mapping[str, Any] | None = field(default=None, kw_only=True)
    outputs: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    coordinates: Sequence[str] | Mapping[str, str] | None = field(default=None, kw_only=True)
    trace: bool | str = field(default="auto", kw_only=True)
    derivatives: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    drawing: Callable | None = field(default=None, kw_only=True, repr=False)

    letter: ClassVar[str] = "y"
    order: ClassVar[int] = 1  # of the differential equation
    # what only a System has
    mass: ClassVar[None] = None
    force: ClassVar[None] = None
    constraint: ClassVar[None] = None
    potential: ClassVar[None] = None
    nonholonomic: ClassVar[None] = None
    kinematics: ClassVar[None] = None
    kinetic: ClassVar[None] = None
    states: ClassVar[None] = None
    algebraic: ClassVar[None] = None
    resolver: ClassVar[None] = None
    redundant: ClassVar[None] = None
    metric: ClassVar[None] = None
    # what only a Dae has
    f: ClassVar[None] = None
    B: ClassVar[None] = None
    g: ClassVar[None] = None

    def __repr__(self) -> str:
        return system_text(self)

    def __post_init__(self):
        check_statement(self)
        wanted(self.rhs, "rhs()", self.names)
        for label, function in labelled(self.invariants, "invariant").items():
            wanted(function, f"invariant {label!r}", self.names)
        for label, function in (self.outputs or {}).items():
            if callable(function):
                wanted(function, f"output {label!r}", self.names)
        freeze(self)

    @property
    def names(self) -> tuple[str, ...]:
        """What functions may name; without inputs, u is a name like any other: rhs(t, u)."""
        return ODE if self.inputs else ODE[:-1]

    with_params = System.with_params
    made = System.made
    __getstate__ = System.__getstate__
    __setstate__ = System.__setstate__
