"""The seven-body mechanism for JAX: mass matrix, forces and constraints, accelerations by LU of the saddle-point matrix."""

from __future__ import annotations

from types import SimpleNamespace


def seven_body_field(params: dict):
    """Return field(t, (q, v), torque)."""
    import jax
    import jax.numpy as jnp

    c = SimpleNamespace(**params)

    def constraint(q):
        be, th, ga, ph, de, om, ep = q
        s, k = jnp.sin, jnp.cos
        x, y = c.rr * k(be) - c.d * k(be + th), c.rr * s(be) - c.d * s(be + th)
        return jnp.array([
            x - c.ss * s(ga) - c.xb, y + c.ss * k(ga) - c.yb,
            x - c.e * s(ph + de) - c.zt * k(de) - c.xa, y + c.e * k(ph + de) - c.zt * s(de) - c.ya,
            x - c.zf * k(om + ep) - c.u * s(ep) - c.xa, y - c.zf * s(om + ep) + c.u * k(ep) - c.ya,
        ])  # fmt: skip

    def mass_and_force(q, v, torque):
        th, ga, ph, om = q[1], q[2], q[3], q[5]
        bp, tp, pp, dp, op, epp = v[0], v[1], v[3], v[4], v[5], v[6]
        s, k = jnp.sin, jnp.cos
        E, F = c.e - c.ea, c.zf - c.fa
        m11 = c.m1 * c.ra**2 + c.m2 * (c.rr**2 - 2 * c.da * c.rr * k(th) + c.da**2) + c.I1 + c.I2
        m12 = c.m2 * (c.da**2 - c.da * c.rr * k(th)) + c.I2
        m45 = c.m4 * (E**2 + c.zt * E * s(ph)) + c.I4
        m55 = c.m4 * (c.zt**2 + 2 * c.zt * E * s(ph) + E**2) + c.m5 * (c.ta**2 + c.tb**2) + c.I4 + c.I5
        m67 = c.m6 * (F**2 - c.u * F * s(om)) + c.I6
        m77 = c.m6 * (F**2 - 2 * c.u * F * s(om) + c.u**2) + c.m7 * (c.ua**2 + c.ub**2) + c.I6 + c.I7
        M = jnp.zeros((7, 7))
        for i, j, value in (
            (0, 0, m11), (0, 1, m12), (1, 0, m12), (1, 1, c.m2 * c.da**2 + c.I2),
            (2, 2, c.m3 * (c.sa**2 + c.sb**2) + c.I3), (3, 3, c.m4 * E**2 + c.I4), (3, 4, m45), (4, 3, m45), (4, 4, m55),
            (5, 5, c.m6 * F**2 + c.I6), (5, 6, m67), (6, 5, m67), (6, 6, m77),
        ):  # fmt: skip
            M = M.at[i, j].set(value)
        xd, yd = c.sd * k(ga) + c.sc * s(ga) + c.xb, c.sd * s(ga) - c.sc * k(ga) + c.yb
        length = jnp.sqrt((xd - c.xc) ** 2 + (yd - c.yc) ** 2)
        pull = -c.c0 * (length - c.l0) / length
        fx, fy = pull * (xd - c.xc), pull * (yd - c.yc)
        f = jnp.array([
            torque - c.m2 * c.da * c.rr * tp * (tp + 2 * bp) * s(th), c.m2 * c.da * c.rr * bp**2 * s(th),
            fx * (c.sc * k(ga) - c.sd * s(ga)) + fy * (c.sd * k(ga) + c.sc * s(ga)),
            c.m4 * c.zt * E * dp**2 * k(ph), -c.m4 * c.zt * E * pp * (pp + 2 * dp) * k(ph),
            -c.m6 * c.u * F * epp**2 * k(om), c.m6 * c.u * F * op * (op + 2 * epp) * k(om),
        ])  # fmt: skip
        return M, f

    def field(t, state, torque):
        q, v = state[:7], state[7:]
        M, f = mass_and_force(q, v, torque)
        G = jax.jacfwd(constraint)(q)
        gamma = jax.jvp(lambda x: jax.jvp(constraint, (x,), (v,))[1], (q,), (v,))[1]
        K = jnp.block([[M, G.T], [G, jnp.zeros((6, 6))]])
        return jnp.concatenate([v, jnp.linalg.solve(K, jnp.concatenate([f, -gamma]))[:7]])

    return field
