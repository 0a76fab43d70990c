"""What lumps hold at the start, by the numbers of G: freedoms that rows can take, and rows that one lump alone can carry."""

from __future__ import annotations

import numpy as np

from ..kernels.elements import BODY, ROWS, SPEEDS
from ..kernels.newton_memory import ACROSS, BY_Q, JACOBIAN, MASS
from .newton_entries import ends_of

MANY = 50  # joints of a body, from which on the rank of what they hold is not looked at
HELD = 1e-9  # singular values of rows beside the largest, above which they count


def rows_of(made, L: np.ndarray):
    """G as a sparse array, rows and velocities in the order of the model, by the numbers of the linearized equations."""
    from scipy.sparse import csr_array

    c, order, parts = made.c, made.c.order(made.c.nv), []
    for table, G in blocks_of_rows(made, L):
        _, ends_v = ends_of(table.kind.widths)
        for j, (end, inside) in enumerate(ends_v):
            column = order[made.lumps[table.ends[:, end], 2] + inside]
            for i in range(table.kind.rows):
                parts.append((G[:, i, j], table.first + i, column))
    values, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else (np.zeros(0),) * 3
    keep = values != 0.0
    found = values[keep], (rows[keep].astype(np.int64), columns[keep].astype(np.int64))
    return csr_array(found, shape=(c.n_rows, c.nv * c.n_bodies))


def rows_by_state(at_positions, at_velocities, L_positions: np.ndarray, L: np.ndarray):
    """Rows of positions, then of velocities, by (q, v), by the numbers of equations with constraints at these levels."""
    from scipy.sparse import csr_array

    c, parts = at_velocities.c, []
    by_q, by_v, nq = c.places_of_coordinates(), c.order(c.nv), c.nq * c.n_bodies + c.n_states
    for made, numbers, begin, kinds in (
        (at_positions, L_positions, 0, (ROWS,)), (at_velocities, L, c.n_constraints, (ROWS, SPEEDS)),
    ):  # fmt: skip
        for table, at in zip(made.tables, made.at, strict=True):
            kind, newton, count = table.kind, table.kind.newton(made.levels), len(table.ends)
            if kind.what not in kinds:
                continue
            ends_q, ends_v = ends_of(kind.widths)
            source = at + newton.blocks.length - len(newton.entries) + newton.blocks.length * np.arange(count)
            for i, (code, row, column) in enumerate(newton.entries.tolist()):
                if row < len(ends_v) or code not in (BY_Q, JACOBIAN):
                    continue
                end, inside = (ends_q if code == BY_Q else ends_v)[column]
                first = made.lumps[table.ends[:, end], 0 if code == BY_Q else 2] + inside
                place = by_q[first] if code == BY_Q else nq + by_v[first]
                parts.append((numbers[source + i], begin + table.first + row - len(ends_v), place))
    values, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    return csr_array((values, (rows, columns)), shape=(c.n_constraints + c.n_rows, nq + c.nv * c.n_bodies))


def masses_of(made, L: np.ndarray):
    """M as a sparse array, in the order of the model."""
    from scipy.sparse import csr_array

    c, order, parts = made.c, made.c.order(made.c.nv), []
    for table, at in zip(made.tables, made.at, strict=True):
        if table.kind.what != BODY:
            continue
        newton, count = table.kind.newton(made.levels), len(table.ends)
        first = made.lumps[np.asarray(table.ends).reshape(count, -1)[:, 0], 2]
        source = at + newton.blocks.length - len(newton.entries) + newton.blocks.length * np.arange(count)
        for i, (code, row, column) in enumerate(newton.entries.tolist()):
            if code == MASS:
                parts.append((L[source + i], order[first + row], order[first + column]))
    values, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    return csr_array((values, (rows, columns)), shape=(c.nv * c.n_bodies,) * 2)


def blocks_of_rows(made, L: np.ndarray):
    """Tables of rows, and G of each of their elements, (element, row, velocity of its ends)."""
    for table, at in zip(made.tables, made.at, strict=True):
        kind, newton, count = table.kind, table.kind.newton(made.levels), len(table.ends)
        if kind.what not in (ROWS, SPEEDS):
            continue
        width = len(ends_of(kind.widths)[1])
        G = np.zeros((count, kind.rows, width))
        source = at + newton.blocks.length - len(newton.entries) + newton.blocks.length * np.arange(count)
        for i, (code, row, column) in enumerate(newton.entries.tolist()):
            if code in (JACOBIAN, ACROSS) and column < width:
                G[:, row - width, column] = L[source + i]
        yield table, G


def held_by_lumps(made, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Freedoms of lumps that rows can take, and which rows can go with which lump alone, by the numbers of G."""
    n_lumps, n_nodes = made.c.n_lumps, len(made.heights)
    held, lumps, blocks = [np.zeros(0, dtype=np.int64)], [], []
    for table, G in blocks_of_rows(made, L):
        kind, ends, (_, ends_v) = table.kind, table.ends.astype(np.int64), ends_of(table.kind.widths)
        of_end = np.array([end for end, _ in ends_v])
        nodes = n_lumps + made.node_of[table.first]
        for end in range(len(kind.widths)):
            block = G[:, :, of_end == end]
            values = np.linalg.svd(block, compute_uv=False)
            whole = (block.shape[2] >= kind.rows) & (values[:, -1] > HELD * values[:, 0])
            held.append((ends[:, end] * n_nodes + nodes)[whole])
            lumps.append(ends[:, end])
            blocks.append(block)
    return _freedoms(made, lumps, blocks), np.concatenate(held)


def _freedoms(made, lumps: list[np.ndarray], blocks: list[np.ndarray]) -> np.ndarray:
    """The rank of all blocks of G that touch a lump; those of a body with many joints are not looked at, it is whole."""
    n_lumps = made.c.n_lumps
    touching, height = np.zeros(n_lumps, dtype=np.int64), np.zeros(n_lumps, dtype=np.int64)
    for of, block in zip(lumps, blocks, strict=True):
        np.add.at(touching, of, 1)
        np.add.at(height, of, block.shape[1])
    found = np.where(touching > MANY, made.moving, 0)
    few = (touching > 0) & (touching <= MANY)
    shapes, alike = np.unique(np.stack([height, made.moving], axis=1)[few], axis=0, return_inverse=True)
    for k, (rows, width) in enumerate(shapes.tolist()):
        some = np.flatnonzero(few)[alike.ravel() == k]
        place = np.full(n_lumps, -1)
        place[some] = np.arange(len(some))
        whole, at = np.zeros((len(some), rows, width)), np.zeros(len(some), dtype=np.int64)
        for of, block in zip(lumps, blocks, strict=True):
            there = np.flatnonzero(place[of] >= 0)
            while len(there):  # a lump may be touched by several elements of a kind: one after the other
                _, first = np.unique(of[there], return_index=True)
                rest = np.ones(len(there), dtype=bool)
                rest[first] = False
                own = there[~rest]
                into = place[of[own]]
                whole[into[:, None], at[into][:, None] + np.arange(block.shape[1])] = block[own]
                at[into] += block.shape[1]
                there = there[rest]
        found[some] = np.linalg.matrix_rank(whole)
    return found
