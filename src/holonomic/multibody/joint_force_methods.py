"""The methods of Mechanism that add forces on joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import vector
from . import efforts as ef
from . import joints, joints3d
from .joint import EFFORT, Force, Joint
from .parameters import not_negative, number, positive
from .series import PartRow


class JointForceMethods:
    """Forces along a joint's angle or position: `m.motor("O", torque=2.0)`. All return the Force."""

    def torsion_spring(self, joint, *, stiffness: float | None = None, angle: float | None = None,
                       damping: float | None = None, torque=None) -> Force:  # fmt: skip
        """Add a spring on a joint's angle or position, read as "joint spring".

        Parameters
        ----------
        joint : Joint or str
            A joint with an angle or a position.
        stiffness, damping : float
            N m/rad and N m s/rad; N/m and N s/m on a slide. Parameters "joint spring.stiffness", ".damping".
        angle : float, optional
            Where it is relaxed; as drawn if not given. Parameter "joint spring.rest". In space a joint's angle counts no
            turns: a run stops with an error where the joint is 2.94 rad (168°) away from it.
        torque : function, optional
            Instead of stiffness: torque (force) on the second body, of what it names of angle (position), stretch,
            speed, t, p, u and states.
        """
        if isinstance(joint, PartRow):
            return self._springs_on(joint, stiffness=stiffness, angle=angle, damping=damping, torque=torque)
        joint = self._joint(joint, "spring")
        name = f"{joint.name} spring"
        self._new(name, "force")
        if (stiffness is None) == (torque is None):
            raise BadArgument(f"{name!r}: give stiffness= or torque=, one of them.")
        drawn = self._value_as_drawn(joint)
        rest = self.params.add(f"{name}.rest", drawn if angle is None else angle)
        centre = self._centre(joint, np.where(np.abs(self.params[rest] - drawn) < ef.REACH, self.params[rest], drawn))
        if torque is not None:
            role = f"torque of {name!r}"
            asked = self._asked(torque, role, (joint.coordinate, "stretch", "speed", *self._given))
            act = self._effort(joint, ef.user_effort(*asked, role, joint.coordinate, "speed", rest), centre)
            return self._enter(Force(name, "spring", act, joint.marks, on=joint.name))
        k = self.params.add(f"{name}.stiffness", stiffness, not_negative)
        energy = ef.effort_energy(joint.value, k, rest, centre, joint.name)
        if damping is None:
            whole, damped = self._effort(joint, ef.linear_effort(k, rest), centre), None
        else:
            c = self.params.add(f"{name}.damping", damping, not_negative)
            whole = self._effort(joint, ef.linear_effort(k, rest, c), centre)
            damped = self._effort(joint, ef.damping_effort(c))
        return self._enter(Force(name, "spring", whole, joint.marks, energy, damped, joint.name))

    def motor(self, joint, *, torque=None, force=None, curve=None) -> Force:
        """Add a motor on a joint, read as "joint motor"; it acts on the second body and against the first.

        Parameters
        ----------
        joint : Joint or str
            A joint with an angle (torque) or a position (force).
        torque, force : float or function
            N m or N. A function names what it needs of angle or position, speed, t, p, u and states.
        curve : pair of sequences
            Instead: speeds and the torque (force) at each, linear in between, constant outside. Parameters
            "joint motor.speed.1", "joint motor.torque.1" and so on.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism, rod
        >>> m = Mechanism(gravity=(0, 0))
        >>> _ = m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=3.0)), at=(0, 0))
        >>> _ = m.motor("O", torque=lambda speed: 2.0 - 0.5 * speed)
        >>> float(simulate(m, 20.0)["O"].speed[-1].round(3))  # where the torque vanishes
        4.0
        """
        joint = self._joint(joint, "motor", "position" if force is not None else "angle" if torque is not None else None)
        name = f"{joint.name} motor"
        self._new(name, "force")
        given = [part for part in (torque, force, curve) if part is not None]
        if len(given) != 1:
            raise BadArgument(f"a motor needs one of torque=, force= and curve=, got {len(given)}.")
        if curve is not None:
            is_pair = isinstance(curve, Sequence | np.ndarray) and not isinstance(curve, str) and len(curve) == 2
            rates, efforts = (vector(part, f"the curve of {name!r}") for part in (curve if is_pair else ((), ())))
            if rates.shape != efforts.shape or len(rates) < 2 or np.any(np.diff(rates) <= 0):
                raise BadArgument(f"the curve of {name!r} is a pair (speeds, torques) of equal length; speeds must increase.")
            word = EFFORT[joint.coordinate]
            effort = ef.curve_effort(
                *(tuple(self.params.add(f"{name}.{key}.{i + 1}", value) for i, value in enumerate(values))
                  for key, values in (("speed", rates), (word, efforts)))
            )  # fmt: skip
        elif callable(given[0]):
            allowed = (joint.coordinate, "speed", *self._given)
            role = f"{EFFORT[joint.coordinate]} of {name!r}"
            effort = ef.user_effort(*self._asked(given[0], role, allowed), role, joint.coordinate, "speed")
        else:
            word = EFFORT[joint.coordinate]
            effort = ef.constant_effort(self.params.add(f"{name}.{word}", given[0]))
        return self._enter(Force(name, "motor", self._effort(joint, effort), joint.marks, on=joint.name))

    def friction(self, joint, *, coulomb: float | None = None, coefficient: float | None = None,
                 radius: float | None = None, static: float | None = None, stribeck: float | None = None,
                 viscous: float = 0.0, smoothing: float | None = None, hold: bool = False) -> Force:  # fmt: skip
        """Add dry friction on a joint, read as "joint friction": for a known load, or under the joint's own reaction.

        Known load: -(F_c + (F_s - F_c) exp(-(x'/x_s)²)) tanh(x'/ε) - d x'. Under the reaction F of the joint, the same
        with F_c = μ |F|, and in a bearing of radius r with the sliding speed r x' and the torque r μ |F|.

        With `hold=True` the joint sticks: it does not move at all while F_s can hold it, and slides from then on with the
        sign of x' in the place of tanh(x'/ε), until it comes to rest again. Explicit integrators follow that.

        Parameters
        ----------
        joint : Joint or str
            A joint with an angle or a position.
        coulomb : float
            F_c, torque (N m) or force (N) when sliding, for a known load.
        coefficient : float
            Instead: μ. The reaction is that of the joint without its drive; forces along a hinge's axis count.
        radius : float
            r of the bearing, m, with `coefficient` on an angle.
        static : float
            F_s, or the coefficient μ_s, at the peak where it starts to slide; as when sliding if not given.
        stribeck : float
            Speed x_s at which the peak has faded; ten times `smoothing` if not given, and no peak with `hold`. m/s where
            there is a radius.
        viscous : float
            d, N m s or N s/m.
        smoothing : float
            Speed ε below which friction grows from zero, rad/s or m/s: it creeps instead of sticking. Small values
            make the problem stiff. 0.01 if not given.
        hold : bool
            Whether it sticks without creep. `smoothing` has no meaning then.
        """
        joint = self._joint(joint, "friction")
        name = f"{joint.name} friction"
        self._new(name, "force")
        if (coulomb is None) == (coefficient is None):
            raise BadArgument(
                f"{name!r}: give coulomb=, the torque or force of a known load, or coefficient= for friction that "
                "follows the joint's own reaction."
            )
        if callable(coulomb) or callable(coefficient) or callable(static):
            raise BadArgument(f"{name!r}: give numbers; coefficient= already follows the joint's own reaction.")
        if hold and smoothing is not None:
            raise BadArgument(f"{name!r}: hold=True sticks, smoothing={smoothing:g} creeps. Leave one of them out.")
        sliding = {"coulomb": coulomb} if coefficient is None else {"coefficient": coefficient}
        (level,) = sliding.values()
        if not hold:
            smoothing = 1e-2 if smoothing is None else smoothing
            stribeck = 10 * smoothing if stribeck is None else stribeck
        numbers = sliding | {"static": level if static is None else static, "stribeck": stribeck, "viscous": viscous,
                             "smoothing": smoothing}  # fmt: skip
        if coefficient is not None:
            self._check_bearing(joint, name, radius)
        keys = [
            None if value is None
            else self.params.add(f"{name}.{key}", value, positive if key in ("stribeck", "smoothing") else not_negative)
            for key, value in numbers.items()
        ]  # fmt: skip
        if coefficient is None:
            act = self._effort(joint, ef.friction_effort(*keys))
            return self._enter(Force(name, "friction", act, joint.marks, on=joint.name))
        arm = None if radius is None else self.params.add(f"{name}.radius", radius, positive)
        act = self._effort(joint, ef.loaded_friction(self._loads[joint.kind], arm, *keys))
        return self._enter(Force(name, "friction", act, joint.marks, on=joint.name, load=joint.name))

    @property
    def _loads(self) -> dict[str, tuple[int, ...]]:
        return (joints if self.dimension == 2 else joints3d).LOADS

    def _check_bearing(self, joint: Joint, name: str, radius) -> None:
        if joint.kind not in self._loads:
            raise BadArgument(
                f"{name!r}: friction under the reaction is known for {', '.join(self._loads)} joints, not for a "
                f"{joint.kind} joint. State the torque or force itself, coulomb=."
            )
        if (radius is None) == (joint.coordinate == "angle"):
            more = "Give radius=, that of the bearing." if radius is None else "A slide has no radius=; leave it out."
            raise BadArgument(f"{name!r} is friction on {'an' if radius is None else 'no'} angle. {more}")

    def stop(self, joint, *, lower: float, upper: float, stiffness: float, damping: float = 0.0) -> Force:
        """Add compliant stops at the limits of a joint, read as "joint stop".

        Parameters
        ----------
        joint : Joint or str
            A joint with an angle or a position.
        lower, upper : float
            Limits, rad or m.
        stiffness : float
            N m/rad or N/m beyond a limit.
        damping : float
            c of k δ (1 + c δ'), s/rad or s/m.
        """
        joint = self._joint(joint, "stop")
        lower, upper = (number(f"the {side} limit of joint {joint.name!r}", value)
                        for side, value in (("lower", lower), ("upper", upper)))  # fmt: skip
        if not lower < upper:
            raise BadArgument(f"the stop of joint {joint.name!r} needs lower < upper, got {lower:g} and {upper:g}.")
        name = f"{joint.name} stop"
        self._new(name, "force")
        numbers = {"lower": lower, "upper": upper, "stiffness": stiffness, "damping": damping}
        checks = {"stiffness": positive, "damping": not_negative}
        keys = [self.params.add(f"{name}.{key}", value, checks.get(key)) for key, value in numbers.items()]
        centre = self._centre(joint, (lower + upper) / 2)
        if centre is not None and upper - lower > 2 * ef.REACH:
            raise BadArgument(
                f"the stop of joint {joint.name!r} leaves {upper - lower:.4g} rad, but joints in space count no turns: at most "
                f"{2 * ef.REACH:.4g} rad can be told apart. Bring the limits closer, or leave the stop out."
            )
        act = self._effort(joint, ef.stop_effort(*keys), centre)
        return self._enter(Force(name, "stop", act, joint.marks, on=joint.name))

    def _value_as_drawn(self, joint: Joint) -> float:
        """A joint's angle or position in the drawing."""
        return float(joint.value(self._drawn_around(joint.first, joint.second), self.params))

    def _centre(self, joint: Joint, wanted) -> float | None:
        """Near which angle a joint in space is looked for; None where the joint counts turns, or slides."""
        return float(wanted) if self.dimension == 3 and joint.coordinate == "angle" else None

    def _effort(self, joint: Joint, effort, centre: float | None = None):
        kit, marks = self.kit, joint.marks
        if centre is not None:
            effort = ef.about(effort, centre, joint.name)
        if joint.coordinate == "angle":
            return ef.on_angle(effort, joint.value, joint.rate, kit.place, kit.about, *marks)
        return ef.on_position(effort, joint.value, joint.rate, kit.place, kit.along, *marks, kit.NO_TORQUE)
