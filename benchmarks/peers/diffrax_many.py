"""diffrax (JAX, CPU, float64): many seven-body runs by vmap over the torque of the motor; one line of JSON per solver."""
import os
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")
import json, time
import common as c, numpy as np
import jax, jax.numpy as jnp, diffrax as dx
jax.config.update("jax_enable_x64", True)
import diffrax_fields as fields

N = 1000


def vf(t, y, mom):
    def Mf(q, v):
        M, f = fields.andrews_Mf(q, v)
        return M, f.at[0].add(mom - c.mom)
    return fields.field(fields.andrews_g, Mf, 7)(t, y, None)


for label, S in (("diffrax vmap, Dopri5", dx.Dopri5), ("diffrax vmap, Tsit5", dx.Tsit5), ("diffrax vmap, Dopri8", dx.Dopri8)):
    @jax.jit
    @jax.vmap
    def go(mom):
        return dx.diffeqsolve(dx.ODETerm(vf), S(), 0.0, c.P2_T, None, jnp.asarray(c.P2_Y0), args=mom, saveat=dx.SaveAt(t1=True),
                              stepsize_controller=dx.PIDController(rtol=1e-5, atol=1e-9), max_steps=4096).ys[0]
    moms = jnp.asarray(0.033*np.linspace(0.95, 1.05, N))
    go(moms).block_until_ready()
    best = np.inf
    for _ in range(3):
        t0 = time.perf_counter(); go(moms).block_until_ready(); best = min(best, time.perf_counter() - t0)
    ends = np.asarray(go(jnp.asarray(0.033*np.linspace(0.95, 1.05, 8))))[:, 0]
    print(json.dumps({"label": label, "speed": N/best, "ends": ends.tolist()}), flush=True)
