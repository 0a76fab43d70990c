"""Degrees of freedom, redundant rows and the distance from a singular position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument, InconsistentState
from ..starting.initial import rank_by_rows
from .assemble import Kinematics, close

# bodies, in the plane and in space, beyond which no matrix of all joints is made: one of 10⁴ rods in the plane would take 5 GB, and
# 120 bodies in space 50 s
DENSE = {2: 300, 3: 40}
MOST = 20  # joints with redundant rows that are printed by name
RANK = 1e-8  # singular values below, relative to the largest, count as zero


@dataclass(frozen=True)
class Mobility:
    """What the joints leave free where the mechanism stands.

    Parameters
    ----------
    dof : int
        Degrees of freedom; drives count as constraints.
    rows, rank : int
        Number of constraint rows, and how many are independent.
    redundant : {str: int}
        Rows that repeat others, by joint: their reactions are not unique. Beyond 300 bodies (40 in space) by the pivots of tables;
        empty where these do not tell them.
    margin : float
        Smallest singular value that should not be zero, rows scaled to 1: near 0 the position is singular. NaN beyond 300 bodies
        (40 in space).
    """

    dof: int
    rows: int
    rank: int
    redundant: dict[str, int]
    margin: float

    def __str__(self) -> str:
        text = f"{self.dof} degree{'s' if self.dof != 1 else ''} of freedom; {self.rank} of {self.rows} rows independent"
        if self.redundant:
            named = [f"{count} at {name!r}" for name, count in self.redundant.items()]
            more = f" and at {len(named) - MOST} more" if len(named) > MOST else ""
            text += f"; redundant: {', '.join(named[:MOST])}{more}"
        return text if np.isnan(self.margin) else text + f"; margin from a singular position {self.margin:.2g}"


def mobility(m) -> Mobility:
    """Count where the mechanism is assembled; rank that is higher nearby means a singular position, not redundancy."""
    q = m.assembly.q
    if len(m.bodies) > DENSE[m.dimension]:
        return _by_tables(m, q)
    k = Kinematics(m)
    G = _scaled(k, q)
    rows = len(G)
    if not rows:
        return Mobility(k.nv, 0, 0, {}, np.inf)
    generic, order = _rank(G), rank_by_rows(G)[1]
    parts = [part for part in k.parts if part.level == "position"]
    random = np.random.default_rng(11)
    for spread in (1e-3, 1e-2):
        try:
            near = k.kit.moved(q, spread * k.size * random.uniform(-1, 1, k.nv) / k.scale)
            nearby = _scaled(k, close(k, near, parts, {}, ""))
        except InconsistentState:
            continue
        if _rank(nearby) > generic:
            generic = _rank(nearby)
            order = rank_by_rows(nearby)[1]
    values = np.linalg.svd(G, compute_uv=False)
    redundant: dict[str, int] = {}
    for row in sorted(order[generic:]):
        name = k.labels[row][0]
        redundant[name] = redundant.get(name, 0) + 1
    return Mobility(k.nv - generic, rows, generic, redundant, float(values[generic - 1]))


def _by_tables(m, q: np.ndarray) -> Mobility:
    """The same of a large mechanism: redundant rows are counted by its elimination, here and nearby, and told by its pivots."""
    from .closing_tables import TableKinematics  # which makes a model

    rows = sum(len(part.labels) for part in (*m.joints.alone.values(), *m.drives.values()))
    rows += sum(len(series.whole.labels) * series.count for series in m.joints.series)
    count, named = 0, {}
    if rows:
        k = TableKinematics(m, q, Kinematics(m))
        count = k.redundant(q)
        named = k.repeating(count) if count else {}
    return Mobility(m.kit.NV * len(m.bodies) - rows + count, rows, rows - count, named, np.nan)


def refuse_shared_loads(m, q) -> None:
    """Refuse friction under a reaction that redundant joints share: there is no one friction."""
    loaded = [force for force in m.forces.alone.values() if force.load is not None]  # none in series
    if not loaded:
        return
    k = Kinematics(m)
    U, values, _ = np.linalg.svd(_scaled(k, q))
    rank = int(np.sum(values > RANK * values[0]))
    free = np.linalg.norm(U[:, rank:], axis=1)  # of each row's multiplier
    for force in loaded:
        share = max(free[i] for i, (name, _) in enumerate(k.labels) if name == force.load)
        if share > RANK:
            raise BadArgument(
                f"{force.name!r} follows the reaction of joint {force.load!r}, which is not unique: other joints carry "
                "the same load (m.mobility() names them). Replace one of them by a joint that leaves more free, such "
                "as spherical for revolute, or state the load, coulomb=."
            )


def _scaled(k: Kinematics, q) -> np.ndarray:
    """G with rotations measured in lengths and rows of length 1."""
    G = k.jacobian(0.0, q) / k.scale
    return G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None]


def _rank(G) -> int:
    values = np.linalg.svd(G, compute_uv=False)
    return int(np.sum(values > RANK * values[0]))
