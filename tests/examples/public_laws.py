"""Sixty force laws and constraints in the idioms of public repositories.

Written in our own words and numbers, not adapted to this package: what counts is how arrays are made and filled, how
values are decided on, where parameters live. The address beside each leads to an example of the law or of the way it is
written. `LAWS` says how each is run.
"""

# ruff: noqa: B006, B905, E501, E701, F403, F405, RUF007, RUF059, RUF100  written as others write
from __future__ import annotations

import collections
import dataclasses
import functools
import math
from math import *

import numpy as np
from numba import njit
from numpy import array, cos, sin
from numpy.linalg import norm
from scipy.interpolate import CubicSpline, interp1d
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

Law = collections.namedtuple("Law", "function kind address start refused")
LAWS: list[Law] = []
GITHUB = "https://github.com/"


def law(address, *start, kind="ode", refused=None):
    """Register a law: a right-hand side (kind "ode": y0), a force or a constraint ("force", "constraint": q0, v0)."""

    def enter(function):
        LAWS.append(Law(function, kind, address if address.startswith("http") else GITHUB + address, start, refused))
        return function

    return enter


g = 9.81

# pendulums and carts


@law("scarforhere/PythonGuide/blob/HEAD/Module/Extern/Qt/Aufgabe_05b/cart_pendulum_model.py", [0.0, 0.5, 0.1, 0.0])
def cart_with_pendulum(t, y):
    x, phi, xd, phid = y
    m1, m2, l, F = 0.8, 0.3, 0.5, 0
    xdd = (F + g * m2 * sin(2 * phi) / 2 + l * m2 * phid**2 * sin(phi)) / (m1 + m2 * sin(phi) ** 2)
    phidd = -(g * sin(phi) + xdd * cos(phi)) / l
    return [xd, phid, xdd, phidd]


length, damping, weight = 3, 0.9, 1


@law("Lyshov/Math-Modeling_8_class/blob/HEAD/number2(2).py", [0.1, 2.0])
def arc_of_a_pendulum(z, t):
    s, v = z
    dsdt = v
    dvdt = -g * np.sin(s / length) - damping * v / weight
    return dsdt, dvdt


torque = lambda t: 0.1 * np.sin(t)


@law("James4Ever0/ies_modeling_framework/blob/HEAD/pendulum.py", [0.1, 0.0])
def driven_by_a_function(t, u, M=torque):
    theta, omega = u
    return [omega, -3 * g / 2 * np.sin(theta) + 3 * M(t)]


@law("https://docs.scipy.org/doc/scipy/reference/generated/scipy.integrate.odeint.html", [np.pi - 0.1, 0.0])
def damped_pendulum(y, t, b=0.25, c=5.0):
    theta, omega = y
    dydt = [omega, -b * omega - c * np.sin(theta)]
    return dydt


@law("hrishikesh-srihari/DoublePendulumVisualization/blob/HEAD/DoublePendulumVis.py", [2.0, 0.0, -0.2, 0.0])
def double_pendulum_filled(state, t):
    l1, l2, m1, m2 = 1.0, 1.0, 1.0, 1.0
    dydx = np.zeros_like(state)
    dydx[0] = state[1]
    delta = state[2] - state[0]
    den1 = (m1 + m2) * l1 - m2 * l1 * cos(delta) * cos(delta)
    dydx[1] = (m2 * l1 * state[1] ** 2 * sin(delta) * cos(delta) + m2 * g * sin(state[2]) * cos(delta)
               + m2 * l2 * state[3] ** 2 * sin(delta) - (m1 + m2) * g * sin(state[0])) / den1  # fmt: skip
    dydx[2] = state[3]
    dydx[3] = (-m2 * l2 * state[3] ** 2 * sin(delta) * cos(delta)
               + (m1 + m2) * (g * sin(state[0]) * cos(delta) - l1 * state[1] ** 2 * sin(delta)
                              - g * sin(state[2]))) / den1  # fmt: skip
    return dydx


@law("rangyi22/bwktim/blob/HEAD/python_for_student/animate_pendulum2.py", [2.0, 0.0, -0.2, 0.0])
def double_pendulum_solved(x, t):
    L1, M1, L2, M2 = 1, 1, 1, 1
    th1, w1, th2, w2 = x
    s1, s2, s12 = np.sin([th1, th2, th1 - th2])
    c12 = np.cos(th1 - th2)
    dx = np.zeros_like(x)
    dx[0], dx[2] = w1, w2
    A = [[L1 * (M1 + M2), L2 * M2 * c12], [L1 * M2 * c12, L2 * M2]]
    b = [-L2 * M2 * s12 * w2**2 - g * (M1 + M2) * s1, L1 * M2 * s12 * w1**2 - g * M2 * s2]
    dx[1], dx[3] = np.linalg.solve(A, b)
    return dx


@law("Farama-Foundation/Gymnasium/blob/HEAD/gymnasium/envs/classic_control/acrobot.py", [0.3, -0.2, 0.1, 0.4])
def acrobot(t, s_augmented):
    m1 = m2 = l1 = 1.0
    lc1 = lc2 = 0.5
    I1 = I2 = 1.0
    s = s_augmented[:-1] if len(s_augmented) > 4 else s_augmented
    theta1, theta2, dtheta1, dtheta2 = s
    a = bounded(-2 * dtheta2, -1.0, 1.0)
    d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * np.cos(theta2)) + I1 + I2
    d2 = m2 * (lc2**2 + l1 * lc2 * np.cos(theta2)) + I2
    phi2 = m2 * lc2 * g * np.cos(theta1 + theta2 - np.pi / 2.0)
    phi1 = -m2 * l1 * lc2 * dtheta2**2 * np.sin(theta2) - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * np.sin(theta2)
    phi1 = phi1 + (m1 * lc1 + m2 * l1) * g * np.cos(theta1 - np.pi / 2) + phi2
    ddtheta2 = (a + d2 / d1 * phi1 - m2 * l1 * lc2 * dtheta1**2 * np.sin(theta2) - phi2) / (m2 * lc2**2 + I2 - d2**2 / d1)
    ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
    return dtheta1, dtheta2, ddtheta1, ddtheta2


