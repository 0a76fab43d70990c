"""The model functions that kernels call, each as one expression graph made from what was derived."""

from __future__ import annotations

from collections.abc import Callable

from ..kernels.signatures import Fn
from .derive import Derived
from .directions import directed
from .factors import Projector
from .model_base import Direction
from .newton_factors import UNROLLED, unrolled
from .symbolics import SX, densify, jacobian, substitute, vec, vertcat
from .tape import Tape, TapeBuilder, needed, record

AS_GIVEN = (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE, Fn.ALGEBRAIC)  # these take w as it is; all others solve for it


def graphs(
    d: Derived, wanted: tuple[Fn, ...], metric=None, gains: bool = False, equations=None,
    direction: Direction | None = None, mass_at: str | None = None,
) -> dict[Fn, tuple[SX, SX, SX, SX, SX]]:  # fmt: skip
    """Return (t, a, b, data, out) of the wanted model functions.

    `metric`: None, "mass", or an SX of weights for (q, v); at the level `mass_at` it is "mass" in any case.

    `equations` is what an implicit formulation leaves: R(t, y, y') = 0. `direction` is the way in which whole
    states are corrected.
    """
    e = d.e
    nothing = SX.sym("none", 0)
    nq = e.q.numel()
    data = e.data
    if equations is not None and equations.selectors is not None:
        data = vertcat(e.data, equations.selectors)
    made: dict[Fn, tuple[SX, SX, SX, SX, SX]] = {}
    projectors: dict[str, Projector] = {}

    def projector(level: str) -> Projector:
        if level == "FULL" and direction is not None:
            projectors.setdefault(level, directed(d, direction))
        if level not in projectors:
            J = {"POS": d.J, "VEL": d.G, "FULL": d.H}[level]
            weights = None
            if isinstance(metric, SX):
                weights = {"POS": metric[:nq], "VEL": metric[nq:], "FULL": metric}[level]
            mass = level == mass_at or (isinstance(metric, str) and level != "FULL")
            projectors[level] = d.projector(J, weights, mass=mass)
        return projectors[level]

    for fn in wanted:
        a, b, out = d.x, nothing, None
        if fn in (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE):
            a, b, out = equations.y, equations.slope, equations.residual
            if fn is not Fn.EQUATIONS:
                out = vec(densify(jacobian(out, a if fn is Fn.BY_Y else b)).T)
        elif fn is Fn.FIELD:
            out = d.field(gains=gains)
        elif fn is Fn.REFINED:
            out = d.field(refined=True, gains=gains)
        elif fn is Fn.TERMS:
            out = d.terms(gains=gains)
        elif fn is Fn.CURVATURE:
            b = SX.sym("dq", nq)
            out = d.curvature(b)
        elif fn is Fn.MULTIPLIERS:
            out = d.multipliers(gains)
        elif fn is Fn.KINEMATICS:
            out = d.kinematic_rates()
        elif fn is Fn.VELOCITY:
            out = d.velocity()
        elif fn is Fn.HALF_EXPLICIT:
            b = SX.sym("ahead", d.n_lam * (e.v.numel() + 1))
            out = d.half_explicit(b)
        elif fn is Fn.RESIDUAL:
            out = d.residual()
        elif fn is Fn.ENERGY:
            out = vertcat(d.kinetic, SX(0) if e.potential is None else e.potential)
        elif fn is Fn.REACTIONS:
            b = SX.sym("lam", d.n_lam)
            out = d.reactions(b)
        elif fn is Fn.EVENT_RATES:
            b, out = vertcat(e.a, e.lam), d.rates(vertcat(*e.events.values()))
        elif fn in (Fn.EVENTS, Fn.OUTPUTS):
            named = e.events if fn is Fn.EVENTS else e.outputs
            b = vertcat(e.a, e.lam)
            out = vertcat(*(vec(densify(value)) for value in named.values()))
        elif fn is Fn.EXTRA_RATES:
            lam = SX.sym("lam", d.n_lam)
            b, out = vertcat(e.a, lam), d.with_field(d.q_dot[d.nc :], e.a, lam)
        elif fn is Fn.SETTLED:
            out = d.w
        elif fn is Fn.ALGEBRAIC:
            out = vertcat(e.algebraic, vec(densify(d.k_w).T))
        else:
            level, action = fn.name.split("_")
            p = projector(level)
            if action == "FACTOR":
                out = p.buffer
            elif action == "SPREAD":
                b = SX.sym("mu", p.n_rows)
                out = p.spread(b)
            else:
                a = SX.sym("F", p.size)
                b = SX.sym("r", p.n_columns if action == "TANGENT" else p.n_rows)
                out = {"SOLVE": p.solve, "TANGENT": p.tangent, "INVERSE": p.inverse}[action](a, b)
        if e.nw and fn not in AS_GIVEN:
            out = substitute(out, d.w, d.settled)
        made[fn] = (e.t, a, b, data, out)
    return made


def tapes(d: Derived, wanted: tuple[Fn, ...], *arguments, order: Callable | None = None) -> dict[Fn, Tape]:
    """Record the wanted model functions; arguments as for `graphs`.

    `order` chooses pivots of Newton's matrix from the graphs of its parts, where solves with it are wanted.
    """
    factors = tuple(fn for fn in wanted if fn in UNROLLED)
    made = graphs(d, tuple(fn for fn in wanted if fn not in UNROLLED), *arguments)
    recorded = {fn: angles_by_parts(record(*graph)) for fn, graph in made.items()}
    if factors:
        parts = recorded[Fn.BY_Y], recorded[Fn.BY_SLOPE]
        recorded |= unrolled(*parts, order(made[Fn.BY_Y], made[Fn.BY_SLOPE]), factors)
    return recorded


def angles_by_parts(tape: Tape) -> Tape:
    """Return the tape with sin(a ± b) and cos(a ± b) made of those of a and b, where these are needed anyway.

    Mechanisms are full of angles such as β + θ, whose parts are needed. Four products and two sums take the place of a sine
    and a cosine: one evaluation of the seven-body mechanism takes 156 ns instead of 187. The absolute error stays at
    rounding; for large angles it is smaller, because β + θ is not rounded first.
    """
    angles = {(node[0], node[1]) for node in tape.nodes if node[0] in ("sin", "cos")}
    if not any(tape.nodes[part][0] in ("add", "sub") for _, part in angles) and not tape.calls:
        return tape  # of which everything is needed
    builder, renamed = TapeBuilder(), []
    for node in tape.nodes:
        if node[0] in ("in", "const"):
            renamed.append(builder.add(node))
            continue
        inner = tape.nodes[node[1]]
        if node[0] in ("sin", "cos") and inner[0] in ("add", "sub"):
            if all((name, part) in angles for part in inner[1:] for name in ("sin", "cos")):
                a, b = (renamed[part] for part in inner[1:])
                sa, ca, sb, cb = (builder.add((name, part)) for part in (a, b) for name in ("sin", "cos"))
                plus, minus = ("add", "sub") if inner[0] == "add" else ("sub", "add")
                if node[0] == "sin":
                    parts = plus, builder.add(("mul", sa, cb)), builder.add(("mul", ca, sb))
                else:
                    parts = minus, builder.add(("mul", ca, cb)), builder.add(("mul", sa, sb))
                renamed.append(builder.add(parts))
                continue
        renamed.append(builder.add((node[0], *(renamed[i] for i in node[1:]))))
    return needed(Tape(tuple(builder.nodes), tuple(None if i is None else renamed[i] for i in tape.outputs)))
