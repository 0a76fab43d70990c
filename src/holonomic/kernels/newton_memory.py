"""What kernels know of implicit methods on tables: the words of each kind of element, the fronts, and where factors have what.

Factors are: growth, c (real and imaginary part), how often solutions are refined, by what δq follows δv (1/c unless a method
says otherwise), the linearized equations, then N and (c - ∂q̇/∂q)⁻¹ of coordinates that turn, and the panels of `saddle_fronts`.
"""

from __future__ import annotations

from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import inner, whole_at
from ..native.types import f8, i8
from .saddle_fronts import SaddleProgram

# what entries of a kind belong to: c M, by velocities, by coordinates, G and Gᵀ, by multipliers of a joint, Gᵀ alone
MASS, BY_V, BY_Q, JACOBIAN, BY_LAM, ACROSS = range(6)
LOADED = 5  # a kind of element: a force that follows the multipliers of a joint, whose rows are its own here
OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)
# words of a kind: what it is, elements, ends, rows, coordinates of its ends, velocities; then of the equations and of what they are
# linearized to function, numbers it reads, numbers it writes, place of the first, address of places in data; addresses of
# the lumps at its ends and of its first rows; whether it writes q̇; of rows, what gives their accelerations: function, numbers
# it reads, address of places in data; which of its ends a state is itself; multipliers of each of its rows; whether it reads v'
# of its ends
KIND = 25
TELLS = 5  # numbers that factors begin with

NEWTON = Layout(
    "NEWTON",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("kinds", "address of the kinds, `KIND` words each"),
            ("n_kinds", "how many"),
            ("lumps", "address of the lumps, `LUMP` words each"),
            ("n_lumps", "how many"),
            ("order_q", "address: place among the model's coordinates of each coordinate here"),
            ("order_v", "address: the same of velocities"),
            ("plain", "address: of each coordinate the velocity that is its rate, or -1"),
            ("dropped", "address: of each multiplier 1 where its row repeats others"),
            ("nq", "coordinates"),
            ("nv", "velocities"),
            ("n_rows", "rows of constraints, each with a λ"),
            ("multipliers", "all of them: λ, and μ of rows of positions where constraints stand at two levels"),
            ("hidden", "of these, from the first on, those of accelerations: rows that no method is to hold"),
            ("free", "variables of the matrix that are no multipliers: velocities, states; with μ coordinates of bodies, too"),
            ("states", "numbers of states, the last coordinates; as variables of the matrix they follow the velocities"),
            ("n_linear", "numbers of the linearized equations"),
            ("loaded", "whether forces follow multipliers"),
            ("at_gains", "place in data of the factors of g and of g' that accelerations of rows are bent by"),
            ("turning", "lumps with coordinates that turn"),
            ("turned", "how many of these each has"),
            ("spun", "velocities that they are made of"),
            ("turns", "address: of each such lump its first coordinate, its first velocity, its place in the linearized equations"),
            ("heads", "address of the fronts, `HEAD` words each"),
            ("fronts", "how many"),
            ("names", "address of the numbers of their variables"),
            ("entries", "address of their entries"),
            ("entry_turns", "address: row of N of each entry by a coordinate that turns"),
            ("children", "address of what earlier fronts leave to each"),
            ("panels", "numbers of all panels"),
            ("left", "numbers of room for what fronts leave"),
            ("largest", "variables of the largest front"),
            ("most_arguments", "numbers of the arguments of an element"),
            ("most_data", "numbers of an element"),
            ("most_written", "numbers that an element writes"),
            ("row_places", "address, where accelerations are unknowns: of each variable its equation, or -1"),
            ("column_places", "address: the same of the unknown that it is"),
            ("paired", "address: of each unknown multiplier its row, which says what it is where that is left out; or -1"),
            ("at_w", "place of these accelerations among the unknowns; λ follows"),
            ("positions", "rows of positions"),
            ("least", "whether differential equations hold in the sense of least squares"),
            ("looks", "what small pivots are looked for: 0 none, 1 rows that repeat others, 2 rows that go too early"),
        )
    ],
)
see = view_as(NEWTON)


@inner
def program_of(head):
    """The fronts."""
    return SaddleProgram(
        whole_at(head.heads, 1),
        head.fronts,
        whole_at(head.names, 1),
        whole_at(head.entries, 1),
        whole_at(head.entry_turns, 1),
        whole_at(head.children, 1),
    )
