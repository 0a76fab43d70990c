"""Random machines out of trees, loops, drives, motors, couplings, gears and springs, and their own mechanics.

What a run says of joints, drives and forces is put together here body by body, by Newton's and Euler's laws, from the numbers the
machine was drawn with: gravity, laws of motors and springs, the axis of every joint as it turns with its body.
"""

from __future__ import annotations

import numpy as np

from holonomic.multibody import Mechanism


class Machine:
    """A random machine, and what it was drawn with."""

    def __init__(self, seed: int, dimension: int):
        self.rng, self.dimension = np.random.default_rng((seed, dimension)), dimension
        self.gravity = self.rng.uniform(-5, 5, dimension) + np.array([0.0, -9.81, 0.0])[:dimension]
        self.m = Mechanism(gravity=tuple(self.gravity))
        self.masses, self.at, self.inertias = {}, {}, {}
        self.places: dict[str, tuple] = {}
        self.hinges, self.ends, self.springs, self.motors, self.couplings, self.gears = {}, {}, {}, {}, {}, {}
        self.drives, self.free = [], 0
        self._bodies()
        self._couplings()
        self._loops()
        self._gears()
        self._actuators()
        self._springs()

    def _point(self, scale=1.0):
        return tuple(float(x) for x in self.rng.uniform(-scale, scale, self.dimension))

    def _axis(self):
        axis = self.rng.normal(size=self.dimension)
        return tuple((axis / np.linalg.norm(axis)).tolist())

    def _bodies(self):
        rng, m = self.rng, self.m
        for k in range(int(rng.integers(2, 6))):
            name = f"b{k}"
            at = self._point(1.5)
            mass = float(rng.uniform(0.5, 3))
            size = rng.uniform(0.3, 1.0, self.dimension)
            if self.dimension == 2:
                inertia = mass * (size @ size) / 12
                m.body(name, at=at, mass=mass, inertia=inertia, angle=float(rng.uniform(-1, 1)))
                self.inertias[name] = np.array(inertia)
            else:
                J = mass * (np.diag([size @ size] * 3) - np.diag(size**2)) / 12
                m.body(name, at=at, mass=mass, inertia=J)
                self.inertias[name] = J
            self.masses[name], self.at[name] = mass, at
            first = "ground" if k == 0 or rng.random() < 0.25 else f"b{int(rng.integers(k))}"
            second = name
            if rng.random() < 0.25:  # also joints whose second body stands nearer to the ground
                first, second = second, first
            self._join(f"J{k}", first, second)

    def _join(self, name, first, second):
        rng, m, place = self.rng, self.m, self._point()
        kinds = ["revolute", "revolute", "prismatic"] + ["spherical", "universal", "cylindrical"] * (self.dimension == 3)
        kind = kinds[int(rng.integers(len(kinds)))]
        axis = self._axis()
        if kind == "universal":
            other = np.cross(axis, self._axis())
            m.universal(name, first, second, at=place, axis=axis, other=tuple(other / np.linalg.norm(other)))
        elif kind == "spherical" or (kind == "revolute" and self.dimension == 2):
            getattr(m, kind)(name, first, second, at=place)
        else:
            getattr(m, kind)(name, first, second, at=place, axis=axis)
        self.ends[name] = first, second
        self.places[name] = place
        if kind in ("revolute", "prismatic", "cylindrical"):
            self.hinges[name] = kind, first, axis
        self.free += 1

    def _couplings(self):
        names = list(self.hinges)
        for i in range(int(self.rng.integers(0, 3))):
            if len(names) < 2 or self.free < 2:
                return
            leader, follower = (str(each) for each in self.rng.permutation(names)[:2])
            if any({leader, follower} & {a, b} for a, b, _ in self.couplings.values()):
                continue
            ratio = float(self.rng.choice([-2.0, -1.0, 1.0, 3.0, round(self.rng.uniform(-2, 2), 2)]))
            values = self.m.assembly.values
            self.m.couple(f"tie{i}", leader, follower, ratio=ratio, offset=values[follower] - ratio * values[leader])
            self.couplings[f"tie{i}"] = leader, follower, ratio
            self.free -= 1

    def _loops(self):
        bodies = ["ground", *self.masses]
        for i in range(int(self.rng.integers(0, 2))):
            if self.free < 2:
                return
            first, second = (str(each) for each in self.rng.permutation(bodies)[:2])
            if {first, second} in [set(pair) for pair in self.ends.values()]:
                continue
            self.m.distance(f"rod{i}", first, second, at=(self._point(2), self._point(2)))
            self.ends[f"rod{i}"] = first, second
            self.free -= 1

    def _gears(self):
        if self.free >= 2 and self.rng.random() < 0.3:  # a housing between any two bodies
            first, second = (str(each) for each in self.rng.permutation(list(self.masses))[:2])
            ratio, axes = float(round(self.rng.uniform(-3, 3), 2)), (self._axis(), self._axis())
            self.m.gear("mesh", first, second, ratio=ratio, **({"axis": axes} if self.dimension == 3 else {}))
            self.gears["mesh"] = first, second, ratio, axes
            self.free -= 1
        if self.dimension == 3:
            return
        wheels = [(name, *self.ends[name]) for name, (kind, _, _) in self.hinges.items() if kind == "revolute"]
        pairs = [(a, b) for a in wheels for b in wheels if a[0] < b[0] and a[1] == b[1]]
        if pairs and self.free >= 2:
            one, other = pairs[int(self.rng.integers(len(pairs)))]
            at = self.places[one[0]], self.places[other[0]]
            apart, share = float(np.linalg.norm(np.subtract(*at))), float(self.rng.uniform(0.2, 2.5))  # beyond 1: a ring
            self.m.gear("teeth", one[2], other[2], at=at, radii=(share * apart, (1 - share) * apart))
            self.ends["teeth"] = one[2], other[2]
            self.free -= 1

    def _actuators(self):
        rng = self.rng
        for name, (kind, _, _) in self.hinges.items():
            word = "force" if kind == "prismatic" else "torque"
            if rng.random() < 0.5:
                c = rng.uniform(-5, 5, 3).tolist()
                self.m.motor(name, **{word: lambda t, speed, c=c: c[0] + c[1] * t - abs(c[2]) * speed})
                self.motors[name] = c
            coupled = any(name in pair[:2] for pair in self.couplings.values())
            if self.free >= 2 and not coupled and rng.random() < 0.3:
                speed = float(rng.uniform(-1, 1))
                self.m.drive(name, speed=speed)
                self.drives.append(name)
                self.free -= 1

    def _springs(self):
        bodies = ["ground", *self.masses]
        for i in range(int(self.rng.integers(0, 3))):
            first, second = (str(each) for each in self.rng.permutation(bodies)[:2])
            at = self._point(2), self._point(2)
            numbers = {"stiffness": float(self.rng.uniform(1, 50)), "length": float(self.rng.uniform(0.2, 2)),
                       "damping": float(self.rng.uniform(0, 2))}  # fmt: skip
            self.m.spring(f"s{i}", first, second, at=at, **numbers)
            self.springs[f"s{i}"] = first, second, at, numbers

    # its own mechanics

    def left(self, sol) -> float:
        """What Newton's and Euler's laws leave of each body, of powers and of couplings, beside the largest force or torque."""
        frames = {name: Frame(sol[name], at, self.dimension) for name, at in self.at.items()}
        frames["ground"] = Frame(None, np.zeros(self.dimension), self.dimension)
        spin = 1 if self.dimension == 2 else 3
        push = {name: np.zeros((len(sol.t), self.dimension)) for name in frames}
        turn = {name: np.zeros((len(sol.t), spin)) for name in frames}
        sizes, missed = [1.0], []

        def act(body, force, point, torque):
            push[body] += force
            turn[body] += torque + moment(point - frames[body].centre, force)
            sizes.extend([np.abs(force).max(), np.abs(torque).max()])

        def act_on_both(ends, force, point, torque):
            act(ends[0], -force, point, -torque)
            act(ends[1], force, point, torque)

        wide = lambda values: np.asarray(values, dtype=float).reshape(len(sol.t), -1)
        for name, ends in self.ends.items():
            act_on_both(ends, sol[name].force, sol[name].place, wide(sol[name].torque))
        for name, (first, second, ratio, axes) in self.gears.items():  # the housing, the ground, is between them
            flat = self.dimension == 2
            one, other = (np.ones((1, 1)) if flat else frames[body].direction(axis)
                          for body, axis in zip((first, second), axes, strict=True))  # fmt: skip
            given = np.sum(other * wide(sol[name].torque), axis=1, keepdims=True)
            act(first, 0.0 * frames[first].centre, frames[first].centre, -ratio * given * one)
            act(second, 0.0 * frames[second].centre, frames[second].centre, given * other)
            missed.append(np.abs(wide(sol[name].torque) - given * other).max() / (1 + np.abs(given).max()))
            missed.append(np.abs(sol[name].power).max() / max(sizes))
        for name, c in self.motors.items():
            kind, first, axis = self.hinges[name]
            given = c[0] + c[1] * sol.t - abs(c[2]) * sol[name].speed
            missed.append(np.abs(sol[f"{name} motor"].effort - given).max() / (1 + np.abs(given).max()))
            along = frames[first].direction(axis)
            if kind == "prismatic":
                act_on_both(self.ends[name], given[:, None] * along, sol[name].ends[:, 1], np.zeros((len(sol.t), spin)))
            else:
                torque = given[:, None] * (np.ones((1, 1)) if self.dimension == 2 else along)
                act_on_both(self.ends[name], np.zeros((len(sol.t), self.dimension)), sol[name].place, torque)
        for name, (first, second, at, numbers) in self.springs.items():
            ends = [frames[body].point(place) for body, place in ((first, at[0]), (second, at[1]))]
            rates = [frames[body].velocity(place) for body, place in ((first, at[0]), (second, at[1]))]
            d, rate = ends[1] - ends[0], rates[1] - rates[0]
            length = np.linalg.norm(d, axis=1)
            pull = numbers["stiffness"] * (length - numbers["length"])
            pull = pull + numbers["damping"] * np.sum(d * rate, axis=1) / length
            missed.append(np.abs(sol[name].tension - pull).max() / (1 + np.abs(pull).max()))
            force = -(pull / length)[:, None] * d
            act(second, force, ends[1], np.zeros((len(sol.t), spin)))
            act(first, -force, ends[0], np.zeros((len(sol.t), spin)))
        for name, mass in self.masses.items():
            a, centre = np.atleast_2d(sol[name].acceleration), frames[name]
            left = push[name] + mass * (self.gravity - a)
            missed.append(np.abs(left).max() / max(sizes))
            missed.append(np.abs(turn[name] - centre.spin_rate(self.inertias[name])).max() / max(sizes))
        missed += self._efforts(sol, frames, max(sizes))
        return float(np.max(missed))

    def _efforts(self, sol, frames, size):
        """What joints give along their axes comes from drives and couplings alone, and couplings take no power."""
        for name, (kind, first, axis) in self.hinges.items():
            along = frames[first].direction(axis)
            whole = np.sum(along * sol[name].force, axis=1) if kind == "prismatic" else (
                sol[name].torque if self.dimension == 2 else np.sum(along * sol[name].torque, axis=1))  # fmt: skip
            coupled = 0.0
            for tie, (leader, follower, ratio) in self.couplings.items():
                share = {leader: -ratio, follower: 1.0}.get(name, 0.0)
                coupled = coupled + share * sol[tie].effort
            driven = sol[f"{name} drive"].effort if name in self.drives else 0.0
            yield np.abs(whole - coupled - driven).max() / size
            motor = sol[f"{name} motor"].effort if name in self.motors else 0.0
            yield np.abs(sol[name].effort - driven - motor).max() / size
            yield np.abs(sol[name].power - (coupled + driven) * sol[name].speed).max() / size
        for tie, (leader, follower, ratio) in self.couplings.items():
            yield np.abs(sol[follower].speed - ratio * sol[leader].speed).max() / 10  # held by stabilizations at best
            taken = sol[tie].effort * (sol[follower].speed - ratio * sol[leader].speed)
            yield np.abs(sol[tie].power - taken).max() / size


