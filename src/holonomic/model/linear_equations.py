"""Linear equations from their matrices: equations of motion, and differential-algebraic ones.

    q' = Z(t) v,   M(t) v' = C(t) q + D(t) v + f(t) - (G Z)ᵀλ,   0 = G(t) q + r(t)

What the methods need beyond that, G', G'' and Z' among it, comes from tracing as for any system. With
`StrangenessFree` this is Algorithm 13 of [steinbrecher-2003], whose last equation is

    0 = (G'' + G Z M⁻¹C) q + (2 G'Z + G Z' + G Z M⁻¹D) v - G Z M⁻¹(G Z)ᵀλ  (+ G Z M⁻¹f + r'')

A differential-algebraic equation of order m is  x^(m) = A₀(t) x + .. + A_{m-1}(t) x^(m-1) + f(t) - B(t) y,
0 = C(t) x + r(t).
"""

from __future__ import annotations

from ..errors import BadArgument
from .call_by_name import call, wanted
from .freeze import check_constant
from .given_numbers import axes

TIME = ("t", "p", "u")  # what the matrices may depend on


def linear_system(cls, mass, C, D, G, *, Z=None, f=None, r=None, **more):
    """Make a System from matrices; see `System.linear`."""
    if more.get("velocity_terms") is not None:
        raise BadArgument("the matrices of linear equations of motion do not depend on q: there are no velocity terms.")
    given = {"mass": mass, "C": C, "D": D, "G": G, "Z": Z, "f": f, "r": r}
    for name, value in given.items():
        if callable(value):
            wanted(value, f"{name}()", TIME)
        elif value is not None:
            given[name] = check_constant(value, f"{name}=")
    if G is None:
        raise BadArgument("linear equations of motion need G, one row per constraint; without constraints use System.")

    def at(name, values):
        return call(given[name], f"{name}()", TIME, values)

    def force(t, q, v, p, u):
        values = {"t": t, "p": p, "u": u}
        parts = [at(name, values) @ state for name, state in (("C", q), ("D", v)) if given[name] is not None]
        if given["f"] is not None:
            parts.append(at("f", values))
        return sum(parts, 0 * v)

    def constraint(t, q, p, u):
        values = {"t": t, "p": p, "u": u}
        level = at("G", values) @ q
        return level if given["r"] is None else level + at("r", values)

    return cls(mass=given["mass"], force=force, constraint=constraint, kinematics=given["Z"], **more)


def _is_matrix(given) -> bool:
    return callable(given) or given is None or axes(given) == 2


def linear_dae(cls, A, B, C, *, f=None, r=None, **more):
    """Make a Dae from matrices; see `Dae.linear`."""
    matrices = list(A) if isinstance(A, list | tuple) and A and _is_matrix(A[0]) else [A]
    given = {f"A[{j}]": matrix for j, matrix in enumerate(matrices)} | {"B": B, "C": C, "f": f, "r": r}
    for name, value in given.items():
        if callable(value):
            wanted(value, f"{name}()", TIME)
        elif value is not None:
            given[name] = check_constant(value, f"{name}=")
    order = len(matrices)
    if order not in (1, 2, 3):
        raise BadArgument(f"A holds {order} matrices, one for each of x, x', ..: a Dae has order 1, 2 or 3.")

    def at(name, values):
        return call(given[name], f"{name}()", TIME, values)

    def slope(state, values):
        parts = [at(f"A[{j}]", values) @ part for j, part in enumerate(state) if given[f"A[{j}]"] is not None]
        if given["f"] is not None:
            parts.append(at("f", values))
        return sum(parts, 0 * state[0])

    forms = {
        1: lambda t, x, p, u: slope([x], {"t": t, "p": p, "u": u}),
        2: lambda t, x, dx, p, u: slope([x, dx], {"t": t, "p": p, "u": u}),
        3: lambda t, x, dx, ddx, p, u: slope([x, dx, ddx], {"t": t, "p": p, "u": u}),
    }

    def constraint(t, x, p, u):
        values = {"t": t, "p": p, "u": u}
        level = at("C", values) @ x
        return level if given["r"] is None else level + at("r", values)

    return cls(order=order, f=forms[order], B=given["B"], g=constraint, **more)