def bounded(x, m, M=None):
    if M is None:
        M = m[1]
        m = m[0]
    return min(max(x, m), M)


class CartPole:
    """Parameters as attributes, a method that returns the derivative."""

    def __init__(self):
        self.gravity = 9.8
        self.masscart, self.masspole = 1.0, 0.1
        self.total_mass = self.masspole + self.masscart
        self.length = 0.5
        self.force_mag = 10.0

    def derivative(self, t, state):
        x, x_dot, theta, theta_dot = state
        force = self.force_mag if theta > 0.02 else -self.force_mag if theta < -0.02 else 0.0
        costheta, sintheta = math.cos(theta), math.sin(theta)
        temp = (force + self.masspole * self.length * theta_dot**2 * sintheta) / self.total_mass
        thetaacc = (self.gravity * sintheta - costheta * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * costheta**2 / self.total_mass))  # fmt: skip
        xacc = temp - self.masspole * self.length * thetaacc * costheta / self.total_mass
        return np.array([x_dot, xacc, theta_dot, thetaacc], dtype=np.float64)


law("Farama-Foundation/Gymnasium/blob/HEAD/gymnasium/envs/classic_control/cartpole.py", [0.0, 0.0, 0.3, 0.0])(CartPole().derivative)


def angle_normalize(x):
    return ((x + np.pi) % (2 * np.pi)) - np.pi


@law("Farama-Foundation/Gymnasium/blob/HEAD/gymnasium/envs/classic_control/pendulum.py", [3.0, 0.5])
def swing_up(t, state):
    th, thdot = state
    max_torque, m, l = 2.0, 1.0, 1.0
    u = np.clip(-5 * angle_normalize(th) - thdot, -max_torque, max_torque)
    newthdot = 3 * g / (2 * l) * np.sin(th) + 3.0 / (m * l**2) * u
    return np.array([np.clip(thdot, -8, 8), newthdot])


@law("Farama-Foundation/Gymnasium/blob/HEAD/gymnasium/envs/classic_control/continuous_mountain_car.py", [-0.5, 0.2])
def mountain_car(state, t):
    position, velocity = state[0], state[1]
    force = min(max(3 * velocity, -1.0), 1.0)
    acceleration = force * 1.5 - 2.5 * math.cos(3 * position)
    if position <= -1.2 and velocity < 0:
        velocity = 0
    return array([velocity, acceleration], dtype=float)


@law("m47eus2/FLYArm/blob/HEAD/controlSim.py", [0.2, 0.0, 0.0])
def arm_with_a_fan(t, x):
    I, b, xs, l, mb, ms = 0.01, 0.01, 0.25, 0.3, 0.3, 0.02
    e = 1 - x[0]
    Fs = 1 * e + 3 * x[2] - 0.3 * x[1]
    if Fs < 0:
        Fs = 0
    dx2 = ((-mb * g * l / 2 + ms * g * xs) / I) * np.sin(x[0]) - (b / I) * x[1] + (Fs * xs) / I
    return [x[1], dx2, e]


@law("m47eus2/FLYArm/blob/HEAD/controlSimIVP.py", [0.2, 0.0, 0.0])
def arm_with_a_one_sided_drive(t, X):
    x1, x2, intE = X
    e = np.pi / 2 - x1
    u = 25 * e + 8 * intE - 3.5 * x2
    if u > 30:
        Fs = 30
    elif u > 0:
        Fs = u
    else:
        Fs = 0
    return [x2, -20 * np.sin(x1) - x2 + 0.5 * Fs, e]


# contact, stops, friction


@law("Joshualau23/Miscellaneous-Codes/blob/HEAD/bounce1.py", [0.5, -1.0])
def ball_that_hardens(t, state):
    z, vz = state
    m, r, k, k2, c = 1.0, 0.3, 10.0, 1000.0, 8.0
    F = -g * m
    if z < r:
        F += k * (r - z)
        F -= c * vz
        if z > 0:
            rdef = (r - z) / r
            hrd = rdef / (1.0 - rdef)
            F += k2 * hrd * hrd * hrd
    return [vz, F / m]


class BouncingBall:
    gravity = 9.81

    def __init__(self, m, k, c, ball_radius_cm=6):
        self.r = ball_radius_cm / 100
        self.m = m
        self.k = k
        self.c = c

    def in_air(self, t, y):
        x1, x2 = y
        return [x2, -BouncingBall.gravity]

    def in_contact(self, t, y):
        x1, x2 = y
        return [x2, -1 / self.m * (self.c * x2 + self.k * (x1 - self.r)) - self.gravity]

    def __call__(self, t, y):
        return self.in_air(t, y) if y[0] > self.r else self.in_contact(t, y)


law("Nick-Hemenway/medium-simulating_physical_systems/blob/HEAD/main.py", [0.2, 0.0])(BouncingBall(1, 2000, 3))


@law("KevGildea/KevGildea.github.io/blob/HEAD/_posts/2021-09-20-EOM-contact-modelling.md", [0.3], [-1.0], kind="force")
def hunt_and_crossley(q, v):
    delta = -(q[0] - 0.1)
    F = np.zeros(1)
    if delta > 0:
        F[0] = max(0.0, 4e3 * delta ** (3 / 2) * (1 - 0.4 * v[0]))
    return F + np.array([-9.81])


