"""Equations of motion derived with sympy.physics.mechanics, as a System.

Kane's and Lagrange's equations both come as M u' = f with q' = Z(q) u. What SymPy eliminates with dependent
speeds or its own multipliers is left in: the unconstrained equations are taken, and the constraints become
constraints of the System, so that they are kept.
"""

from __future__ import annotations

from typing import Any

from ..errors import BadArgument
from .made_functions import maker


def system_from_sympy(cls, method, params=None, inputs=None, constraint=None, **more):
    """Return a System; see `System.from_sympy`."""
    import sympy
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod, dynamicsymbols

    for name in ("method", "eom_method"):  # JointsMethod, System
        inner = getattr(method, name, None)
        method = inner if isinstance(inner, KanesMethod | LagrangesMethod) else method
    if isinstance(method, KanesMethod):
        parts = _from_kane(method)
    elif isinstance(method, LagrangesMethod):
        parts = _from_lagrange(method)
    else:
        raise BadArgument(
            "from_sympy takes a KanesMethod, LagrangesMethod, JointsMethod or System of sympy.physics.mechanics after "
            f"its equations were formed, got {type(method).__name__}."
        )
    q, u, M, f, Z, positions, velocities = parts
    if constraint is not None:
        positions = sympy.Matrix(list(constraint.values()) if isinstance(constraint, dict) else constraint)
        velocities = sympy.Matrix()
    t = dynamicsymbols._t
    # names that no symbol of a user has
    plain = {symbol: sympy.Symbol(f"_q{i}") for i, symbol in enumerate(q)}
    plain |= {symbol: sympy.Symbol(f"_v{i}") for i, symbol in enumerate(u)}
    tidy = lambda expression: expression.subs(plain) if len(expression) else expression
    parts = [part for part in (M, f, Z, positions, velocities) if len(part)]
    used = set().union(*(part.atoms(sympy.Symbol, sympy.Function) for part in parts))
    params, inputs = (_by_symbol(given, used) for given in (params, inputs))
    names = {symbol: str(symbol) for symbol in params}
    driven = {symbol: _name(symbol) for symbol in inputs}
    known = {*q, *u, t, *names, *driven}
    missing = [symbol for symbol in used if symbol not in known and not _is_elementary(symbol)]
    if missing:
        listed = ", ".join(sorted(map(str, missing)))
        raise BadArgument(f"from_sympy: no value for {listed}. Give params={{symbol: value}}, or inputs= for functions of t.")
    plain |= {symbol: sympy.Symbol(f"_u{i}") for i, symbol in enumerate(driven)}
    arguments = (*(plain[symbol] for symbol in (*q, *u)), t, *names, *(plain[symbol] for symbol in driven))
    keys, sources = tuple(names.values()), tuple(driven.values())

    def make(expression, flat: bool):
        return _caller(arguments, tidy(expression).tolist(), keys, sources, flat)

    n = len(q)
    rows = _labels(constraint, positions)
    identity = Z == sympy.eye(n)
    return cls(
        mass=make(M, False),
        force=make(f, True),
        constraint={label: make(sympy.Matrix([row]), True) for label, row in rows.items()} or None,
        nonholonomic={f"rate {i + 1}": make(sympy.Matrix([row]), True) for i, row in enumerate(velocities)} or None,
        kinematics=None if identity else make(Z, False),
        params={name: params[symbol] for symbol, name in names.items()} if params else None,
        inputs={name: inputs[symbol] for symbol, name in driven.items()} if inputs else None,
        coordinates=[_name(symbol) for symbol in q],
        velocity_terms=False,
        **more,
    )


@maker
def _caller(arguments, entries, keys, sources, flat):
    """A function of (t, q, v, p, u) of a matrix of expressions; flat: of its only column."""
    import sympy

    function = sympy.lambdify(arguments, entries, "numpy", cse=True)

    def value(t, q, v, p, u):
        found = function(*q, *v, t, *(p[key] for key in keys), *(u[key] for key in sources))
        return [row[0] for row in found] if flat else found

    return value


def _from_kane(method):
    """M, f and Z without constraints, and the constraints: holonomic ones alone where there are as many."""
    import sympy
    from sympy.physics.mechanics import KanesMethod

    if method._fr is None:
        raise BadArgument("from_sympy: form the equations first, for example with kane.kanes_equations().")
    q, u, rates = list(method.q), list(method.u), method.kindiffdict()
    free = method
    if len(method._udep):
        equations = [rate - value for rate, value in rates.items()]
        free = KanesMethod(method._inertial, q_ind=q, u_ind=u, kd_eqs=equations)
        free.kanes_equations(method.bodies, method.forcelist)
    slope = sympy.Matrix([rates[coordinate.diff()] for coordinate in q])
    Z = slope.jacobian(u)
    if sympy.simplify(slope - Z * sympy.Matrix(u)) != sympy.zeros(len(q), 1):
        raise BadArgument("from_sympy: q' has a part without speeds; choose speeds with q' = Z(q) u.")
    positions = method._f_h
    velocities = sympy.Matrix()
    if len(method._udep) != len(positions):
        if len(positions):
            raise BadArgument(
                f"from_sympy: {len(positions)} configuration and {len(method._udep)} velocity constraints; which of "
                "the latter are derivatives of the former cannot be told. Pass constraint=[...], the holonomic ones."
            )
        velocities = method._k_nh * sympy.Matrix(u) + method._f_nh
    return q, u, free.mass_matrix, free.forcing, Z, positions, velocities


def _from_lagrange(method):
    """M and f without multipliers, and the constraints."""
    import sympy

    if method.eom is None:
        raise BadArgument("from_sympy: form the equations first, with lagrange.form_lagranges_equations().")
    q, u = list(method.q), list(method._qdots)
    positions = method._hol_coneqs
    more = method.coneqs[len(positions) :]
    velocities = sympy.Matrix(more) if more else sympy.Matrix()
    return q, u, method._m_d, method._f_d, sympy.eye(len(q)), positions, velocities


def _labels(constraint, positions) -> dict[str, Any]:
    if isinstance(constraint, dict):
        return dict(constraint)
    return {f"constraint {i + 1}": row for i, row in enumerate(positions)}


def _by_symbol(given, used) -> dict:
    """Return values by symbol; a string stands for the symbol with that name."""
    import sympy

    symbols = {_name(symbol): symbol for symbol in used}
    return {symbols.get(key, sympy.Symbol(key)) if isinstance(key, str) else key: value for key, value in (given or {}).items()}


def _name(symbol) -> str:
    return str(symbol).removesuffix("(t)")


def _is_elementary(atom) -> bool:
    """Whether an atom is sin(...) and the like, not an unknown function of time."""
    from sympy.core.function import AppliedUndef

    return not isinstance(atom, AppliedUndef) and bool(getattr(atom, "args", ()))
