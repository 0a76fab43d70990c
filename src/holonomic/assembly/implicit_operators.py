"""Operators of tables that eliminate by saddle fronts: of implicit and half-explicit methods; and which rows they leave out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..errors import IncompatibleMethods
from ..kernels import table_accelerations as accelerations
from ..kernels import table_both_levels as both_levels
from ..kernels import table_equations, table_factors, table_mass_moves, table_solutions
from ..kernels import table_with_accelerations as with_accelerations
from ..kernels.elements import ROWS, SPEEDS
from ..kernels.signatures import N_FUNCTIONS, Fn
from ..loop.from_python import invoke
from ..model.model_base import N_GAINS
from ..model.operators import Operator
from .acceleration_kinds import ACCELERATIONS
from .acceleration_tables import AccelerationTables
from .collection import Collection, Context
from .newton_kinds import VELOCITY, Levels
from .newton_tables import NewtonTables
from .what_lumps_hold import masses_of, rows_by_state, rows_of

SHORT = 1e10  # 1/h at which rows that repeat others are looked for: forces do not count then
TRIALS = 8  # orders that are tried: rows whose pivots are not there yet wait for all their bodies


class OfFronts:
    """Operators of a collection that eliminate by saddle fronts; each kind of them is made when it is first asked for."""

    def __init__(self, c: Collection):
        self.c = c
        self._known: tuple[np.ndarray, np.ndarray] | None = None
        self._newton: dict[Levels, NewtonTables] = {}
        self._ends: dict[Levels, NewtonTables] = {}
        self.dropped = np.zeros(c.n_rows, dtype=bool)  # rows that repeat others
        if c.redundant != 0 and c.n_rows:
            self.dropped = self._replaced(waits=~self.dropped, looks=1)[0]
            found = int(self.dropped.sum())
            if c.redundant > 0 and found != c.redundant:
                raise IncompatibleMethods(
                    f"{c.redundant} of {c.n_rows} constraint rows repeat others at the start, but {found} do so in the drawing, "
                    'where tables choose those that they leave out. Draw the mechanism where it starts, or use compile="now".'
                )

    @property
    def _start(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the linearized equations at the start, and data; kept while an order is looked for."""
        if self._known is None:
            c = self.c
            data = np.concatenate([c.values, c.numbers, np.zeros(c.at_gains + N_GAINS - len(c.values) - len(c.numbers))])
            self._known = self._linearized(self._bare(), data), data
        return self._known

    def _replaced(self, **how) -> tuple[np.ndarray, NewtonTables]:
        """Rows whose pivots are replaced in such tables, and the tables."""
        at_start, data = self._start
        looked = NewtonTables(self.c, self.dropped, at_start, **how)
        if looked.accelerations:
            shift, linear = 1.0, np.concatenate([at_start, at_start])
        else:
            shift, linear = SHORT, np.append(at_start, 1.0)
        factors = _called(table_factors.table_newton_factor, looked.context, looked.real, shift, linear, data)
        return looked.replaced(factors), looked

    def _in_order(self, accelerations: bool, levels: Levels = VELOCITY) -> NewtonTables:
        """Tables with an order in which no pivot vanishes at the start: rows that go too early wait, if need be more of them.

        It is that of index 2: at other levels rows are the same but for factors, and at two they are there twice.
        """
        waits = np.zeros(self.c.n_rows, dtype=bool)
        for trial in range(TRIALS):
            early, looked = self._replaced(waits=waits, looks=2, accelerations=accelerations)
            if not early.any() or waits.all():
                if levels == VELOCITY:
                    return looked.as_found()
                break
            if not (early & ~waits).any():  # rows that went before leave nothing for these
                early = self._beside(early) if trial < TRIALS - 2 else ~waits
            waits = waits | early
        if levels == VELOCITY:
            return NewtonTables(self.c, self.dropped, self._start[0], waits, accelerations=accelerations).as_found()
        return self._made(levels, waits)

    def _made(self, levels: Levels, waits, **how) -> NewtonTables:
        """Tables of equations with constraints at these levels."""
        if levels[0] == ACCELERATIONS:
            return AccelerationTables(self.c, self.dropped, self._start[0], waits, levels, **how)
        return NewtonTables(self.c, self.dropped, self._linear_of(levels), waits, levels=levels, **how).as_found()

    def _linear_of(self, levels: Levels) -> np.ndarray:
        """Numbers of the linearized equations with constraints at these levels, at the start."""
        at_start, data = self._start
        if levels == VELOCITY:
            return at_start
        return self._linearized(self._bare(levels=levels), data)

    def _linearized(self, bare: NewtonTables, data: np.ndarray) -> np.ndarray:
        """Numbers of the linearized equations at the start."""
        at_rest = np.concatenate([self.c.start, np.zeros(bare.n_equations - len(self.c.start))])
        return _called(table_equations.table_linearized, bare.context, bare.n_linear, 0.0, at_rest, data)

    def _beside(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the bodies that these rows hold, and of the bodies that those hold."""
        c = self.c
        for _ in range(2):
            lumps = {
                lump for table in c.of(ROWS, SPEEDS) for first, ends in zip(table.first, table.ends, strict=True)
                if rows[first : first + table.kind.rows].any() for lump in ends
            }  # fmt: skip
            rows = rows.copy()
            for table in c.of(ROWS, SPEEDS):
                for first, ends in zip(table.first, table.ends, strict=True):
                    if lumps & set(ends):
                        rows[first : first + table.kind.rows] = True
        return rows

    @cached_property
    def _whole(self) -> NewtonTables:
        made, self._known = self._in_order(accelerations=True), None
        made.context.memory.at_gains = self.c.at_gains
        return made

    def _at(self, levels: Levels) -> NewtonTables:
        if levels not in self._newton:
            self._newton[levels], self._known = self._in_order(accelerations=False, levels=levels), None
        return self._newton[levels]

    def newton(self, levels: Levels) -> dict[Fn, Operator]:
        """Those of implicit methods, for equations with constraints at these levels."""
        made = self._at(levels)
        if isinstance(made, AccelerationTables):
            return self._with_accelerations(made)
        size = made.n_equations
        solve, complex_solve = table_solutions.table_newton_solve, table_solutions.table_complex_solve
        if made.both:
            solve, complex_solve = both_levels.table_both_solve, both_levels.table_both_complex_solve
        return {
            fn: Operator(kernel.address, made.context.address, length)
            for fn, kernel, length in (
                (Fn.EQUATIONS, table_equations.table_equations, size),
                (Fn.LINEARIZED, table_equations.table_linearized, made.n_linear),
                (Fn.NEWTON_FACTOR, table_factors.table_newton_factor, made.real),
                (Fn.NEWTON_SOLVE, solve, size),
                (Fn.COMPLEX_FACTOR, table_factors.table_complex_factor, made.complex),
                (Fn.COMPLEX_SOLVE, complex_solve, 2 * size),
                (Fn.GRADIENTS, table_equations.table_gradients, size),
                (Fn.KINEMATICS, accelerations.table_kinematics, len(self.c.start)),
                *(
                    (
                        (Fn.MOTION_FACTOR, table_factors.table_motion_factor, made.real),
                        (Fn.MOTION_TIMES, table_solutions.table_motion_times, size),
                    )
                    if not made.both
                    else ()
                ),
            )
        }

    def of_ends(self, levels: Levels) -> dict[Fn, Operator]:
        """Those of methods whose algebraic rows belong to another point than their differential ones."""
        if levels not in self._ends:
            waits = self._at(levels).waits
            self._ends[levels], self._known = self._made(levels, waits, ends=True), None
        made = self._ends[levels]
        solve, size = both_levels.table_both_solve if made.both else table_solutions.table_newton_solve, made.n_equations
        if isinstance(made, AccelerationTables):
            solve, size = with_accelerations.table_solve_with, made.n_unknowns
        return {
            Fn.ENDS_FACTOR: Operator(table_factors.table_newton_factor.address, made.context.address, made.real),
            Fn.ENDS_SOLVE: Operator(solve.address, made.context.address, size),
        }

    @staticmethod
    def _with_accelerations(made: AccelerationTables) -> dict[Fn, Operator]:
        """Those of equations with accelerations among the unknowns."""
        size, linear = made.n_equations, made.context.memory.n_linear
        return {
            fn: Operator(kernel.address, made.context.address, length)
            for fn, kernel, length in (
                (Fn.EQUATIONS, with_accelerations.table_equations_with, size),
                (Fn.LINEARIZED, with_accelerations.table_linearized_with, linear),
                (Fn.NEWTON_FACTOR, table_factors.table_newton_factor, made.real),
                (Fn.NEWTON_SOLVE, with_accelerations.table_solve_with, made.n_unknowns),
                (Fn.COMPLEX_FACTOR, table_factors.table_complex_factor, made.complex),
                (Fn.COMPLEX_SOLVE, with_accelerations.table_complex_solve_with, 2 * made.n_unknowns),
                (Fn.GRADIENTS, with_accelerations.table_gradients_with, size),
            )
        }

    @cached_property
    def _moves(self) -> NewtonTables:
        waits = self._whole.waits
        linear, self._known = self._linear_of(VELOCITY), None
        return NewtonTables(self.c, self.dropped, linear, waits, moves=True).as_found()

    def by_mass(self) -> dict[Fn, Operator]:
        """Moves of velocities along M⁻¹Gᵀ."""
        made, nv = self._moves, self.c.nv * self.c.n_bodies
        written = 1 + self.c.n_rows + made.n_linear + made.panels
        return {
            fn: Operator(kernel.address, made.context.address, length)
            for fn, kernel, length in (
                (Fn.VEL_FACTOR, table_mass_moves.table_mass_factor, written),
                (Fn.VEL_SOLVE, table_mass_moves.table_mass_solve, nv),
                (Fn.VEL_TANGENT, table_mass_moves.table_mass_tangent, nv),
                (Fn.VEL_INVERSE, table_mass_moves.table_mass_inverse, self.c.n_rows),
            )
        }

    def rows(self, t: float, x: np.ndarray, data: np.ndarray):
        """G as a sparse array."""
        made = self._bare()
        return rows_of(made, self._linear_at(made, t, x, data))

    def masses(self, t: float, x: np.ndarray, data: np.ndarray):
        """M as a sparse array."""
        made = self._bare()
        return masses_of(made, self._linear_at(made, t, x, data))

    def rows_by_state(self, t: float, x: np.ndarray, data: np.ndarray):
        """Rows of positions, then of velocities, by (q, v), as a sparse array."""
        both = self._bare(levels=("position",)), self._bare()
        return rows_by_state(*both, *(self._linear_at(made, t, x, data) for made in both))

    def _bare(self, **how) -> NewtonTables:
        """Tables of all rows, without an order of elimination."""
        return NewtonTables(self.c, np.zeros(self.c.n_rows, dtype=bool), **how)

    @staticmethod
    def _linear_at(made: NewtonTables, t: float, x: np.ndarray, data: np.ndarray) -> np.ndarray:
        y = np.concatenate([x, np.zeros(made.n_equations - len(x))])
        return _called(table_equations.table_linearized, made.context, made.n_linear, t, y, data)

    def field(self) -> Operator:
        """The field from the whole matrix."""
        made = self._whole
        return Operator(accelerations.table_saddle_field.address, made.context.address, made.n_equations + 1)

    def half_explicit(self) -> dict[Fn, Operator]:
        """Those of half-explicit methods."""
        made, c = self._whole, self.c
        return {
            fn: Operator(kernel.address, made.context.address, length)
            for fn, kernel, length in (
                (Fn.KINEMATICS, accelerations.table_kinematics, len(c.start)),
                (Fn.VELOCITY, accelerations.table_velocity, c.n_rows + made.n_linear),
                (Fn.HALF_EXPLICIT, accelerations.table_half_explicit, made.n_equations + 1),
            )
        }


def _called(kernel, context: Context, length: int, t: float, a: np.ndarray, data: np.ndarray) -> np.ndarray:
    """What one operator writes; slopes are zero."""
    fns, out = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), np.empty(length)
    fns[:2] = kernel.address, context.address
    invoke(fns, 0, t, a, np.zeros(len(a)), data, out)
    return out
