"""Expressions: what tracing a system gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from .symbolics import SX


@dataclass(frozen=True)
class Expressions:
    """What tracing gives: symbols and the user's functions of them, numbers already in `data`.

    For an ODE, `rhs` is set, q is the whole state and everything mechanical is empty; for a Dae, `order`.
    """

    t: SX
    q: SX
    v: SX
    a: SX
    lam: SX
    data: SX
    constraint: SX
    invariants: SX  # minus their values at the start, which are in `data`
    mass: SX | None = None
    force: SX | None = None
    rhs: SX | None = None
    kinetic: SX | None = None
    potential: SX | None = None
    kinematics: SX | None = None
    nonholonomic: SX | None = None
    order: int = 0  # of a Dae, with f, B and g
    f: SX | None = None
    B: SX | None = None
    g: SX | None = None
    y: SX | None = None  # symbols of a Dae's algebraic unknowns, where f contains them
    root: SX | None = None  # what leads to the solution for y: a shift of where it begins, and whether its branch is turned
    ns: int = 0  # states behind the coordinates, with their rates
    nw: int = 0  # algebraic variables behind these, with their equations
    states: SX | None = None
    algebraic: SX | None = None
    switches: SX | None = None  # what is watched of each; their modes are in `data`
    outputs: dict[str, SX] = field(default_factory=dict)
    events: dict[str, SX] = field(default_factory=dict)