@law("milanofthe/pathsim/blob/HEAD/docs/source/examples/stick_slip.rst", [0.0, 0.0])
def box_on_a_belt(t, x):
    m, k, d, F_c = 20.0, 70.0, 10.0, 10.0
    v_rel = x[1] - 2 * np.sin(3 * t)
    if abs(v_rel) < 0.01:
        friction = -F_c * v_rel / 0.01
    else:
        friction = -F_c * np.sign(v_rel)
    return np.array([x[1], (friction - k * x[0] - d * x[1]) / m])


@law("auralius/LuGre/blob/HEAD/sim_stick_slip.m", [0.0, 0.1, 0.0])
def bristles(t, q):
    Fs, Fc, vs, sigma_0, sigma_1, sigma_2 = 1.5, 1.0, 0.1, 100.0, 10.0, 0.4
    x, v, z = q[0], q[1], q[2]
    zdot = v - z * abs(v) * sigma_0 / (Fc + (Fs - Fc) * math.exp(-((v / vs) ** 2)))
    F = sigma_0 * z + sigma_1 * zdot + sigma_2 * v
    return [v, 2 * (0.1 * t - x) - F, zdot]


def damper_force(v_rel, c_comp=1500.0, c_reb=3000.0, knee=0.3):
    """Compression softer than rebound, both digressive."""
    if v_rel >= 0:
        c = c_comp
    else:
        c = c_reb
    if abs(v_rel) <= knee:
        return c * v_rel
    return math.copysign(c * knee + 0.3 * c * (abs(v_rel) - knee), v_rel)


def road(t):
    if t < 0.05:
        return 0.0
    elif t < 0.15:
        return 0.05 * (1 - math.cos(2 * math.pi * (t - 0.05) / 0.1)) / 2
    else:
        return 0.0


@law("HilarieSit/3200-Final-Project/blob/HEAD/dydtsys40_BACKUP_9072.m", [0.0, 0.0, 0.0, 0.0])
def quarter_car(t, state):
    x_s, x_s_dot, x_u, x_u_dot = state
    travel = x_s - x_u
    F = -16000 * travel - damper_force(x_s_dot - x_u_dot)
    if travel < -0.03:
        F += 2e5 * (-0.03 - travel) ** 2
    elif travel > 0.03:
        F -= 2e5 * (travel - 0.03) ** 2
    dydt = np.empty(4)
    dydt[0], dydt[1] = x_s_dot, F / 240
    dydt[2], dydt[3] = x_u_dot, (-F - 160000 * (x_u - road(t))) / 36
    return dydt


@law("AllenDowney/ModSimPy/blob/HEAD/chap22.py", [0.0, 2.0, 25.0, 20.0])
def baseball_with_drag(t, state):
    x, y, vx, vy = state
    V = np.array([vx, vy])
    speed = np.hypot(vx, vy)
    if speed == 0:
        a_drag = np.zeros(2)
    else:
        direction = V / speed
        a_drag = -0.5 * 1.2 * speed**2 * 0.0042 * 0.33 / 0.145 * direction
    A = a_drag + np.array([0, -g])
    return vx, vy, A[0], A[1]


Bungee = collections.namedtuple("Bungee", ["mass", "k", "L", "area"])
jumper = Bungee(mass=75.0, k=40.0, L=25.0, area=1.0)


@law("AllenDowney/ModSimPy/blob/HEAD/modsim.py", [24.0, 20.0])
def bungee_cord(t, state, system=jumper):
    fallen, v = state
    f_spring = 0 if fallen < system.L else system.k * (fallen - system.L)
    f_drag = 0.5 * 1.2 * v**2 * 0.3 * system.area * -np.sign(v)
    return v, g + (f_drag - f_spring) / system.mass


# gravity


def pairwise(r):
    x, y = r[:, :1], r[:, 1:]
    dist = (x - x.T) ** 2 + (y - y.T) ** 2
    dist += np.eye(len(r))
    dist **= 0.5
    return x - x.T, y - y.T, dist


MASSES = np.array([3.0, 2.0, 1.0])
PLANE = [1.0, 0.0, -1.0, 0.3, 0.0, 1.2, 0.1, 0.6, -0.2, -0.7, 0.5, 0.0]


@law("ericlearning/n-body/blob/HEAD/n-body.py", PLANE)
def bodies_by_broadcasting(state, t):
    r, v = state[:6].reshape(3, 2), state[6:].reshape(3, 2)
    dx, dy, dist = pairwise(r)
    pull = -MASSES[None, :] / dist**3
    a = np.stack([(pull * dx).sum(axis=1), (pull * dy).sum(axis=1)], axis=-1)
    return np.concatenate([v.ravel(), a.ravel()])


@njit
def jitted_acceleration(state, t):
    N = 3
    pos = state[: 2 * N].reshape(N, 2)
    vel = state[2 * N :].reshape(N, 2)
    acc = np.zeros((N, 2))
    for i in range(N):
        for j in range(N):
            if i != j:
                rji = pos[j] - pos[i]
                acc[i] += MASSES[j] / np.linalg.norm(rji) ** 3 * rji
    return np.hstack((vel.flatten(), acc.flatten()))


@law("SUPARNAJIT-lang/Gravity-and-N-Body-problem/blob/HEAD/N-body-problem.py", PLANE)
def bodies_by_loops_in_numba(state, t):
    return jitted_acceleration(state, t)


