"""A railway wheelset on a straight track: two contact points, creep forces that depend on the normal forces.

Coordinates (x, y, z, theta, phi) of the axle, lateral, vertical, along the track, yaw and roll, and beta, by which it
turns faster than in even rolling. Each wheel is a cone of angle delta0 with the profile R(xi), each rail a circle; psi
and xi say where on the wheel the contact is.

`wheelset_contacts` is the problem as it is posed: psi and xi of both wheels are algebraic variables, given by tangency,
and beta is a state. In `wheelset` they follow from theta, phi and x in closed form: R' is constant, so that one
tangency equation gives psi, the other the slope of the rail and with it xi; beta is the rate of an angle.
"""

from __future__ import annotations

import numpy as np

from ..model.dae import Dae
from ..model.system import System
from .problem import Problem, Reference

# parameters of the test set: SI units
MR, G, V, RN0, I1, I2 = 16.08, 9.81, 30.0, 0.1, 0.0605, 0.366
MU, XL, CX, CZ = 0.12, 0.19, 6400.0, 6400.0
E_HERTZ, G_HERTZ, SIGMA, GM = 1.3537956, 0.7115218, 0.28, 7.92e10
C11, C22, C23 = 4.72772197, 4.27526987, 1.97203505
DELTA0, AR, RS, PI = 0.0262, 0.1506, 0.06, 3.1415926
UNIT = 1e4  # N, of the multipliers
TAN = np.tan(DELTA0)
SIDES = {"L": 1.0, "R": -1.0}  # sign of xi


def contact(x, side: float) -> dict:
    """Return what the contact of one wheel looks like: psi, xi, radius, slope and curvature of the rail."""
    st, ct, sp, cp = np.sin(x[3]), np.cos(x[3]), np.sin(x[4]), np.cos(x[4])
    slope_r = -side * TAN  # R'
    # R' s(th) c(ph) - s(th) s(ph) c(psi) - c(th) s(psi) = 0
    a, b = ct, st * sp
    psi = np.arcsin(slope_r * st * cp / np.sqrt(a**2 + b**2)) - np.arctan2(b, a)
    sps, cps = np.sin(psi), np.cos(psi)
    # Gr' (R' s(ph) + c(ph) c(psi)) + R' c(th) c(ph) - c(th) s(ph) c(psi) + s(th) s(psi) = 0
    slope = -(slope_r * ct * cp - ct * sp * cps + st * sps) / (slope_r * sp + cp * cps)
    u = -side * slope * RS / np.sqrt(1 + slope**2)
    X = side * (u + AR + RS * np.sin(DELTA0))
    T = np.sqrt(RS**2 - u**2)
    # X = x + xi c(th) c(ph) + R(xi) w with R(xi) = RN0 + tan(delta0) AR + R' xi
    w = ct * sp * cps - st * sps
    radius0 = RN0 + TAN * AR
    xi = (X - x[0] - radius0 * w) / (ct * cp + slope_r * w)
    return {
        "st": st, "ct": ct, "sp": sp, "cp": cp, "sps": sps, "cps": cps, "psi": psi, "xi": xi,
        "R": radius0 + slope_r * xi, "R'": slope_r, "Gr": T - RN0 - RS * np.cos(DELTA0), "Gr'": slope,
        "Gr''": -(RS**2) / T**3,
    }  # fmt: skip


def touching(x, psi, xi, side: float) -> dict:
    """Return the same for given psi and xi, whether wheel and rail touch there or not."""
    st, ct, sp, cp = np.sin(x[3]), np.cos(x[3]), np.sin(x[4]), np.cos(x[4])
    sps, cps = np.sin(psi), np.cos(psi)
    slope_r = -side * TAN
    R = RN0 + TAN * AR + slope_r * xi
    X = x[0] + xi * ct * cp + R * (ct * sp * cps - st * sps)
    u = side * X - AR - RS * np.sin(DELTA0)
    T = np.sqrt(RS**2 - u**2)
    return {
        "st": st, "ct": ct, "sp": sp, "cp": cp, "sps": sps, "cps": cps, "psi": psi, "xi": xi, "R": R, "R'": slope_r,
        "Gr": T - RN0 - RS * np.cos(DELTA0), "Gr'": -side * u / T, "Gr''": -(RS**2) / T**3,
    }  # fmt: skip


