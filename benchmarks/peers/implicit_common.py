"""What the peers of the implicit half share: equations from compiled C, timing, rows."""

import ctypes
import json
import os
import sys
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
import numpy as np

FOLDER = sys.argv[1]
TOLERANCES = {
    "seven-body": (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10),
    "car-axis": (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10),
    "wheelset": (1e-5, 1e-6, 1e-7, 1e-8),
}
SLOW = 2.0  # s; a finer tolerance is not tried after a run that took longer


class Case:
    """One problem as its folder gives it."""

    def __init__(self, name):
        with open(f"{FOLDER}/{name}.json") as file:
            start = json.load(file)
        self.name, self.t_end, self.n = name, start["t_end"], len(start["y0"])
        self.y0, self.slope0 = np.array(start["y0"]), np.array(start["slope0"])
        self.x0, self.z0 = np.array(start["x0"]), np.array(start["z0"])
        self.nq, self.differential = start["nq"], start["differential"]

    def c_functions(self):
        """Return residual and Jacobian as C functions that Numba can call."""
        library = ctypes.CDLL(f"{FOLDER}/{self.name}.so")
        number, array = ctypes.c_double, ctypes.c_void_p
        library.residual.argtypes = [number, array, array, array]
        library.jacobian.argtypes = [number, array, array, number, array]
        library.residual.restype = library.jacobian.restype = None
        return library.residual, library.jacobian


def measure(peer, variant, case, run):
    """Time `run(tol) -> (state at the end, steps, residuals)` over tolerances and print a row for each."""
    for tol in TOLERANCES[case.name]:
        found = {"peer": peer, "variant": variant, "problem": case.name, "tol": tol}
        try:
            began = time.perf_counter()
            run(tol)  # builds what has to be built
            best, spent, count = float("inf"), 0.0, 0
            while spent < 0.2 or count < 3:
                began = time.perf_counter()
                y, steps, residuals = run(tol)
                used = time.perf_counter() - began
                best, spent, count = min(best, used), spent + used, count + 1
                if used > SLOW:
                    break
            found |= {"q": np.asarray(y, dtype=float)[: case.nq].tolist(), "s": best, "steps": steps, "residuals": residuals}
        except Exception as problem:
            found["failed"] = str(problem).strip().replace("\n", " ")[:160]
            best = time.perf_counter() - began
        print("ROW " + json.dumps(found), flush=True)
        if best > SLOW:
            break