@law("pmocz/nbody-python/blob/HEAD/nbody.py", PLANE)
def bodies_by_masks(t, state):
    pos, vel = state[:6].reshape(3, 2), state[6:].reshape(3, 2)
    x, y = pos[:, 0:1], pos[:, 1:2]
    dx, dy = x.T - x, y.T - y
    inv_r3 = dx**2 + dy**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = (dx * inv_r3) @ MASSES
    ay = (dy * inv_r3) @ MASSES
    return np.concatenate((vel.reshape(-1), np.column_stack((ax, ay)).reshape(-1)))


class Body:
    def __init__(self, mass, position):
        self.mass = mass
        self.position = np.array(position, dtype=float)
        self.velocity = np.zeros(2)


def accelerations_of(bodies):
    accelerations = [np.zeros(2) for _ in bodies]
    for i, one in enumerate(bodies):
        for j, other in enumerate(bodies):
            if i != j:
                r = other.position - one.position
                accelerations[i] += other.mass * r / (np.linalg.norm(r) + 1e-10) ** 3
    return accelerations


planets = [Body(3.0, [1, 0]), Body(2.0, [-1, 0.3]), Body(1.0, [0, 1.2])]


@law("18oscarm/3-body-simulator/blob/HEAD/README.md", PLANE)
def bodies_as_objects(t, y):
    n = len(planets)
    positions, velocities = y[: 2 * n].reshape((n, 2)), y[2 * n :].reshape((n, 2))
    for i, body in enumerate(planets):
        body.position = positions[i]
        body.velocity = velocities[i]
    dydt = np.zeros_like(y)
    dydt[: 2 * n] = velocities.flatten()
    dydt[2 * n :] = np.array(accelerations_of(planets)).flatten()
    return dydt


@law("Felobrat/MCOC2020-P1/blob/HEAD/orbita_predicha.py", [1.1, 0.0, 0.1, 0.0, 0.9, 0.2])
def satellite_in_a_turning_frame(z, t):
    omega = 0.3
    c, s = np.cos(omega * t), np.sin(omega * t)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    Rp = omega * np.array([[-s, -c, 0], [c, -s, 0], [0, 0, 0]])
    Rpp = (omega**2) * np.array([[-c, s, 0], [-s, -c, 0], [0, 0, 0]])
    zp = np.zeros(6)
    zp[0] = z[3]
    zp[1] = z[4]
    zp[2] = z[5]
    r_3 = (np.sqrt(z[0] ** 2 + z[1] ** 2 + z[2] ** 2)) ** 3
    z1, z2 = z[0:3], z[3:6]
    zp[3:6] = -z1 / r_3 - R.T @ (2 * Rp @ z2 + Rpp @ z1)
    return zp


earth = {"mu": 1.0, "radius": 0.9, "J2": 1e-3}


@law("P38LightningII/fragmentation_uncertainty/blob/HEAD/fragmentation_uncertainty/ode.py", [1.1, 0, 0.1, 0, 0.9, 0.2])
def two_bodies_from_a_dictionary(state, t):
    r = state[:3]
    dvdt = -earth["mu"] / norm(r) ** 3 * r
    return [state[3], state[4], state[5], dvdt[0], dvdt[1], dvdt[2]]


@law("https://github.com/poliastro/poliastro", [1.1, 0.0, 0.1, 0.0, 0.9, 0.2])
def oblate_earth_with_an_atmosphere(t, u_):
    r_vec, v_vec = u_[:3], u_[3:]
    r = norm(r_vec)
    factor = (3.0 / 2.0) * earth["mu"] * earth["J2"] * (earth["radius"] ** 2) / (r**5)
    a_base = 5.0 * r_vec[2] ** 2 / r**2
    a_J2 = np.array([a_base - 1, a_base - 1, a_base - 3]) * r_vec * factor
    du_ad = np.zeros(6)
    du_ad[:3] = v_vec
    du_ad[3:] = -earth["mu"] * r_vec / r**3
    du_ad += np.concatenate([np.zeros(3), a_J2])
    H = r - earth["radius"]
    if H < 0.5:
        rho = 0.01 * math.exp(-H / 0.05)
        du_ad[3:] += -0.5 * rho * norm(v_vec) * v_vec
    return du_ad


# flight


@law("iancarr/numerical-python-carr/blob/HEAD/rocket-flight.py", [0.0, 5.0])
def rocket_that_burns_out(t, u):
    h, v = u
    if t < 0.3:
        burn = 20.0
    else:
        burn = 0.0
    mass = 50 + max(0.0, 10.0 - 20.0 * t)
    drag = 0.5 * 1.091 * exp(-h / 8500.0) * v * fabs(v) * pi * 0.5**2 * 0.15
    return array([v, -g + (burn * 325.0 - drag) / mass])


@law("byang12159/drone_tracking/blob/HEAD/baselines/dynamics.py", [0.0, 0.1, 0.05, 0.0, 0.0, 0.1, -0.05, 0.0, 1.0, 0.0])
def quadrotor_from_a_list(t, x):
    d0, d1, n0, kT = 10, 8, 10, 0.91
    x, vx, theta_x, omega_x, y, vy, theta_y, omega_y, z, vz = x.reshape(-1).tolist()
    ax, ay, az = -0.1 * x, -0.1 * y, 10.0 - z
    return np.array([vx, g * np.tan(theta_x), -d1 * theta_x + omega_x, -d0 * theta_x + n0 * ax,
                     vy, g * np.tan(theta_y), -d1 * theta_y + omega_y, -d0 * theta_y + n0 * ay, vz, kT * az - g])  # fmt: skip


