"""InterpretedModel: the same functions as a compiled model's, as plain Python on the user's own functions.

For functions that cannot be traced (calls into other libraries, values that jump, memory). Kernels then run
interpreted and call f(t, a, b, data, out) as they would call machine code; every loop over components stays
compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NOT_FINITE, OK, SINGULAR
from ..kernels.signatures import N_FUNCTIONS, Fn, call_function
from ..kernels.vectors import row_finite
from .differences import attainable_rtol
from .extra_states import NONE, Extras
from .model_base import PLAIN, ModelBase, Variant
from .python_functions import PythonFunctions
from .system import Ode, System
from .terms_on_numbers import TermsOnNumbers


def by_python(context, mode, t, a, b, data, out):
    """The operator whose context is a Python function of (t, a, b, data, out)."""
    context(t, a, b, data, out)
    return OK


def careful(model, run, t, x, K, row, W):
    """Return the status of a field evaluation: it leaves ρ = 0 at a singular position."""
    size = model.size
    rho = K[row, size.nrow - 1]
    if rho == 0.0:
        return SINGULAR
    return OK if rho > 0.0 and row_finite(K, row, size.nq + size.nv) else NOT_FINITE


class InterpretedModel(ModelBase):
    """A system's functions as plain Python at given sizes.

    Attributes
    ----------
    attainable_rtol : float
        The tightest rtol that makes sense: limited where G, γ or a gradient come from differences.
    inexact : list of str
        Names in `derivatives=` of what comes from differences.
    untraced : str or None
        Why it cannot be traced, where that was tried.
    """

    tier = "Python"

    interpreted = True

    def __init__(self, system: System | Ode, q0, v0, t0: float = 0.0, extras: Extras = NONE):
        super().__init__(system, q0, v0, extras)
        self.start = (q0, v0, t0, extras)
        self._watch = self.watched()
        self.numeric = TermsOnNumbers(self, np.asarray(q0, dtype=float), np.asarray(v0, dtype=float), float(t0))
        self.numbers = np.zeros(0)
        self.constraint_labels = self.numeric.labels["constraint"]
        self.nonholonomic_labels = self.numeric.labels["nonholonomic"]
        self.invariant_labels = self.numeric.labels["invariants"]
        self.outputs, self.output_shapes = self.numeric.named(system.outputs, "output", self.n_lam)
        self.inexact = self.numeric.inexact
        if self.inexact:
            self.attainable_rtol = attainable_rtol(self.numeric.error)
            self.exacter = f"Give them as derivatives={{'{self.inexact[0]}': ...}}, or"
        self._tables: dict[Any, Any] = {}

    def is_current(self) -> bool:
        """Whether what was looked at once still holds, such as that M is constant; functions are called as they are in any case."""
        return self._watch.unchanged()

    def __reduce__(self):
        return type(self), (self.system, *self.start)

    def table(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> tuple[tuple, dict[Fn, int]]:
        """Return the table of functions that kernels take, and the lengths of the functions' results."""
        if variant.events is not None:
            return self._table(wanted, variant)
        if (wanted, variant) not in self._tables:
            self._tables[wanted, variant] = self._table(wanted, variant)
        return self._tables[wanted, variant]

    def _table(self, wanted, variant):
        functions = PythonFunctions(self, variant)
        fns: list = [None] * (2 * N_FUNCTIONS)
        fns[2 * Fn.CAREFUL] = careful
        lengths = {}
        for fn in wanted:
            fns[2 * fn] = by_python
            fns[2 * fn + 1], lengths[fn] = functions.make(fn)
        return tuple(fns), lengths

    def evaluate(self, fn: Fn, t: float, a, b, data, variant: Variant = PLAIN) -> np.ndarray:
        """Call one function from Python; `a` and `b` as in `signatures.Fn`."""
        fns, lengths = self.table((fn,), variant)
        out = np.empty(lengths[fn])
        with np.errstate(all="ignore"):
            call_function(fns, fn, float(t), np.array(a, dtype=float), 0, np.array(b, dtype=float), 0, data, out, 0)
        return out
