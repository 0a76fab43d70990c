"""scipy-dae's Radau and BDF on the residuals of the three problems; multipliers are taken out of its error test."""

import warnings

import implicit_common as c
import numba
import numpy as np
from scipy_dae.integrate import solve_dae

warnings.simplefilter("ignore")

for name in c.TOLERANCES:
    case = c.Case(name)
    in_c, jacobian_in_c = case.c_functions()
    first = case.differential

    # its multipliers are derivatives of unknowns, as in its own examples
    @numba.njit
    def compiled(t, y, slope):
        z, s, out = y.copy(), slope.copy(), np.empty(y.shape[0])  # it hands over columns of matrices
        z[first:] = s[first:]
        in_c(t, z.ctypes, s.ctypes, out.ctypes)
        return out

    @numba.njit
    def compiled_jacobian(t, y, slope, factor):
        z, s, out = y.copy(), slope.copy(), np.empty((y.shape[0], y.shape[0]))
        z[first:] = s[first:]
        jacobian_in_c(t, z.ctypes, s.ctypes, factor, out.ctypes)
        return out

    def residual(t, y, slope):
        return compiled(t, y, slope)

    def jacobian(t, y, slope):
        by_y = compiled_jacobian(t, y, slope, 0.0)
        by_slope = compiled_jacobian(t, y, slope, 1.0) - by_y
        by_slope[:, first:], by_y[:, first:] = by_y[:, first:], 0.0
        return by_y, by_slope

    y0, slope0 = case.y0.copy(), case.slope0.copy()
    slope0[first:], y0[first:] = y0[first:], 0.0
    for method in ("Radau", "BDF"):

        def run(tol, method=method):
            atol = np.full(case.n, tol)
            atol[first:] = 1e10
            found = solve_dae(residual, (0.0, case.t_end), y0, slope0, method=method, rtol=tol, atol=atol, jac=jacobian)
            if not found.success:
                raise RuntimeError(found.message)
            return found.y[:, -1], found.t.size - 1, int(found.nfev)

        c.measure("scipy-dae", f"{method}, exact Jacobian", case, run)