@law("JensRathke/aa203finalproject/blob/HEAD/Code/quadcopter.py", [0.0, 0.0, 5.0, 0.0, 0.05, 0.0])
def planar_quadcopter(t, s):
    x, vx, y, vy, phi, omega = s
    T = np.clip(np.array([2300.0 - 300 * phi, 2300.0 + 300 * phi]) - 100 * omega, 0, 2500)
    T1, T2 = T
    m, l, Izz = 450, 4.6, 4000.0
    return np.array([vx, -(T1 + T2) * np.sin(phi) / m, vy, (T1 + T2) * np.cos(phi) / m - g, omega, ((T2 - T1) * l) / Izz])


def quaternion_to_matrix(q):
    q = q / norm(q)
    w, x, y, z = q
    R = np.eye(3)
    R[0, 0] = 1 - 2 * (y**2 + z**2)
    R[0, 1], R[0, 2] = 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z - w * x)
    R[2] = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)]
    return R


@law("bobzwik/Quadcopter_SimCon/blob/HEAD/Simulation/quadFiles/quad.py", [0, 0, 1, 1, 0.05, 0, 0, 0.1, 0, 0, 0.2, -0.1, 0.3])
def quadcopter_with_quaternions(t, state):
    q, v, w = state[3:7], state[7:10], state[10:13]
    I = np.diag([0.01, 0.012, 0.02])
    thrust, wind = np.array([[0], [0], [12.0]]), np.array([1.0, 0, 0])
    air = v - wind
    sdot = np.zeros([13])
    sdot[0:3] = v
    p, qq, r = w
    sdot[3:7] = 0.5 * np.array([[0, -p, -qq, -r], [p, 0, r, -qq], [qq, -r, 0, p], [r, qq, -p, 0]]) @ q
    sdot[7:10] = (quaternion_to_matrix(q) @ thrust).reshape(3) / 1.2 - 0.1 * np.sign(air) * air**2 - np.array([0, 0, g])
    sdot[10:13] = np.linalg.inv(I) @ (-np.cross(w, I @ w) - 0.01 * w)
    return sdot


@dataclasses.dataclass
class Rocket:
    mass: float = 20.0
    area: float = 0.01
    burn_out: float = 0.2

    def thrust(self, t):
        return 800.0 if t <= self.burn_out else 0.0

    @property
    def reference(self):
        return 0.5 * 1.225 * self.area

    @staticmethod
    def drag_coefficient(mach):
        if mach < 0.8:
            return 0.3
        elif mach < 1.2:
            return 0.3 + 0.5 * (mach - 0.8)
        return 0.5


rocket = Rocket()


@law("https://github.com/RocketPy-Team/RocketPy", [0.0, 0.0, 0.0, 100.0])
def rocket_with_a_mach_number(t, u):
    x, z, vx, vz = u
    free_stream_speed = ((vx - 3.0) ** 2 + vz**2) ** 0.5
    mach = free_stream_speed / 340.0
    drag = rocket.reference * rocket.drag_coefficient(mach) * free_stream_speed
    ax, az = -drag * (vx - 3.0) / rocket.mass, -drag * vz / rocket.mass
    if free_stream_speed > 1e-6:
        az += rocket.thrust(t) / rocket.mass * vz / free_stream_speed
    return [vx, vz, ax, az - g]


@law("treknuts/golf-sim/blob/HEAD/trajectory_sim.py", [0.0, 0.0, 0.02, 60.0, 0.0, 15.0])
def ball_with_spin(t, s):
    v = s[3:]
    spin = np.array([0.0, -250.0, 20.0])
    speed = np.sqrt(v.dot(v))
    acc = np.zeros(3)
    acc += -0.003 * speed * v
    acc += 5e-5 * np.cross(spin, v)
    acc[-1] -= 9.81
    return np.r_[v, acc]


@law("https://docs.scipy.org/doc/scipy/reference/generated/scipy.integrate.solve_ivp.html", [0.0, 50.0])
def upward_cannon(t, y):
    return [y[1], -0.5]


# vehicles


@njit
def steering_limits(angle, rate, s_max, sv_max):
    if (angle <= -s_max and rate <= 0) or (angle >= s_max and rate >= 0):
        rate = 0.0
    elif rate <= -sv_max:
        rate = -sv_max
    elif rate >= sv_max:
        rate = sv_max
    return rate


def kinematic_single_track(x, u, lwb):
    return np.array([x[3] * np.cos(x[4]), x[3] * np.sin(x[4]), u[0], u[1], x[3] / lwb * np.tan(x[2])])


@law("f1tenth/f1tenth_gym/blob/HEAD/gym/f110_gym/envs/dynamic_models.py", [0.0, 0.0, 0.1, 0.45, 0.0, 0.0, 0.0])
def single_track_with_a_change_of_model(t, x):
    mu, C, lf, lr, h, m, I = 1.0, 5.0, 0.16, 0.17, 0.07, 3.7, 0.047
    u = np.array([steering_limits(x[2], 4 * (0.3 - x[2]), 0.4, 3.0), 2.0])
    lwb = lf + lr
    if abs(x[3]) < 0.5:
        f_ks = kinematic_single_track(x[0:5], u, lwb)
        f = np.hstack((f_ks, np.array([u[1] / lwb * np.tan(x[2]) + x[3] / (lwb * np.cos(x[2]) ** 2) * u[0], 0])))
    else:
        front, rear = C * (g * lr - u[1] * h), C * (g * lf + u[1] * h)
        f = np.array([
            x[3] * np.cos(x[6] + x[4]), x[3] * np.sin(x[6] + x[4]), u[0], u[1], x[5],
            mu * m / (I * lwb) * (-(lf**2 * front + lr**2 * rear) * x[5] / x[3] + (lr * rear - lf * front) * x[6] + lf * front * x[2]),
            (mu / (x[3] ** 2 * lwb) * (rear * lr - front * lf) - 1) * x[5] - mu / (x[3] * lwb) * ((rear + front) * x[6] - front * x[2]),
        ])  # fmt: skip
    return f


