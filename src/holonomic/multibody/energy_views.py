"""Energy and power of a whole mechanism in a run. Time is the first axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .lower import mass_keys
from .vectors import dot
from .view import View

if TYPE_CHECKING:
    from .results import Record


class EnergyView(View):
    """Energy of the whole mechanism, J: kinetic, gravity, elastic, and their sum."""

    def __init__(self, record: Record):
        self._record = record

    def _title(self) -> str:
        return "energy of the mechanism"

    @property
    def kinetic(self) -> np.ndarray:
        r = self._record
        return r.out(sum(kinetic_energy(r, body) for body in r.resolver.bodies.values()))

    @property
    def gravity(self) -> np.ndarray:
        r = self._record
        g = tuple(r.p[key] for key in r.resolver.gravity)
        bodies = r.resolver.bodies.values()
        return r.out(-sum(r.p[f"{body.name}.mass"] * dot(g, r.kit.centre(r.q, body.index)) for body in bodies))

    @property
    def elastic(self) -> np.ndarray:
        r = self._record
        return r.out(sum((r.energy(force) for force in r.resolver.forces.values() if force.stores), 0.0))

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravity + self.elastic


class PowerView:
    """Power given to the bodies by everything that stores no energy, W, by kind."""

    def __init__(self, record: Record):
        self._record = record

    @property
    def by_name(self) -> dict[str, Any]:
        """Power of each force, each drive and each joint that follows time; of springs, that of their dampers."""
        r = self._record
        found = {}
        for force in r.resolver.forces.values():
            acts = r.applied(force)
            if acts:
                found[force.name] = r.out(sum(r.work(*act) for act in acts))
        for part in (*r.resolver.drives.values(), *filter(r.follows_time, r.resolver.joints.values())):
            found[part.name] = r.out(r.power(part))
        return found

    @property
    def by_kind(self) -> dict[str, Any]:
        """Sums over motors, dampers, drives and so on; a rod whose length follows time is a drive."""
        resolver = self._record.resolver
        kinds: dict[str, Any] = {}
        for name, power in self.by_name.items():
            kind = resolver.forces[name].kind if name in resolver.forces else "drive"
            kinds[kind] = kinds.get(kind, 0.0) + power
        return kinds

    @property
    def total(self) -> np.ndarray:
        """The change of the total energy per second."""
        return sum(self.by_name.values(), self._record.out(0.0))

    def __repr__(self) -> str:
        return f"<power in a run: .total, .by_name, .by_kind, .{', .'.join(self.by_kind)}>"

    def __getattr__(self, kind: str):
        if kind.startswith("_"):
            raise AttributeError(kind)
        known = self.by_kind
        if kind in known:
            return known[kind]
        raise AttributeError(f"no power of kind {kind!r} here; there is: {', '.join(known) or 'none'}.")


def kinetic_energy(r: Record, body):
    """Of one body, J."""
    nv, k = r.kit.NV, body.index
    params = vars(r.p)
    stated = f"{body.name}.shape mass"  # there where the inertia grows with the mass
    mass, inertia, _ = mass_keys(body.name, params)
    block = r.kit.mass_block(r.p, (mass, inertia, stated if stated in params else None))
    v = r.v[nv * k : nv * (k + 1)]
    return sum(block[i][j] * v[i] * v[j] for i in range(nv) for j in range(nv)) / 2.0
