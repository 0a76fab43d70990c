"""Andrews' squeezing mechanism: seven bodies, seven angles, three loops, one spring, one motor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

# masses kg, inertias kg m², lengths m, c0 N/m, mom N m; names as published
PARAMS = {
    "m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.0705, "m6": 0.00706, "m7": 0.05498,
    "I1": 2.194e-6, "I2": 4.41e-7, "I3": 5.255e-6, "I4": 5.667e-7, "I5": 1.169e-5, "I6": 5.667e-7,
    "I7": 1.912e-5,
    "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072,
    "c0": 4530.0, "l0": 0.07785, "mom": 0.033,
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "zf": 0.02, "fa": 0.01421,
    "rr": 0.007, "ra": 0.00092, "ss": 0.035, "sa": 0.01874, "sb": 0.01043, "sc": 0.018, "sd": 0.02,
    "zt": 0.04, "ta": 0.02308, "tb": 0.00916, "u": 0.04, "ua": 0.01228, "ub": 0.00449,
}  # fmt: skip

ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")

Q0 = (
    -0.0617138900142764496,
    0.0,
    0.455279819163070380,
    0.222668390165885885,
    0.487364979543842550,
    -0.222668390165885885,
    1.23054744454982119,
)

# published with the start values; all other accelerations and multipliers are zero there
A0 = (14222.4439199541139, -10666.8329399655854, 0.0, 0.0, 0.0, 0.0, 0.0)
LAM0 = (98.5668703962410896, -6.12268834425566266, 0.0, 0.0, 0.0, 0.0)


def seven_body(*, t_end: float = 0.03, **params: float) -> Problem:
    """Return the seven-body mechanism (Andrews' squeezer) of [ivp-testset]; A03 of [iftomm-benchmarks].

    The motor turns the crank (beta) with the constant torque `mom`; the spring is a potential.
    Outputs: points 'F' (end of the crank) and 'E' (where the three branches meet), the force
    'force at E' that the branches exert on the coupler there, and 'spring length'.

    Parameters
    ----------
    t_end : float
        End in seconds; 0.03 in the test set, 0.05 in A03.
    **params
        Any of the published parameters. Changing a length or an anchor point makes the start inconsistent.
    """
    params, published = choose(PARAMS, params, "seven-body")
    return Problem(
        name="seven-body",
        title="Seven-body mechanism (Andrews' squeezer)",
        system=System(
            mass=mass,
            force=force,
            potential=spring_energy,
            constraint={
                "loop 1 x": lambda q, p: point_E(q, p)[0] - p.ss * np.sin(q[2]) - p.xb,
                "loop 1 y": lambda q, p: point_E(q, p)[1] + p.ss * np.cos(q[2]) - p.yb,
                "loop 2 x": lambda q, p: point_E(q, p)[0] - p.e * np.sin(q[3] + q[4]) - p.zt * np.cos(q[4]) - p.xa,
                "loop 2 y": lambda q, p: point_E(q, p)[1] + p.e * np.cos(q[3] + q[4]) - p.zt * np.sin(q[4]) - p.ya,
                "loop 3 x": lambda q, p: point_E(q, p)[0] - p.zf * np.cos(q[5] + q[6]) - p.u * np.sin(q[6]) - p.xa,
                "loop 3 y": lambda q, p: point_E(q, p)[1] - p.zf * np.sin(q[5] + q[6]) + p.u * np.cos(q[6]) - p.ya,
            },
            coordinates=dict.fromkeys(ANGLES, "angle"),
            outputs={
                "F": lambda q, p: np.array([p.rr * np.cos(q[0]), p.rr * np.sin(q[0])]),
                "E": lambda q, p: point_E(q, p),
                "force at E": lambda lam: np.array([-(lam[0] + lam[2] + lam[4]), -(lam[1] + lam[3] + lam[5])]),
                "spring length": lambda q, p: spring_length(q, p),
            },
            params=params,
            drawing=drawing,
        ),
        t_end=t_end,
        q0=Q0,
        v0=(0.0,) * 7,
        references=REFERENCES if published else (),
        source="[ivp-testset] andrews; [HW96] Sec. VII.7; [iftomm-benchmarks] A03",
        notes=(
            "The values distributed with the test set are right to 10.0 digits in q, 7.6 in v and 5.9 in λ; "
            "the references here are recomputed."
        ),
    )


def seven_body_a03(*, t_end: float = 0.05, **params: float) -> Problem:
    """Return the seven-body mechanism over the interval of A03 of [iftomm-benchmarks], 0.05 s."""
    return replace(seven_body(t_end=t_end, **params), name="seven-body-a03", title="Seven-body mechanism, IFToMM A03")


def drawing(q, p):
    """Return the seven bodies and the spring; each branch follows from its own angles, so drift is seen as a gap."""
    be, _, ga, ph, de, om, ep = q
    A, B, C = (p.xa, p.ya), (p.xb, p.yb), (p.xc, p.yc)
    F = (p.rr * np.cos(be), p.rr * np.sin(be))
    D = (p.xb + p.sc * np.sin(ga) + p.sd * np.cos(ga), p.yb - p.sc * np.cos(ga) + p.sd * np.sin(ga))
    E3 = (p.xb + p.ss * np.sin(ga), p.yb - p.ss * np.cos(ga))
    H = (p.xa + p.zt * np.cos(de), p.ya + p.zt * np.sin(de))
    E4 = (H[0] + p.e * np.sin(ph + de), H[1] - p.e * np.cos(ph + de))
    G = (p.xa + p.u * np.sin(ep), p.ya - p.u * np.cos(ep))
    E6 = (G[0] + p.zf * np.cos(om + ep), G[1] + p.zf * np.sin(om + ep))
    return {
        "K1": [(0, 0), F], "K2": [F, point_E(q, p)], "K3": [B, D, E3, B], "K4": [H, E4], "K5": [A, H], "K6": [G, E6],
        "K7": [A, G], "spring": [C, D],
    }  # fmt: skip


def point_E(q, p):
    """Return the end of the coupler, where the three branches meet."""
    return np.array([p.rr * np.cos(q[0]) - p.d * np.cos(q[0] + q[1]), p.rr * np.sin(q[0]) - p.d * np.sin(q[0] + q[1])])


def mass(q, p):
    """Return M(q), three blocks."""
    h4, h6 = p.e - p.ea, p.zf - p.fa
    cth, sph, som = np.cos(q[1]), np.sin(q[3]), np.sin(q[5])
    m11 = p.m1 * p.ra**2 + p.m2 * (p.rr**2 - 2 * p.da * p.rr * cth + p.da**2) + p.I1 + p.I2
    m12 = p.m2 * (p.da**2 - p.da * p.rr * cth) + p.I2
    m22 = p.m2 * p.da**2 + p.I2
    m33 = p.m3 * (p.sa**2 + p.sb**2) + p.I3
    m44 = p.m4 * h4**2 + p.I4
    m45 = p.m4 * (h4**2 + p.zt * h4 * sph) + p.I4
    m55 = p.m4 * (p.zt**2 + 2 * p.zt * h4 * sph + h4**2) + p.m5 * (p.ta**2 + p.tb**2) + p.I4 + p.I5
    m66 = p.m6 * h6**2 + p.I6
    m67 = p.m6 * (h6**2 - p.u * h6 * som) + p.I6
    m77 = p.m6 * (h6**2 - 2 * p.u * h6 * som + p.u**2) + p.m7 * (p.ua**2 + p.ub**2) + p.I6 + p.I7
    return np.array(
        [
            [m11, m12, 0, 0, 0, 0, 0],
            [m12, m22, 0, 0, 0, 0, 0],
            [0, 0, m33, 0, 0, 0, 0],
            [0, 0, 0, m44, m45, 0, 0],
            [0, 0, 0, m45, m55, 0, 0],
            [0, 0, 0, 0, 0, m66, m67],
            [0, 0, 0, 0, 0, m67, m77],
        ]
    )


def force(q, v, p):
    """Return motor torque and velocity terms; the spring is in the potential."""
    c2 = p.m2 * p.da * p.rr * np.sin(q[1])
    c4 = p.m4 * p.zt * (p.e - p.ea) * np.cos(q[3])
    c6 = p.m6 * p.u * (p.zf - p.fa) * np.cos(q[5])
    return np.array(
        [
            p.mom - c2 * v[1] * (v[1] + 2 * v[0]),
            c2 * v[0] ** 2,
            0,
            c4 * v[4] ** 2,
            -c4 * v[3] * (v[3] + 2 * v[4]),
            -c6 * v[6] ** 2,
            c6 * v[5] * (v[5] + 2 * v[6]),
        ]
    )


def spring_length(q, p):
    """Return the distance from the spring's end D on body 3 to its anchor C."""
    x = p.sd * np.cos(q[2]) + p.sc * np.sin(q[2]) + p.xb - p.xc
    y = p.sd * np.sin(q[2]) - p.sc * np.cos(q[2]) + p.yb - p.yc
    return np.sqrt(x**2 + y**2)


def spring_energy(q, p):
    """Return c0 (length - l0)²/2."""
    return p.c0 * (spring_length(q, p) - p.l0) ** 2 / 2


QUAD = "own extrapolation runs in quadruple precision, orders 16 and 20, agreeing to 20 digits"
EXTENDED = "own extrapolation runs in 80-bit arithmetic with projection, at two tolerances and orders"

REFERENCES = (
    Reference(
        0.01,
        q=(
            2.1601131315315256,
            -1.883364231107043,
            0.1585167580012269,
            -0.32864107517467006,
            0.5251547747977294,
            0.32864107517467006,
            1.0684272046324013,
        ),
        v=(
            711.9231528311037,
            -786.7700808599393,
            -136.4381913781197,
            -240.29302926786457,
            4.791548225371057,
            240.29302926786457,
            -41.14056696161054,
        ),
        digits={"q": 13, "v": 12},
        source=EXTENDED,
    ),
    Reference(
        0.03,
        q=(
            15.810771195153707,
            -15.756371058411839,
            0.040822240119645805,
            -0.5347301163420796,
            0.5244099658799541,
            0.5347301163420796,
            1.0480807410419379,
        ),
        v=(
            1139.920302259106,
            -1424.37929517754,
            11.032911910618594,
            19.29337410503204,
            0.5735699148295025,
            -19.29337410503204,
            0.3231791492491309,
        ),
        a=(
            -24631.763122873694,
            51850.31963646278,
            324102.60070757865,
            566749.4220009955,
            16743.635418345457,
            -566749.4220009955,
            9826.50780154414,
        ),
        lam=(199.17534810453864, -29.75530997497169, 23.06654361162216, 31.452725275771158, 22.642494786394384, 11.617392352611231),
        digits={"q": 15, "v": 14, "a": 13, "lam": 13},
        source=f"q, v: {QUAD}; a, lam: {EXTENDED}",
    ),
    Reference(
        0.05,
        q=(
            33.82586776695452,
            -33.583431517463865,
            0.11339507381259929,
            -0.40785286560188405,
            0.5260604449169958,
            0.40785286560188405,
            1.056902429434963,
        ),
        v=(
            1144.5355026538466,
            -1336.033722651191,
            -190.93706860429475,
            -334.3170608708649,
            0.8758650829430316,
            334.3170608708649,
            -39.61728897835314,
        ),
        digits={"q": 13, "v": 12},
        source=EXTENDED,
    ),
)
