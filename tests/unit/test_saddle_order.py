"""The compiled order of bodies and rows is that of a few lines of Python that do what its docstring says."""

import numpy as np
import pytest

from holonomic.assembly.saddle_order import saddle_order


def plain_order(heights, pairs, freedom, held, waiting):
    """Own nodes and border of each front, one body after the other, with sets."""
    n_lumps, cliques = len(freedom), {c: set(pair) for c, pair in enumerate(pairs)}
    of = [{c for c, nodes in cliques.items() if node in nodes} for node in range(len(heights))]
    ends = [{k for c in of[node] for k in cliques[c] if k < n_lumps} for node in range(len(heights))]
    weight = lambda nodes: sum(heights[node] for node in nodes)
    room, gone, fronts, left = {}, set(), [], set(range(n_lumps))
    while left:
        lump = min(left, key=lambda k: (sum(weight(cliques[c]) - heights[k] for c in of[k]), k))
        left.remove(lump)
        own, merged, taken = [lump], set(), of[lump]
        freedoms = freedom[lump] + sum(room.get(c, 0) for c in taken)
        while True:
            merged = merged | taken
            around = set().union(*(cliques[c] for c in merged)) - set(own)
            carried, best = set().union(*(cliques[c] for c in merged & set(room))), None
            for row in (row for row in around if row >= n_lumps):
                rest = of[row] - merged
                more = freedoms + sum(room.get(c, 0) for c in rest)
                if row in waiting:
                    goes = ends[row] - {lump} <= gone
                else:
                    goes = heights[row] <= more and ((lump, row) in held or row in carried or not rest)
                if goes:
                    fill = sum(weight(cliques[c] - around) for c in rest)
                    best = min(best or (fill, row, more), (fill, row, more))
            if best is None:
                break
            own.append(best[1])
            freedoms, taken = best[2] - heights[best[1]], of[best[1]] - merged
        number = len(cliques) + len(fronts)
        for node in around:
            of[node] = of[node] - merged | {number}
        cliques[number], room[number] = set(around), max(0, freedoms)
        gone.update(own)
        fronts.append((own, around))
        cliques = {c: nodes for c, nodes in cliques.items() if c not in merged} | {-1 - c: set() for c in merged}
    rest = [node for node in range(n_lumps, len(heights)) if node not in gone and heights[node]]
    return fronts, rest


@pytest.mark.parametrize("seed", range(60))
def test_the_compiled_order_is_the_plain_one(seed):
    random = np.random.default_rng(seed)
    n_lumps, n_rows = int(random.integers(1, 25)), int(random.integers(0, 40))
    n = n_lumps + n_rows
    heights = np.concatenate([np.full(n_lumps, 3), random.integers(0 if seed % 3 == 0 else 1, 4, n_rows)])
    pairs = {(int(random.integers(n_lumps)), node) for node in range(n_lumps, n) for _ in range(random.integers(1, 4))}
    pairs |= {tuple(sorted(random.choice(n_lumps, 2, replace=False).tolist())) for _ in range(seed % 5 if n_lumps > 1 else 0)}
    pairs = sorted(pairs)
    freedom = random.integers(0, 4, n_lumps)
    held = {pair for pair in pairs if pair[1] >= n_lumps and random.random() < 0.7}
    waiting = {node for node in range(n_lumps, n) if random.random() < 0.2 * (seed % 4)}
    fronts, rest = plain_order(heights.tolist(), pairs, freedom.tolist(), held, waiting)
    asked = np.isin(np.arange(n), list(waiting))
    given, alone = np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array([k * n + row for k, row in held], dtype=np.int64)
    found = saddle_order(heights, given, freedom, alone, asked)
    for k, (own, border) in enumerate(fronts):
        assert found.own[found.own_first[k] : found.own_first[k + 1]].tolist() == own
        there = found.border[found.border_first[k] : found.border_first[k + 1]]
        assert set(there.tolist()) == border and np.all(np.diff(found.when[there]) >= 0)
    last = found.own[found.own_first[len(fronts)] :]  # rows that nobody could carry
    assert sorted(node for node in last.tolist() if heights[node]) == rest
    assert np.array_equal(np.sort(found.own), np.flatnonzero(found.when >= 0))
