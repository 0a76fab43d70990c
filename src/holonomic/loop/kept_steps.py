"""What is kept of a step that cannot be taken again from its start alone: its length, and what its dense output is made of.

It stands in one row of an array: the fields of `DENSE`, then as many rows of K as the integrator names (`dense_rows`, from
`dense_first` on). Dense output itself is made when somebody looks into the step: most steps are never looked into.
"""

from __future__ import annotations

from ..native.layout import REAL, Layout, view_as
from ..native.marks import leaf

DENSE = Layout("Dense", (("h", REAL, "length of the step; 0: none ends here"),))
AT_ROWS = len(DENSE.fields)
dense_of = view_as(DENSE)


def columns(dense_rows: int, width: int) -> int:
    """Numbers that one step takes; 0 where it can be taken again."""
    return AT_ROWS + dense_rows * width if dense_rows else 0


@leaf
def keep_none(dense, row):
    """No step ends at this row."""
    dense_of(dense[row]).h = 0.0


@leaf
def keep_step(dense, row, h, K, first):
    """Keep the step that ends at this row."""
    width = K.shape[1]
    dense_of(dense[row]).h = h
    for i in range((dense.shape[1] - AT_ROWS) // width):
        for j in range(width):
            dense[row, AT_ROWS + i * width + j] = K[first + i, j]


@leaf
def take_step(dense, row, K, first):
    """Put what the dense output of the step is made of back into K; return its length."""
    width = K.shape[1]
    for i in range((dense.shape[1] - AT_ROWS) // width):
        for j in range(width):
            K[first + i, j] = dense[row, AT_ROWS + i * width + j]
    return dense_of(dense[row]).h