def motor_torque(omega, params={}):  # noqa: B006
    Tm, omega_m, beta = params.get("Tm", 190.0), params.get("omega_m", 420.0), params.get("beta", 0.4)
    return np.clip(Tm * (1 - beta * (omega / omega_m - 1) ** 2), 0, None)


@law("python-control/python-control/blob/HEAD/examples/cruise-control.py", [18.0, 0.0])
def cruise_control(t, x, params={"m": 1600.0}):  # noqa: B006
    from math import copysign, sin

    sign = lambda x: copysign(1, x)
    m, alpha, gear = params.get("m", 1000.0), [40, 25, 16, 12, 10], 4
    v, z = x
    theta = 0 if t <= 0.2 else 4.0 / 180.0 * pi * (t - 0.2) if t <= 0.5 else 4.0 / 180.0 * pi * 0.3
    throttle = np.clip(0.5 * (20 - v) + 0.1 * z, 0, 1)
    F = alpha[int(gear) - 1] * motor_torque(alpha[int(gear) - 1] * v, params) * throttle
    Fd = m * g * sin(theta) + m * g * 0.01 * sign(v) + 1 / 2 * 1.3 * 0.32 * 2.4 * abs(v) * v
    return np.array([(F - Fd) / m, 20 - v])


def magic_formula(slip, load, B=10.0, C=1.9, D=1.0, E=0.97):
    return load * D * np.sin(C * np.arctan(B * slip - E * (B * slip - np.arctan(B * slip))))


@law("pmusau17/Platooning-F1Tenth/blob/HEAD/src/race/csv/bicycle_model.m", [0.0, 0.0, 0.0, 15.0, 0.0, 0.0])
def tyres_by_a_formula(t, X):
    x, y, psi, vx, vy, r = X
    lf, lr, m, Iz = 1.2, 1.4, 1400.0, 2500.0
    delta = 0.05 if 0.1 < t < 0.3 else 0.0
    vx_safe = max(vx, 0.5)
    alpha_f = delta - math.atan2(vy + lf * r, vx_safe)
    alpha_r = -math.atan2(vy - lr * r, vx_safe)
    Ff, Fr = (magic_formula(a, m * g * l / (lf + lr)) for a, l in ((alpha_f, lr), (alpha_r, lf)))
    return np.array([vx * np.cos(psi) - vy * np.sin(psi), vx * np.sin(psi) + vy * np.cos(psi), r,
                     -Ff * np.sin(delta) / m + vy * r, (Fr + Ff * np.cos(delta)) / m - vx * r, (lf * Ff - lr * Fr) / Iz])  # fmt: skip


@law("AtsushiSakai/PythonRobotics/blob/HEAD/Control/move_to_pose/move_to_pose.py", [0.0, 0.0, 0.3])
def drive_to_a_pose(t, state):
    x, y, theta = state
    x_diff, y_diff = 2.0 - x, 1.0 - y
    rho = np.hypot(x_diff, y_diff)
    alpha = (np.arctan2(y_diff, x_diff) - theta + np.pi) % (2 * np.pi) - np.pi
    v = 0.9 * rho
    w = 4 * alpha
    if alpha > np.pi / 2 or alpha < -np.pi / 2:
        v = -v
    if abs(v) > 1.0:
        v = np.sign(v) * 1.0
    return np.array([v * np.cos(theta), v * np.sin(theta), w])


@law("AtsushiSakai/PythonRobotics/blob/HEAD/Control/inverted_pendulum/inverted_pendulum_lqr_control.py", [0.1, 0.0, 0.2, 0.0])
def linear_cart(t, x):
    A = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.3 * g / 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, g * 1.3 / 2.0, 0.0]])
    B = np.array([[0.0], [1.0 / 1.0], [0.0], [1.0 / 2.0]])
    K = np.array([[-1.0, -2.0, 40.0, 10.0]])
    u = -K @ x.reshape(4, 1)
    return (A @ x.reshape(4, 1) + B @ u).flatten()


# arms, legs, mechanisms


def inertia_of_an_arm(th):
    D = np.zeros((2, 2))
    t2 = th[1, 0]
    D[0, 0] = 2.0 + 2 * 0.4 * np.cos(t2)
    D[0, 1] = 0.5 + 0.4 * np.cos(t2)
    D[1, 0] = D[0, 1]
    D[1][1] = 0.5
    return D


def coriolis_of_an_arm(th, dth):
    C = np.zeros((2, 2))
    C[0, 0] = -2 * np.sin(th[1, 0]) * 0.4 * dth[1, 0]
    C[0, 1] = -np.sin(th[1, 0]) * 0.4 * dth[1, 0]
    C[1, 0] = np.sin(th[1, 0]) * 0.4 * dth[0, 0]
    return C


@law("leokim0711092/Theconstruct_Robot_control_basic/blob/HEAD/control_exercises/exercise_2-3-1.py", [0.3, -0.4, 0.1, 0.2])
def arm_with_columns(t, y):
    th, dth = y[:2].reshape((2, 1)), y[2:].reshape((2, 1))
    tau = np.minimum(np.maximum(-20 * th - 4 * dth, -5), 5)
    ddth = np.dot(np.linalg.inv(inertia_of_an_arm(th)), tau - coriolis_of_an_arm(th, dth) @ dth)
    return np.vstack((dth, ddth)).ravel()


@law("sheim/vibly/blob/HEAD/demos/test.py", [0.0, 0.97, 2.0, -0.5])
def hopper_on_a_spring(t, x):
    leg = math.hypot(x[0], x[1])
    dx = np.concatenate((x[2:], [0, -g]))
    if leg < 1.0 and x[1] > 0:
        a = 8200 / 80 * (1.0 - leg) / leg
        dx[2] += a * x[0]
        dx[3] += a * x[1]
    return dx


