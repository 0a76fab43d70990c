"""The seven-body mechanism for JAX, and the vector field of a constrained system: the KKT solve, derivatives by AD."""
import common as c
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)


def andrews_g(q):
    be, th, ga, ph, de, om, ep = q
    s, k = jnp.sin, jnp.cos
    X = c.rr*k(be) - c.d*k(be+th); Y = c.rr*s(be) - c.d*s(be+th)
    return jnp.array([X - c.ss*s(ga) - c.xb, Y + c.ss*k(ga) - c.yb, X - c.e*s(ph+de) - c.zt*k(de) - c.xa, Y + c.e*k(ph+de) - c.zt*s(de) - c.ya,
                      X - c.zf*k(om+ep) - c.u*s(ep) - c.xa, Y - c.zf*s(om+ep) + c.u*k(ep) - c.ya])


def andrews_Mf(q, v):
    be, th, ga, ph, de, om, ep = q
    bp, tp, gp, pp, dp, op, epp = v
    s, k = jnp.sin, jnp.cos
    E, F = c._E4, c._F6
    z = 0.0
    m12 = c.m2*(c.da**2 - c.da*c.rr*k(th)) + c.I2
    m45 = c.m4*(E**2 + c.zt*E*s(ph)) + c.I4
    m67 = c.m6*(F**2 - c.u*F*s(om)) + c.I6
    M = jnp.array([[c._A - 2*c.m2*c.da*c.rr*k(th), m12, z, z, z, z, z], [m12, c.m2*c.da**2 + c.I2, z, z, z, z, z], [z, z, c.m3*(c.sa**2 + c.sb**2) + c.I3, z, z, z, z],
                   [z, z, z, c.m4*E**2 + c.I4, m45, z, z], [z, z, z, m45, c.m4*(c.zt**2 + 2*c.zt*E*s(ph) + E**2) + c.m5*(c.ta**2 + c.tb**2) + c.I4 + c.I5, z, z],
                   [z, z, z, z, z, c.m6*F**2 + c.I6, m67], [z, z, z, z, z, m67, c.m6*(F**2 - 2*c.u*F*s(om) + c.u**2) + c.m7*(c.ua**2 + c.ub**2) + c.I6 + c.I7]])
    xd = c.sd*k(ga) + c.sc*s(ga) + c.xb; yd = c.sd*s(ga) - c.sc*k(ga) + c.yb
    L = jnp.sqrt((xd - c.xc)**2 + (yd - c.yc)**2); Fo = -c.c0*(L - c.l0)/L
    fx, fy = Fo*(xd - c.xc), Fo*(yd - c.yc)
    f = jnp.array([c.mom - c.m2*c.da*c.rr*tp*(tp + 2*bp)*s(th), c.m2*c.da*c.rr*bp**2*s(th), fx*(c.sc*k(ga) - c.sd*s(ga)) + fy*(c.sd*k(ga) + c.sc*s(ga)),
                   c.m4*c.zt*E*dp**2*k(ph), -c.m4*c.zt*E*pp*(pp + 2*dp)*k(ph), -c.m6*c.u*F*epp**2*k(om), c.m6*c.u*F*op*(op + 2*epp)*k(om)])
    return M, f


def field(gfun, Mf, n):
    def vf(t, y, args):
        q, v = y[:n], y[n:]
        M, f = Mf(q, v)
        G = jax.jacfwd(gfun)(q)
        gam = jax.jvp(lambda x: jax.jvp(gfun, (x,), (v,))[1], (q,), (v,))[1]
        m = G.shape[0]
        K = jnp.block([[M, G.T], [G, jnp.zeros((m, m))]])
        a = jnp.linalg.solve(K, jnp.concatenate([f, -gam]))[:n]
        return jnp.concatenate([v, a])
    return vf
