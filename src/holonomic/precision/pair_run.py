"""A run in pairs of doubles: what `Run` is, with the arrays and the compiled loop of its own `PairProgram`.

The memory and the arrays of `Run` show the first doubles of all that the loop holds, so that what stands around a run (progress,
limits, messages, the solution) reads it as any other. What is set there from outside, such as the stop time, is taken over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OK, IncompatibleMethods, SingularPosition
from ..kernels.memory import RUN
from ..model.input_tables import InputTables
from ..native.layout import REAL, WHOLE
from ..planning.plan import Plan
from ..printing.pair_tables import pairs_of
from ..printing.pair_types import Unprintable
from ..results.exact import PairRows
from ..running.run import Run
from .pair_program import REALS, START_ASKS, WHOLES, program_of, start_size, start_tapes, words
from .refused import DOUBLES, refuse

FIRST_QUOTA = 50  # steps until Python looks for the first time


def in_pairs(values: np.ndarray) -> np.ndarray:
    """Doubles as pairs."""
    return np.stack([values, np.zeros_like(values)], axis=-1)


class PairRun(Run):
    """State and buffers of one run of a plan, in pairs."""

    def __init__(self, plan: Plan, data: np.ndarray, t0: float, x0: np.ndarray, t_end: float, **others):
        inputs = others.get("inputs")
        refuse(plan, InputTables(plan.model) if inputs is None else inputs)
        super().__init__(plan, data, t0, x0, t_end, **others)
        self.record: PairRows = PairRows()
        self._quota, self.memory.notes = FIRST_QUOTA, 1
        rows_t, rows_x, rows_k, _ = self.work.rows
        lowered = plan.integrator
        tapes = start_tapes(plan)
        self._size = start_size(plan, tapes)
        room = max([int(self._size.work_end), *(len(tape.outputs) for tape in tapes.values())]) + 1
        self._places = {kind: RUN.places(kind) for kind in (REAL, WHOLE)}
        self.arrays: dict[str, Any] = {
            name: in_pairs(array) for name, array in (
                ("model_data", data), ("method_sp", plan.sp), ("state_x", self.x), ("state_xn", self.xn), ("state_xs", self.xs),
                ("state_K", self.K), ("state_E", self.E), ("state_W", self.W), ("inside_x", self.xe),
                ("inside_K", self.work.loop.inside.K), ("scale_atol", plan.atol), ("record_t", rows_t), ("record_x", rows_x),
                ("record_k", rows_k), ("record_save_t", self.save_t), ("start_W", np.zeros(room)),
                ("start_asked", np.zeros(len(START_ASKS))), (REALS, np.zeros(len(self._places[REAL]))),
            )
        }  # fmt: skip
        exact = lowered.exact_fp()
        # those of Newton's method stand before; where they are endless, products of pairs have no number
        scales = np.minimum(lowered.fp[: len(lowered.fp) - len(exact)], 1e200)
        self.arrays["method_fp"] = np.concatenate([in_pairs(scales), pairs_of(exact)])
        self.arrays[WHOLES] = np.zeros(len(self._places[WHOLE]), dtype=np.int64)
        try:
            self.program = program_of(plan, self.memory)
        except Unprintable as problem:
            raise IncompatibleMethods(
                f'precision="double-double": {problem} is not known with 31 digits. State it by other functions, {DOUBLES}'
            ) from None
        self._words = words(self.arrays)

    def begin(self) -> int:
        """Move the start onto the constraints, note the values of invariants, evaluate the first point; return a status."""
        self._enter()
        if not self.free:
            self._make_ready()
        written = len(self.record.t)
        status = self.program.call("begin", self._words)
        self._show()
        if status == OK:
            self._collect(written, 0)
            status = self.watching.arm(fresh=True)
        self.record.evaluate = self._evaluators()
        return status

    def _make_ready(self) -> None:
        """The start as the constraints have it to all digits; invariants keep the value that they have there."""
        plan = self.plan
        self._keep_invariants()
        if "ready" in self.program.entries:
            tol = plan.choice.constraint_tol
            self.arrays["start_asked"][:] = [[self.t, 0.0], [tol, 0.0], [tol, 0.0]]
            if not self.program.call("ready", self._words):
                raise SingularPosition(
                    f"the start at t = {self.t:.6g} cannot be moved onto its constraints in double-double: they are nearly "
                    'dependent there. Start elsewhere, or use precision="double".'
                )
            self._keep_invariants()

    def _keep_invariants(self) -> None:
        """Enter the values of the invariants at the state."""
        model = self.plan.model
        if model.n_invariants:
            places = model.data_places["invariants"]
            self.arrays["model_data"][places] = 0.0
            self.program.call("residuals", self._words_at(self.t, self.arrays["state_x"]))
            found = self.arrays["start_W"][model.n_constraints : model.n_constraints + model.n_invariants]
            self.arrays["model_data"][places] = found

    def _words_at(self, t, x: np.ndarray) -> np.ndarray:
        """What an entry takes to evaluate something at another time and state, which have to live as long."""
        self.arrays["start_asked"][0] = t if np.ndim(t) else (t, 0.0)
        return words(self.arrays | {"state_x": x})

    def _evaluators(self) -> dict[str, Any]:
        """What is asked of states later, each as a function of times and states."""
        plan, model = self.plan, self.plan.model
        wanted = {"residuals": ("residuals", plan.n_position + plan.n_lam), "energy": ("energies", 2)}
        program, size = self.program, model.nq + model.nv
        arrays = {name: self.arrays[name].copy() for name in ("model_data", "start_W", "start_asked")}
        others = dict(self.arrays) | arrays

        def along(entry: str, count: int, t: np.ndarray, x: np.ndarray) -> np.ndarray:
            found = np.empty((len(t), count, 2))
            for i in range(len(t)):
                state = np.ascontiguousarray(x[i, :size])
                arrays["start_asked"][0] = t[i]
                program.call(entry, words(others | {"state_x": state}))
                found[i] = arrays["start_W"][:count]
            return found

        return {
            name: (lambda t, x, entry=entry, count=count: along(entry, count, t, x))
            for name, (entry, count) in wanted.items()
            if entry in program.entries and count
        }

    def _stretch(self) -> int:
        """Take steps until Python has to know of something; return a status."""
        self._enter()
        status = self.program.call("drive", self._words)
        self._show()
        return status

    def _enter(self) -> None:
        """Take over what was set in the memory."""
        reals, wholes = self.arrays[REALS], self.arrays[WHOLES]
        for name, place in self._places[REAL].items():
            value = getattr(self.memory, name)
            if reals[place, 0] != value:
                reals[place] = value, 0.0
        for name, place in self._places[WHOLE].items():
            wholes[place] = getattr(self.memory, name)

    def _show(self) -> None:
        """Show the first doubles in the memory and in the arrays of the state."""
        reals, wholes = self.arrays[REALS], self.arrays[WHOLES]
        for name, place in self._places[REAL].items():
            setattr(self.memory, name, float(reals[place, 0]))
        for name, place in self._places[WHOLE].items():
            setattr(self.memory, name, int(wholes[place]))
        for array, name in ((self.x, "state_x"), (self.xn, "state_xn"), (self.K, "state_K"), (self.E, "state_E")):
            array[...] = self.arrays[name][..., 0]

    def _collect(self, chunks: int, events: int) -> None:
        """Take over what the loop has written, after as many chunks of rows."""
        rows = self.memory.rows
        if rows:
            parts = tuple(self.arrays[name][:rows].copy() for name in ("record_t", "record_x", "record_k"))
            self.record.pairs[chunks:] = [parts]
            t, x, k = (np.ascontiguousarray(part[..., 0]) for part in parts)
            self.record.add(t, x, k, np.zeros((rows, 0)), rows, chunks)
        self.memory.rows = 0
        self.noted[:] = self.K[-2:, : self.noted.shape[1]]

    def slope(self, t: float, x: np.ndarray, row: int) -> bool:
        """There is no field in doubles."""
        return False