@law(
    "Dynamics-Learning-Workshop/Legged-Robots-Bootcamp/blob/HEAD/bootcamp_scripts/1_hopper_dynamics/README.md", [1.2, 0.0, 0.2, 0.0]
)
def hopper_of_two_masses(t, X):
    x_b, x_b_dot, x_l, x_l_dot = X
    stance = x_l <= 0
    F_spring = 800 * (1.0 - (x_b - x_l))
    x_b_ddot = -g + F_spring / 5
    x_l_ddot = -g - F_spring + (5e3 * -x_l - 10 * x_l_dot if stance else 0.0)
    return np.array([x_b_dot, x_b_ddot, x_l_dot, x_l_ddot])


class Muscle:
    """A muscle with the usual force-length and force-velocity curves, cached between its methods."""

    def __init__(self, F_max=1000.0, l_opt=0.1):
        self.F_max, self.l_opt = F_max, l_opt

    def update(self, l, v):
        self.length_factor = np.exp(-(((l / self.l_opt - 1) / 0.45) ** 2))
        if v < 0:
            self.velocity_factor = (1 + v) / (1 - 5 * v)
        else:
            self.velocity_factor = 1.5 - 0.5 * (1 - v) / (1 + 7.56 * 5 * v)

    def force(self, l, v):
        self.update(l, v)
        return self.F_max * self.length_factor * self.velocity_factor


muscle = Muscle()


@law("atharvasunder/RigidBodyHoppingModel/blob/HEAD/README.md", [0.09, 0.1])
def weight_on_a_muscle(t, y):
    return [y[1], g - muscle.force(y[0], y[1]) / 100.0]


def fill_constraints(h, Jac, s):
    q = s.q
    S2, C2, S3, C3 = math.sin(q[2]), math.cos(q[2]), math.sin(q[3]), math.cos(q[3])
    h[1] = -s.dpt[3, 1] * S2 + s.dpt[3, 2] * (-C2 * S3 - S2 * C3)
    h[2] = s.dpt[3, 1] * C2 + s.dpt[3, 2] * (C2 * C3 - S2 * S3) - q[1]
    Jac[1, 1] = 0


class Store:
    """What a generated function finds its numbers in, counted from 1."""

    def __init__(self):
        self.dpt = np.zeros((4, 3))
        self.dpt[3, 1], self.dpt[3, 2] = 0.3, 1.0


ROD = -0.5 - asin(0.3 * sin(0.5))


@law("MaxenceVL/LMECA2802/blob/HEAD/symbolicR/mbs_cons_hJ_Piston_Engine_Absolute.py",
     [0.3 * cos(0.5) + cos(0.5 + ROD), 0.5, ROD], [0.0, 0.0, 0.0], kind="constraint")  # fmt: skip
def piston_engine(q):
    s = Store()
    s.q = np.concatenate(([0.0], q))
    h, Jac = np.zeros(3), np.zeros((3, 4))
    fill_constraints(h, Jac, s)
    return h[1:]


@law(
    "moorepants/learn-multibody-dynamics/blob/HEAD/_sources/holonomic-eom.rst.txt",
    [0.6, 0.8, 1.6, 0.8],
    [0.0] * 4,
    kind="constraint",
)
def chain_of_two_rods(q):
    joints = [np.zeros(2), q[:2], q[2:]]
    residual = []
    for a, b in zip(joints[:-1], joints[1:]):
        residual.append(np.sum((b - a) ** 2) - 1.0)
    return residual


@law(
    "emecdelam/projet_4_meca/blob/HEAD/suspension_vrai/symbolicR/mbs_cons_hJ_suspension_vrai.py",
    [0.0, 1.0],
    [0.0, 0.0],
    kind="constraint",
)
def bead_on_a_wire_of_parts(q):
    x, y = q
    if x < 0:
        track = 1.0
    elif x < 1:
        track = 1.0 - x**3 / 3
    else:
        track = 2.0 / 3.0 - (x - 1)
    return y - track


@law("petercorke/robotics-toolbox-python/blob/HEAD/roboticstoolbox/robot/twolink.py", [0.4, -0.3], [0.5, 0.1], kind="force")
def forces_collected_from_a_list(q, v):
    springs = [(0, 1, 20.0, 0.5), (1, 0, 5.0, 0.2)]
    tau = np.zeros(len(q))
    for i, j, k, rest in springs:
        stretch = q[i] - q[j]
        tau[i] -= k * (stretch - rest if stretch > 0 else stretch + rest)
        tau[j] += 0.1 * k * stretch
    tau -= [0.2 * w * abs(w) for w in v]
    return tau


@law("Aalto-Electric-Drives/motulator/blob/HEAD/docs/source/mechanics.rst", [0.1], [2.0], kind="force")
def motor_with_a_load(t, q, v):
    tau_M = np.interp(abs(v[0]), [0, 1, 5, 10], [12.0, 12.0, 6.0, 0.0])
    tau_L = 0.3 * v[0] ** 2 * np.sign(v[0])
    tau_step = (t > 0.2) * 2.0
    return np.array([tau_M - tau_L - tau_step])


backlash = functools.partial(lambda x, gap, k: k * np.where(x > gap, x - gap, np.where(x < -gap, x + gap, 0.0)), gap=0.05, k=200.0)


@law("2dof/esp_control/blob/HEAD/functional_description.md", [0.2, 0.0], [0.0, 1.0], kind="force")
def gears_with_a_dead_zone(q, v):
    T = backlash(q[0] - q[1])
    return np.asarray([-T - 0.1 * v[0], T])