def tangency(c: dict) -> list:
    """Return the residuals of the two equations that make wheel and rail tangent."""
    st, ct, sp, cp, sps, cps = (c[name] for name in ("st", "ct", "sp", "cp", "sps", "cps"))
    return [
        c["Gr'"] * (c["R'"] * sp + cp * cps) + c["R'"] * ct * cp - ct * sp * cps + st * sps,
        c["R'"] * st * cp - st * sp * cps - ct * sps,
    ]


def gap(x, c: dict):
    """Return the distance between wheel and rail at a contact, measured vertically."""
    return c["Gr"] - x[1] - c["xi"] * c["sp"] + c["R"] * c["cp"] * c["cps"]


def normal_row(c: dict) -> list:
    """Return the derivative of the gap by x, y, z, theta, phi; that by psi and xi vanishes at the contact."""
    st, ct, sp, cp, sps, cps, xi, R, g = (c[n] for n in ("st", "ct", "sp", "cp", "sps", "cps", "xi", "R", "Gr'"))
    return [
        g, -1.0, 0.0, g * (R * (-ct * sps - cps * sp * st) - xi * cp * st),
        -R * cps * sp - xi * cp + g * (R * cp * cps * ct - xi * ct * sp),
    ]  # fmt: skip


def contact_angle(c: dict, side: float):
    """Return the angle of the contact plane, about delta0 on both sides."""
    w1 = (c["R'"] * c["cp"] - c["sp"] * c["cps"]) * c["ct"] + c["sps"] * c["st"]
    return np.arctan(-side * w1 / (c["R'"] * c["sp"] + c["cps"] * c["cp"]))


def creep(x, dx, beta, c: dict, side: float, angle, N):
    """Return force and moment of one contact's creepage under the normal force N, by Kalker's theory and Coulomb's."""
    th, om = x[3], V / RN0 + beta
    sp, cp, sps, cps, xi, R = (c[n] for n in ("sp", "cp", "sps", "cps", "xi", "R"))
    sd, cd = side * np.sin(angle), np.cos(angle)
    st, ct = np.sin(th / cd), np.cos(th / cd)
    a = 1 / (2 * R * np.sqrt(1 + c["R'"] ** 2))
    b = -c["Gr''"] / (2 * (1 + c["Gr'"] ** 2) ** 1.5)
    size = (3 * np.abs(N) * (1 - SIGMA) * E_HERTZ / (2 * PI * (a + b) * GM * np.sqrt(G_HERTZ))) ** (1 / 3)
    k1 = (
        -om * R * (st * cps + ct * sp * sps) + dx[0] - dx[3] * (R * (st * sp * cps + ct * sps) + xi * st * cp)
        - dx[4] * ct * (xi * sp - R * cp * cps)
    )  # fmt: skip
    k2 = om * R * cp * sps + dx[1] + dx[4] * (xi * cp + R * sp * cps)
    k3 = (
        -om * R * (ct * cps - st * sp * sps) + V + dx[2] - dx[3] * (xi * ct * cp + R * (ct * sp * cps - st * sps))
        + dx[4] * st * (xi * sp - R * cp * cps)
    )  # fmt: skip
    vr = 0.5 * np.sqrt((k1 - 2 * dx[0]) ** 2 + (k2 - 2 * dx[1]) ** 2 + (k3 - 2 * dx[2] - 2 * V) ** 2)
    nu_x = (st * k1 + ct * k3) / vr
    nu_y = (ct * cd * k1 + sd * k2 - st * cd * k3) / vr
    turn = (-sd * om + cd * dx[3]) / vr
    W = MU * N
    tx = -W * np.tanh(GM * size**2 * C11 * nu_x / W)
    ty = -W * np.tanh((GM * size**2 * C22 * nu_y + GM * size**3 * C23 * turn) / W)
    most = np.abs(W) / np.maximum(np.abs(W), np.sqrt(tx**2 + ty**2))
    tx, ty = most * tx, most * ty
    T = [st * tx + ct * cd * ty, sd * ty, ct * tx - st * cd * ty]
    s3, c3 = np.sin(th), np.cos(th)
    m1 = -(xi * s3 + R * sps * c3 * cp) * T[0] - R * sps * sp * T[1] + (-xi * c3 + R * sps * s3 * cp) * T[2]
    m2 = -(xi * c3 * sp - R * cps * c3 * cp) * T[0] + (xi * cp + R * cps * sp) * T[1] + (xi * s3 * sp - R * cps * s3 * cp) * T[2]
    m3 = -R * (cps * s3 + sps * c3 * sp) * T[0] + R * sps * cp * T[1] - R * (cps * c3 - sps * s3 * sp) * T[2]
    return T, (m1, m2, m3)


