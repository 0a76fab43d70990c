"""The equations of three problems, written out for the peers of the implicit half.

From the user's functions come a residual R(t, y, y') and its Jacobian ∂R/∂y + c ∂R/∂y', written as C by CasADi and compiled with
gcc -O3 (for IDA and scipy-dae), and the semi-explicit index-1 form as a CasADi function (for IDAS). That is more than
somebody would write by hand for them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import casadi
import numpy as np
from as_casadi import as_casadi

from holonomic import GGL, Index1, Index2, Radau, simulate
from holonomic.model import symbolics
from holonomic.problems import get

T_END = {"seven-body": 0.03, "car-axis": 3.0, "wheelset": 1.0}
FORMS = {"seven-body": GGL(), "car-axis": GGL(), "wheelset": Index2()}

WRAP = """
void residual(double t, const double *y, const double *s, double *out) {{
  const double *arg[{n_arg}] = {{&t, y, s}};
  double *res[{n_res}] = {{out}};
  static long long iw[{n_iw}];
  static double w[{n_w}];
  equations(arg, res, iw, w, 0);
}}
void jacobian(double t, const double *y, const double *s, double c, double *out) {{
  const double *arg[{n_arg}] = {{&t, y, s, &c}};
  double *res[{n_res}] = {{out}};
  static long long iw[{n_iw}];
  static double w[{n_w}];
  matrix(arg, res, iw, w, 0);
}}
"""


def equations(name: str, formulation):
    """Return a run, the model behind it and its equations."""
    problem = get(name)
    sol = simulate(
        problem, T_END[name] * 1e-3, formulation=formulation, integrator=Radau(), stabilization=None, rtol=1e-6
    )
    d = sol.plan.model._derived(sol.plan.variant)
    found = formulation.equations(d, False)
    return sol, d, found


def with_numbers(expression, d, data):
    """Return an expression with the problem's own numbers in it."""
    return symbolics.substitute(expression, d.e.data, symbolics.SX(data[: d.e.data.numel()]))


def write_c(name: str, folder: Path) -> dict:
    """Write and compile residual and Jacobian; return the start."""
    form = FORMS[name]
    sol, d, found = equations(name, form)
    residual = with_numbers(found.residual, d, sol.trail.data)
    (t, y, slope), (residual,) = as_casadi([d.e.t, found.y, found.slope], [residual])
    c = casadi.SX.sym("c")
    jacobian = casadi.jacobian(residual, y) + c * casadi.jacobian(residual, slope)
    # row by row: the transpose column by column
    functions = [
        casadi.Function("equations", [t, y, slope], [casadi.densify(residual)]),
        casadi.Function("matrix", [t, y, slope, c], [casadi.densify(jacobian.T)]),
    ]
    generator = casadi.CodeGenerator("equations.c", {"with_header": False})
    for function in functions:
        generator.add(function)
    source = folder / f"{name}.c"
    source.write_text(
        generator.dump()
        + WRAP.format(
            n_arg=max(f.sz_arg() for f in functions) + 4, n_res=max(f.sz_res() for f in functions) + 1,
            n_iw=max(f.sz_iw() for f in functions) + 1, n_w=max(f.sz_w() for f in functions) + 1,
        )
    )  # fmt: skip
    subprocess.run(
        ["gcc", "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", str(folder / f"{name}.so"), "-lm"], check=True
    )
    y0 = np.array(sol.trail.arrays[1][0])
    nq, nv = sol.plan.model.nq, sol.plan.model.nv
    known = casadi.Function("start", [t, y, slope], [residual, casadi.jacobian(residual, slope)])
    r, by_slope = (np.array(part) for part in known(0.0, y0, np.zeros_like(y0)))
    slope0 = np.linalg.lstsq(by_slope, -r[:, 0], rcond=None)[0]
    return {"y0": y0.tolist(), "slope0": slope0.tolist(), "differential": nq + nv, "nq": nq}


def write_semi_explicit(name: str, folder: Path) -> dict:
    """Save x' = f(t, x, z), 0 = g(t, x, z) of index 1; return the start of z."""
    sol, d, found = equations(name, Index1())
    e, n = d.e, d.e.q.numel() + d.e.v.numel()
    x = found.y[:n]
    if e.order:
        lam = found.y[n:]
        flow = -symbolics.substitute(found.residual[:n], found.slope, symbolics.SX.zeros(found.slope.numel()))
        z, z0, ode, alg = lam, sol.trail.arrays[1][0][n:], flow, found.residual[n:]
    else:
        a, lam = symbolics.SX.sym("a", e.v.numel()), symbolics.SX.sym("lam", d.n_lam)
        z, z0 = symbolics.vertcat(a, lam), sol.trail.arrays[2][0]
        ode = symbolics.vertcat(d.q_dot, a)
        alg = symbolics.vertcat(e.mass @ a - d.force + d.G.T @ lam, d.G @ a + d.gamma)
    ode, alg = (with_numbers(part, d, sol.trail.data) for part in (ode, alg))
    symbols, (ode, alg) = as_casadi([e.t, x, z], [ode, alg])
    casadi.Function("dae", symbols, [ode, alg], ["t", "x", "z"], ["ode", "alg"]).save(str(folder / f"{name}.casadi"))
    return {"x0": np.array(sol.trail.arrays[1][0])[:n].tolist(), "z0": np.array(z0).tolist()}


def main(folder: Path) -> None:
    """Write everything into a folder."""
    for name in FORMS:
        start = write_c(name, folder) | write_semi_explicit(name, folder) | {"t_end": T_END[name]}
        (folder / f"{name}.json").write_text(json.dumps(start))


if __name__ == "__main__":
    import sys

    main(Path(sys.argv[1]))
