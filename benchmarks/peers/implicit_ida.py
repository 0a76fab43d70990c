"""scikit-sundae's IDA on the residuals of the three problems; multipliers are taken out of its error test."""

import implicit_common as c
import numba
import numpy as np
from sksundae.ida import IDA

for name in c.TOLERANCES:
    case = c.Case(name)
    in_c, jacobian_in_c = case.c_functions()

    @numba.njit
    def compiled(t, y, slope, out):
        in_c(t, y.ctypes, slope.ctypes, out.ctypes)

    @numba.njit
    def compiled_jacobian(t, y, slope, factor, out):
        jacobian_in_c(t, y.ctypes, slope.ctypes, factor, out.ctypes)

    def residual(t, y, slope, out):
        compiled(t, y, slope, out)

    def jacobian(t, y, slope, out, factor, matrix):
        compiled_jacobian(t, y, slope, factor, matrix)

    algebraic = list(range(case.differential, case.n))
    for exact in (True, False):

        def run(tol, exact=exact):
            atol = np.full(case.n, tol)
            atol[algebraic] = 1e10  # with one atol for all it stops at the start of the seven-body mechanism
            solver = IDA(
                residual, algebraic_idx=algebraic, rtol=tol, atol=atol, max_num_steps=500000, calc_initcond=None,
                **({"jacfn": jacobian} if exact else {}),
            )  # fmt: skip
            found = solver.solve(np.array([0.0, case.t_end]), case.y0, case.slope0)
            if not found.success:
                raise RuntimeError(found.message)
            return found.y[-1], len(found.t) - 1, int(found.nfev)

        c.measure("scikit-sundae", "IDA, exact Jacobian" if exact else "IDA", case, run)