def loads(x, dx, beta, contacts: dict, E: dict):
    """Return forces along x, y, z and moments of yaw, roll and spin without normal forces E (N), which creep needs."""
    rows = {name: normal_row(c) for name, c in contacts.items()}
    angles = {name: contact_angle(c, SIDES[name]) for name, c in contacts.items()}
    W1, W2 = (sum(rows[name][i] * E[name] for name in SIDES) for i in (0, 1))
    sL, cL, sR, cR = np.sin(angles["L"]), np.cos(angles["L"]), np.sin(angles["R"]), np.cos(angles["R"])
    D = -sL * cR - sR * cL
    normal = {"L": (cR * W1 - sR * W2) / D, "R": (-cL * W1 - sL * W2) / D}
    parts = [creep(x, dx, beta, contacts[name], side, angles[name], normal[name]) for name, side in SIDES.items()]
    T = [sum(force[i] for force, _ in parts) for i in range(3)]
    m1, m2, m3 = (sum(moment[i] for _, moment in parts) for i in range(3))
    sp, cp, om = np.sin(x[4]), np.cos(x[4]), V / RN0 + beta
    L2 = -2 * XL**2 * CZ * x[3]
    return [
        T[0] - 2 * CX * x[0], T[1] - MR * G, T[2] - 2 * CZ * x[2],
        I2 * dx[3] * dx[4] * sp - I1 * om * dx[4] - (I1 - I2) * dx[3] * dx[4] * sp + m1 + cp * L2,
        I1 * om * dx[3] * cp + (I1 - I2) * dx[3] ** 2 * sp * cp + m2,
        -I1 * dx[3] * dx[4] * cp + m3 + sp * L2,
    ]  # fmt: skip


def accelerations(x, dx, y):
    """Return x'' without the normal forces: creepage, springs, weight, gyroscopic moments."""
    contacts = {name: contact(x, side) for name, side in SIDES.items()}
    F = loads(x, dx, dx[5], contacts, {"L": UNIT * y[0], "R": UNIT * y[1]})
    yaw = F[3] / (I2 * np.cos(x[4]))
    return np.array([F[0] / MR, F[1] / MR, F[2] / MR, yaw, F[4] / I2, F[5] / I1 - np.sin(x[4]) * yaw])


def normal_forces(x):
    """Return B: minus the accelerations by normal forces of the size UNIT on the left and on the right."""
    sp, cp = np.sin(x[4]), np.cos(x[4])
    columns = []
    for side in SIDES.values():
        Q = normal_row(contact(x, side))
        yaw = Q[3] / (I2 * cp)
        columns.append([-UNIT * a for a in (Q[0] / MR, Q[1] / MR, 0 * cp, yaw, Q[4] / I2, -sp * yaw)])
    return np.array(columns).T


def wheelset(*, t_end: float = 10.0) -> Problem:
    """Return the wheelset of the IVP test set, the "flying" one of [eich-1993].

    x'' = f(x, x', y) - B(x) y,  0 = gap left, gap right;  y the normal forces of the contacts in 1e4 N

    The paper's beta is dx[5] here. Creep forces depend on y: friction. In its index-1 form the wheels lift off the rails
    by and by; projection keeps them there.

    Parameters
    ----------
    t_end : float
        End in seconds.
    """
    system = Dae(
        order=2,
        f=accelerations,
        B=normal_forces,
        g={"left": lambda x: gap(x, contact(x, 1.0)), "right": lambda x: gap(x, contact(x, -1.0))},
        coordinates=["x", "y", "z", "theta", "phi", "spin"],
    )
    return Problem(
        name="wheelset",
        title="Wheelset on a straight track",
        system=system,
        t_end=t_end,
        y0=(*START, *([0.0] * 7)),
        references=(AT_10,),
        source="[ivp-testset] problem wheel; [eich-1993] Sec. 1",
        notes="Index 1 without projection flies; the creep forces are friction on unknown normal forces.",
    )


