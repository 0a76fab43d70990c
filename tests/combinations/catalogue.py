"""The methods and the kinds of systems that the combinations are made of."""

import numpy as np

from holonomic import (
    BDF,
    DOP853,
    GGL,
    PHEM56,
    RATTLE,
    RK4,
    RK23,
    RK45,
    AdamsBashforth2,
    BackwardEuler,
    BackwardEulerStabilization,
    Baumgarte,
    Dae,
    Euler,
    FixedBDF,
    ForwardEulerStabilization,
    GaussLegendre,
    GaussLegendre4,
    GeneralizedAlpha,
    Heun,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    InvariantStabilization,
    LobattoIIIAB,
    Midpoint,
    Ode,
    Overdetermined,
    PostStabilization,
    ProjectedInvariants,
    Projection,
    Radau,
    S_both2,
    S_full,
    S_pos,
    S_vel,
    StateSpace,
    StrangenessFree,
    SymmetricProjection,
    System,
    Trapezoidal,
    UnderlyingODE,
)
from holonomic.arguments import GivenStart, opened
from holonomic.planning.reuse import model_of

FORMULATIONS = [
    Index1(), Index2(), Index3(), GGL(), ProjectedInvariants("Pa"), ProjectedInvariants("Pb"), ProjectedInvariants("Pc"),
    UnderlyingODE(), Overdetermined(), StrangenessFree(), StrangenessFree("rows"), StateSpace(), StateSpace("partition"),
]  # fmt: skip
INTEGRATORS = [
    BackwardEuler(), Trapezoidal(), ImplicitMidpoint(), ImplicitMidpoint("stage"), GaussLegendre4(), GaussLegendre(stages=3),
    FixedBDF(2), FixedBDF(4), BDF(), BDF(coefficients="variable"), BDF(coefficients="fixed-leading"), Radau(), Radau(order=9),
    Radau(order=13), Radau(order="variable"), GeneralizedAlpha(), RATTLE(), RATTLE(order=6), LobattoIIIAB(), PHEM56(),
]  # fmt: skip
EXPLICIT = [Euler(), Heun(), Midpoint(), AdamsBashforth2(), RK4(), RK23(), RK45(), DOP853()]
STABILIZATIONS = [
    None, Projection(), Projection(at="new"), Projection(on="full"), Projection(metric="mass"), Projection(D="blocks"), S_vel(),
    S_pos(), S_both2(), S_full(), PostStabilization("cheap-full", 1), Baumgarte(alpha=5.0), InvariantStabilization(gain=5.0),
    ForwardEulerStabilization(alpha=0.5), ForwardEulerStabilization(alpha=0.5, D="blocks"),
    ForwardEulerStabilization(alpha=0.05, F="1.14"), BackwardEulerStabilization(alpha=1.0),
    BackwardEulerStabilization(alpha=1.0, F="1.14"), SymmetricProjection(),
]  # fmt: skip

ROD = {"rod": lambda q: q @ q - 1}
J = np.diag([1.0, 2.0, 3.0])
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def kepler(y):
    return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])


def momentum(y):
    return y[0] * y[3] - y[1] * y[2]


def quaternion(q):
    return 0.5 * np.array([[-q[1], -q[2], -q[3]], [q[0], -q[3], q[2]], [q[3], q[0], -q[1]], [-q[2], q[1], q[0]]])


KINDS = {
    "free": (System(mass=np.eye(2), potential=lambda q: q @ q), START),
    "pendulum": (System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=ROD), START),
    "damped": (System(mass=np.eye(2), force=lambda v: -v, constraint=ROD), START),
    "mass of q": (System(mass=lambda q: (1 + q[0] ** 2) * np.eye(2), constraint=ROD, velocity_terms=True), START),
    "friction": (System(mass=np.eye(2), force=lambda v, lam: -np.tanh(v) * (1 + lam @ lam), constraint=ROD), START),
    "states": (System(mass=np.eye(2), constraint=ROD, states={"i": lambda i: -i}), START | {"s0": [1.0]}),
    "plain Python": (System(mass=np.eye(2), constraint=ROD, trace=False), START),
    "skate": (
        System(mass=np.eye(3), nonholonomic={"blade": lambda q, v: v[0] * np.sin(q[2]) - v[1] * np.cos(q[2])}),
        {"q0": [0.0, 0.0, 0.0], "v0": [1.0, 0.0, 0.5]},
    ),
    "top": (
        System(mass=J, force=lambda v: -np.cross(v, J @ v), kinematics=quaternion, invariants={"norm": lambda q: q @ q}),
        {"q0": [1.0, 0, 0, 0], "v0": [1.0, 0.5, 0.2]},
    ),
    "Ode": (Ode(kepler), {"y0": [1.0, 0.0, 0.0, 1.1]}),
    "Ode with invariants": (Ode(kepler, {"momentum": momentum}), {"y0": [1.0, 0.0, 0.0, 1.1]}),
    "Dae": (Dae(order=2, f=lambda x: -x, B=lambda x: 2 * x.reshape(2, 1), g=lambda x: x @ x - 1), {"x0": [1, 0], "dx0": [0, 0]}),
}


def model_for(system, start):
    here = opened("simulate", system, 1.0, GivenStart(**start))
    return model_of(here.system, here.q, here.v, here.t0, here.extras)