class Frame:
    """How a body moves: places of the drawing on it."""

    def __init__(self, view, drawn, dimension):
        self.dimension, self.drawn, self.view = dimension, np.array(drawn), view
        if view is None:
            self.centre, self.R, self.w, self.v = np.zeros(dimension), np.eye(dimension)[None], None, np.zeros(dimension)
            return
        self.centre, self.v = np.atleast_2d(view.position), np.atleast_2d(view.velocity)
        self.R = np.array(view.rotation)
        if dimension == 2:  # bodies may be drawn turned: what is drawn turns by the rest
            start = np.array(view._body.rotation)
            c, s = np.cos(start), np.sin(start)
            self.R = self.R @ np.array([[c, s], [-s, c]])
        self.w = np.asarray(view.angular_velocity).reshape(len(self.centre), -1)

    def direction(self, axis):
        return np.einsum("tij,j->ti", self.R, np.array(axis))

    def point(self, place):
        return self.centre + np.einsum("tij,j->ti", self.R, np.array(place) - self.drawn)

    def velocity(self, place):
        if self.view is None:
            return np.zeros((1, self.dimension))
        arm = self.point(place) - self.centre
        if self.dimension == 2:
            return self.v + self.w * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
        return self.v + np.cross(self.w, arm)

    def spin_rate(self, inertia):
        """Change of the angular momentum about the centre of mass."""
        dw = np.asarray(self.view.angular_acceleration).reshape(len(self.centre), -1)
        if self.dimension == 2:
            return inertia * dw
        J = np.einsum("tij,jk,tlk->til", self.R, inertia, self.R)
        L = np.einsum("tij,tj->ti", J, self.w)
        return np.einsum("tij,tj->ti", J, dw) + np.cross(self.w, L)


def moment(arm, force):
    """arm x force, (time, 1) in the plane."""
    if arm.shape[-1] == 2:
        return (arm[..., 0] * force[..., 1] - arm[..., 1] * force[..., 0])[..., None]
    return np.cross(arm, force)