def posed_loads(q, v, beta, psi_xi_left, psi_xi_right, lam) -> list:
    """The loads with contacts as variables; a multiplier is minus a normal force."""
    contacts = {"L": touching(q, *psi_xi_left, 1.0), "R": touching(q, *psi_xi_right, -1.0)}
    return loads(q, v, beta, contacts, {"L": -lam[0], "R": -lam[1]})


def wheelset_contacts(*, t_end: float = 10.0) -> Problem:
    """Return the same wheelset as the IVP test set poses it: 5 coordinates, beta, 4 contact variables, 2 multipliers.

    M(q) v' = f(q, v, beta, w, λ) - Gᵀλ,  beta' = h(q, v, beta, w, v', λ),  0 = tangency(q, w),  0 = gap(q, w)

    Parameters
    ----------
    t_end : float
        End in seconds.
    """

    def spin(q, v, beta, left, right, a, lam):
        return posed_loads(q, v, beta, left, right, lam)[5] / I1 - np.sin(q[4]) * a[3]

    system = System(
        mass=lambda q: np.diag([MR, MR, MR, I2 * np.cos(q[4]), I2]),
        force=lambda q, v, beta, left, right, lam: np.array(posed_loads(q, v, beta, left, right, lam)[:5]),
        constraint={
            "left rail": lambda q, left: gap(q, touching(q, *left, 1.0)),
            "right rail": lambda q, right: gap(q, touching(q, *right, -1.0)),
        },
        states={"beta": spin},
        algebraic={
            "right": lambda q, right: tangency(touching(q, *right, -1.0)),
            "left": lambda q, left: tangency(touching(q, *left, 1.0)),
        },
        coordinates=["x", "y", "z", "theta", "phi"],
        velocity_terms=False,
    )
    return Problem(
        name="wheelset-contacts",
        title="Wheelset on a straight track, contact points as variables",
        system=system,
        t_end=t_end,
        q0=START,
        v0=(0.0,) * 5,
        s0={"beta": 0.0},
        w0={"right": (-7.412238035766714e-06, -0.1521364296121248), "left": (7.563440639517294e-06, 0.1490635714733819)},
        references=(POSED_AT_10,),
        source="[ivp-testset] problem wheel; [eich-1993] Sec. 1",
        notes="A state, index-1 algebraic variables that enter the constraints, and forces that depend on multipliers.",
    )


# x, y, z, theta, phi; y and phi of the test set, 4.0089e-7 and 2.6459e-4, moved by 2e-11 and 3.5e-9 onto both rails
START = (0.0014941, 4.009104596974885e-07, 1.1241e-06, -0.00028573, 0.00026459345878902867)

AT_10 = Reference(
    10.0,
    y=(
        0.0086355386965811, 1.3038281022727e-05, -9.3635784016818e-05, -0.013642299804033, 0.0015292895005422,
        -0.076985374142666, -0.00025151106429207, 0.0020541188079539, -0.23904837703692, -0.013633468454173,
        -0.24421377661131,
    ),
    digits={"y": 6},
    source="[ivp-testset]; our own runs agree with its velocities to 1e-5",
    components=(0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11),
)  # fmt: skip

POSED_AT_10 = Reference(
    10.0,
    q=AT_10.y[:5],
    v=AT_10.y[5:10],
    s=AT_10.y[10:],
    w=(-0.00033666751972196, -0.15949425684022, 0.00037839614386969, 0.14173214964613),
    lam=(101.24044903201, 56.285630573753),
    digits={"q": 6, "v": 6, "s": 6, "w": 6, "lam": 3},
    source="[ivp-testset]; our own runs agree with its velocities to 1e-5",
)