@law("enormandeau/lawn_dart/blob/HEAD/src/physics.c", [100.0], [0.0], kind="force")
def parachute_that_opens(t, q, v):
    area = 0.02
    if q[0] < 99.7:
        area = min(0.02 + 5 * (99.7 - q[0]), 1.0)
    return np.full(1, -9.81) - 0.5 * 1.2 * area * v * np.abs(v)


# tables, iterations, arrays of other kinds


thrust_curve = interp1d([0.0, 0.05, 0.2, 0.4, 10.0], [0.0, 80.0, 60.0, 0.0, 0.0])
track = CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 0.3, 0.1, 0.5])


@law("https://scipy-cookbook.readthedocs.io/items/CoupledSpringMassSystem.html", [0.0, 1.0])
def thrust_from_a_table(t, x):
    return [x[1], thrust_curve(t) / 2.0 - g + 10 * track(1.0 + x[0])]


def kepler_anomaly(M, e, turns=6):
    E = M
    for _ in range(turns):
        E = E - (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
    return E


@law("https://scipy-lectures.org/intro/scipy.html", [0.2, 0.1])
def force_from_a_fixed_iteration(yvec, t):
    E = kepler_anomaly(yvec[0], 0.3)
    return (yvec[1], -0.2 * yvec[1] - 4.0 * math.sin(E))


@law("https://matplotlib.org/stable/gallery/animation/double_pendulum.html", [0.3, 0.2, 0.1, -0.1, 0.0, 0.0])
def chain_by_matrices(t, y):
    n = y.size // 2
    K = 20 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    K[-1, -1] = 20
    C = np.diag(np.full(n, 0.1))
    x, v = np.split(y, 2)
    return np.block([v, -K @ x - C @ v - 3 * np.power(x, 3)])


class Wall:
    """Walls as objects in a list, each with its own law."""

    def __init__(self, point, normal, k):
        self.point, self.normal, self.k = np.asarray(point, float), np.asarray(normal, float), k

    def push(self, q):
        depth = np.dot(self.point - q, self.normal)
        return self.k * depth * self.normal if depth > 0 else np.zeros_like(self.normal)


walls = [Wall((0, 0), (0, 1), 500.0), Wall((1, 0), (-1, 0), 500.0), Wall((0, 0), (1, 0), 500.0), Wall((0, 1), (0, -1), 500.0)]


@law("Florian-DELRIEU/Gravitationnal-Sytem/blob/HEAD/GS_2D.py", [0.9, 0.1], [1.0, -0.5], kind="force")
def ball_in_a_box(q, v):
    return sum((wall.push(q) for wall in walls), np.array([0.0, -9.81]))


@law("Engue92/tennis_service/blob/HEAD/fonctions_magnus.py", [0.5, 0.0])
def lookup_by_if(t, y):
    if y[0] < 0 or y[0] > 3:
        return np.zeros(2)
    k = 5 if y[0] < 0.4 else 8 if y[0] < 0.6 else 12
    return np.array([y[1], -k * y[0]])


# what needs numbers, or remembers, is refused by line


class Pid:
    def __init__(self, Kp, Ki, Kd, dt):
        self.Kp, self.Ki, self.Kd, self.dt = Kp, Ki, Kd, dt
        self.integral_error = 0
        self.previous_error = 0

    def update(self, error):
        self.integral_error += error * self.dt
        derivative = (error - self.previous_error) / self.dt
        self.previous_error = error
        return self.Kp * error + self.Ki * self.integral_error + self.Kd * derivative


pid = Pid(40, 5, 10, 0.001)


@law(
    "AJ-Levy/Data-Driven-Control/blob/HEAD/pendPIDcontroller.py",
    [0.1, 0.0],
    refused=r"remembers '\w+' of a Pid from one call to the next",
)
def controller_with_a_memory(t, y):
    return [y[1], g * np.sin(y[0]) - pid.update(y[0])]


class Relay:
    def __init__(self):
        self.status = 0

    def trigger(self, value):
        if value < -0.1:
            self.status = 0
        if value > 0.1:
            self.status = 1
        return self.status


relay = Relay()


@law("RSA-HQSOL/Frutas_v2/blob/HEAD/ClassRelay.py", [0.0, 0.5], refused="remembers 'status' of a Relay from one call to the next")
def relay_with_hysteresis(t, y):
    return [y[1], -5.0 * relay.trigger(y[0])]


@law("ranadu/aerospace-Simulation-platform/blob/HEAD/backend/config.py", [0.1, 0.0, 0.2, 0.0, 0.1, 0.3],
     refused=r'uses scipy\'s Rotation, which takes numbers only \("R = Rotation')  # fmt: skip
def attitude_by_scipy(t, y):
    R = Rotation.from_euler("xyz", y[:3]).as_matrix()
    return np.concatenate([y[3:], R @ [0, 0, 1.0]])


@law("maximemchlt/Suspension_a_double_triangulation/blob/HEAD/symbolicR/mbs_cons_hJ_Suspension_a_double_triangulation.py", [0.4, 0.0],
     refused="fsolve")  # fmt: skip
def position_found_by_fsolve(t, y):
    (beta,) = fsolve(lambda b: np.sin(b) - 0.5 * np.sin(y[0]), 0.1)
    return [y[1], -g * np.sin(y[0]) - beta]


@law("cpaul-mech/controlbook_public/blob/HEAD/practice_final/python/rodMassParam.py", [1.3, 0.0],
     refused=r'makes a whole number of .* \("gear = int')  # fmt: skip
def gear_by_speed(t, y):
    gear = int(y[0] // 1.0)
    return [y[1], [3.0, 2.0, 1.5][gear] - y[1]]
