"""Chains and rows of four-bars by MuJoCo, Exudyn or Pinocchio: what `benchmarks/scale.py --peers PYTHON` calls.

    python at_scale.py PEER CASE N X Y

prints a line of JSON: seconds until the first evaluation of a model that is built from nothing, of one evaluation (of one step where
a package has no other), and of a run of 1 s whose tip ends within 1e-3 m of (X, Y), by the longest step of 20 ms / 2^k that does;
with the largest gap of a loop. Whatever takes more than BUDGET seconds is given up. MuJoCo and Pinocchio take RK4, Exudyn
generalized-α; Pinocchio's steps are a loop in Python, and it has no loops of bodies here.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

GRAVITY, LENGTH, MASS = 9.81, 0.1, 0.1
SLOPE = np.sqrt(0.5)
BUDGET, GOOD = 20.0, 1e-3
STEPS = [0.02 / 2**k for k in range(9)]


def best(call) -> float:
    """Seconds of one call, the best of five rounds."""
    began = time.perf_counter()
    call()
    once = time.perf_counter() - began
    if once > 2.0:
        return once
    many, found = max(1, int(0.05 / once)), np.inf
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(many):
            call()
        found = min(found, (time.perf_counter() - began) / many)
    return found


class Mujoco:
    """Joint coordinates; loops closed by stiff equalities."""

    def __init__(self, case: str, n: int):
        import mujoco as mj

        self.mj, self.case, self.n = mj, case, n
        spec = mj.MjSpec()
        spec.option.gravity = [0, 0, -GRAVITY]
        spec.option.integrator = mj.mjtIntegrator.mjINT_RK4
        spec.option.disableflags = int(mj.mjtDisableBit.mjDSBL_CONTACT)
        spec.memory = 2**33
        if case == "four-bars":
            self._four_bars(spec)
        else:
            self._chain(spec)
        self.model = spec.compile()
        self.data = mj.MjData(self.model)
        mj.mj_forward(self.model, self.data)

    def _rod(self, parent, name, at, along, mass):
        body = parent.add_body(name=name, pos=at)
        body.mass, body.ipos, body.explicitinertial = mass, np.array(along) / 2, 1
        body.inertia = [mass * np.dot(along, along) / 12] * 3
        return body

    def _chain(self, spec):
        kind = self.mj.mjtJoint.mjJNT_BALL if self.case == "ball chain" else self.mj.mjtJoint.mjJNT_HINGE
        body = spec.worldbody
        for i in range(self.n):
            body = self._rod(body, f"b{i}", [LENGTH if i else 0, 0, 0], [LENGTH, 0, 0], MASS)
            body.add_joint(type=kind, axis=[0, 1, 0])
        body.add_site(name="tip", pos=[LENGTH, 0, 0])

    def _four_bars(self, spec):
        hinge, down = self.mj.mjtJoint.mjJNT_HINGE, [SLOPE, 0, -SLOPE]
        for i in range(self.n + 1):
            arm = self._rod(spec.worldbody, f"u{i}", [i, 0, 0], down, 1.0)
            arm.add_joint(type=hinge, axis=[0, 1, 0])
            arm.add_site(name="tip" if i == self.n else f"e{i}", pos=down)
            if i < self.n:
                bar = self._rod(arm, f"c{i}", down, [1, 0, 0], 1.0)
                bar.add_joint(type=hinge, axis=[0, 1, 0])
                bar.add_site(name=f"f{i}", pos=[1, 0, 0])
        for i in range(self.n):
            tie = spec.add_equality()
            tie.type, tie.objtype = self.mj.mjtEq.mjEQ_CONNECT, self.mj.mjtObj.mjOBJ_SITE
            tie.name1, tie.name2 = f"f{i}", "tip" if i == self.n - 1 else f"e{i + 1}"
            tie.solref, tie.solimp = [0.002, 1], [0.9999, 0.9999, 0.001, 0.5, 2]

    def evaluate(self):
        self.mj.mj_forward(self.model, self.data)

    def run(self, step):
        self.model.opt.timestep = step
        self.mj.mj_resetData(self.model, self.data)
        bad = (self.mj.mjtWarning.mjWARN_BADQACC, self.mj.mjtWarning.mjWARN_BADQVEL)
        began = time.perf_counter()
        for _ in range(round(1 / step)):
            self.mj.mj_step(self.model, self.data)
            if any(self.data.warning[each].number for each in bad):
                return np.full(2, np.nan)
            if time.perf_counter() - began > BUDGET:
                raise TimeoutError
        self.mj.mj_forward(self.model, self.data)
        return self.data.site("tip").xpos[[0, 2]]

    def gap(self):
        if self.case != "four-bars":
            return 0.0
        place = lambda name: self.data.site(name).xpos
        return max(
            float(np.linalg.norm(place(f"f{i}") - place("tip" if i == self.n - 1 else f"e{i + 1}"))) for i in range(self.n)
        )


class Exudyn:
    """Cartesian coordinates and joints as constraints, generalized-α of index 3."""

    def __init__(self, case: str, n: int):
        import exudyn as exu
        from exudyn import utilities as u

        exu.SetWriteToConsole(False)
        self.exu, self.u, self.n = exu, u, n
        self.system = exu.SystemContainer().AddSystem()
        ground, self.pairs = self.system.AddObject(u.ObjectGround()), []
        if case == "four-bars":
            arms, tied = [], u.ObjectJointRevolute2D
            for i in range(n + 1):
                arms.append(self._rod((i + SLOPE / 2, -SLOPE / 2), -np.pi / 4, 1.0, 1.0))
                self._tie(tied, self._mark(ground, (i, 0)), self._mark(arms[i], (-0.5, 0)))
            for i in range(n):
                bar = self._rod((i + SLOPE + 0.5, -SLOPE), 0.0, 1.0, 1.0)
                self._tie(tied, self._mark(arms[i], (0.5, 0)), self._mark(bar, (-0.5, 0)))
                self._tie(tied, self._mark(bar, (0.5, 0)), self._mark(arms[i + 1], (0.5, 0)))
                self.pairs.append((bar, arms[i + 1]))
            self.tip, self.half, self.plane = arms[-1], 0.5, [0, 1]
        else:
            before, space = self._mark(ground, (0, 0)), case == "ball chain"
            for i in range(n):
                at = ((i + 0.5) * LENGTH, 0)
                body = self._ball_rod(at) if space else self._rod(at, 0.0, LENGTH, MASS)
                here = self._mark(body, (-LENGTH / 2, 0))
                if space:
                    self._tie(u.ObjectJointSpherical, before, here, constrainedAxes=[1, 1, 1])
                else:
                    self._tie(u.ObjectJointRevolute2D, before, here)
                before = self._mark(body, (LENGTH / 2, 0))
            self.tip, self.half, self.plane = body, LENGTH / 2, [0, 2] if space else [0, 1]
        self.system.Assemble()
        self._solve(1e-3, 1e-3)

    def _rod(self, at, angle, length, mass):
        u, s = self.u, self.system
        node = s.AddNode(u.NodeRigidBody2D(referenceCoordinates=[*at, angle]))
        body = s.AddObject(u.ObjectRigidBody2D(physicsMass=mass, physicsInertia=mass * length**2 / 12, nodeNumber=node))
        return self._weight(body, [0, -GRAVITY, 0])

    def _ball_rod(self, at):
        u, s = self.u, self.system
        node = s.AddNode(u.NodeRigidBodyEP(referenceCoordinates=[*at, 0, 1, 0, 0, 0]))
        inertia = [MASS * LENGTH**2 / 12] * 3 + [0, 0, 0]
        return self._weight(s.AddObject(u.ObjectRigidBody(physicsMass=MASS, physicsInertia=inertia, nodeNumber=node)), [0, 0, -GRAVITY])

    def _weight(self, body, load):
        mark = self.system.AddMarker(self.u.MarkerBodyMass(bodyNumber=body))
        self.system.AddLoad(self.u.LoadMassProportional(markerNumber=mark, loadVector=load))
        return body

    def _mark(self, body, at):
        return self.system.AddMarker(self.u.MarkerBodyPosition(bodyNumber=body, localPosition=[*at, 0]))

    def _tie(self, kind, first, second, **more):
        self.system.AddObject(kind(markerNumbers=[first, second], **more))

    def _solve(self, step, end):
        settings = self.exu.SimulationSettings()
        time_ = settings.timeIntegration
        time_.numberOfSteps, time_.endTime, time_.verboseMode, time_.adaptiveStep = round(end / step), end, 0, False
        time_.newton.useModifiedNewton = True
        time_.generalizedAlpha.spectralRadius = 0.9
        time_.generalizedAlpha.computeInitialAccelerations = True
        sparse, dense = self.exu.LinearSolverType.EigenSparse, self.exu.LinearSolverType.EXUdense
        settings.linearSolverType = sparse if self.n >= 20 else dense
        settings.solutionSettings.writeSolutionToFile = settings.displayStatistics = settings.displayComputationTime = False
        settings.solutionSettings.solutionInformation = ""
        settings.parallel.numberOfThreads = 1
        began = time.perf_counter()
        self.system.SolveDynamic(settings)
        return time.perf_counter() - began

    def evaluate(self):
        """One step: the difference of runs of eleven and of one."""
        self.step = max(0.0, self._solve(1e-3, 11e-3) - self._solve(1e-3, 1e-3)) / 10

    def run(self, step):
        if getattr(self, "step", 0.0) / step > BUDGET:
            raise TimeoutError
        self._solve(step, 1.0)
        return self._at(self.tip, self.half)[self.plane]

    def _at(self, body, half):
        return np.array(self.system.GetObjectOutputBody(body, self.exu.OutputVariableType.Position, localPosition=[half, 0, 0]))

    def gap(self):
        return max((float(np.linalg.norm(self._at(a, 0.5) - self._at(b, 0.5))) for a, b in self.pairs), default=0.0)


class Pinocchio:
    """Joint coordinates of trees."""

    def __init__(self, case: str, n: int):
        import pinocchio as pin

        if case == "four-bars":
            raise NotImplementedError("loops are not tried")
        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = np.array([0, 0, -GRAVITY])
        inertia = pin.Inertia(MASS, np.array([LENGTH / 2, 0, 0]), np.eye(3) * MASS * LENGTH**2 / 12)
        parent, placed = 0, pin.SE3.Identity()
        for i in range(n):
            joint = pin.JointModelSpherical() if case == "ball chain" else pin.JointModelRY()
            parent = self.model.addJoint(parent, joint, placed, f"j{i}")
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
            placed = pin.SE3(np.eye(3), np.array([LENGTH, 0, 0]))
        self.end, self.placed = parent, placed
        self.data = self.model.createData()
        self.q0, self.nothing = pin.neutral(self.model), np.zeros(self.model.nv)
        self.evaluate()

    def _field(self, q, v):
        return self.pin.aba(self.model, self.data, q, v, self.nothing)

    def evaluate(self):
        self._field(self.q0, self.nothing)

    def run(self, step):
        q, v, move = self.q0, self.nothing, self.pin.integrate
        began = time.perf_counter()
        for _ in range(round(1 / step)):
            a1 = self._field(q, v)
            v2 = v + step / 2 * a1
            a2 = self._field(move(self.model, q, step / 2 * v), v2)
            v3 = v + step / 2 * a2
            a3 = self._field(move(self.model, q, step / 2 * v2), v3)
            v4 = v + step * a3
            a4 = self._field(move(self.model, q, step * v3), v4)
            q = move(self.model, q, step / 6 * (v + 2 * v2 + 2 * v3 + v4))
            v = v + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            if time.perf_counter() - began > BUDGET:
                raise TimeoutError
        self.pin.forwardKinematics(self.model, self.data, q)
        return (self.data.oMi[self.end] * self.placed).translation[[0, 2]]

    def gap(self):
        return 0.0


def main() -> None:
    peer, case, n, tip = sys.argv[1], sys.argv[2], int(sys.argv[3]), np.array(sys.argv[4:6], dtype=float)
    {"MuJoCo": lambda: __import__("mujoco"), "Exudyn": lambda: __import__("exudyn.utilities"),
     "Pinocchio": lambda: __import__("pinocchio")}[peer]()  # fmt: skip
    began = time.perf_counter()
    model = {"MuJoCo": Mujoco, "Exudyn": Exudyn, "Pinocchio": Pinocchio}[peer](case, n)
    found = {"first": time.perf_counter() - began, "evaluation": best(model.evaluate)}
    found["evaluation"] = getattr(model, "step", found["evaluation"])
    print(json.dumps(found), flush=True)
    for step in STEPS:
        began = time.perf_counter()
        try:
            error = float(np.linalg.norm(model.run(step) - tip))
        except (TimeoutError, ValueError, RuntimeError):
            if time.perf_counter() - began > 0.5 * BUDGET:
                break
            continue
        took = time.perf_counter() - began
        if error <= GOOD:
            print(json.dumps(found | {"run": took, "step": step, "error": error, "gap": model.gap()}), flush=True)
            return
        if took > 0.5 * BUDGET:
            break


if __name__ == "__main__":
    main()
