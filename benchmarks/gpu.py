"""Throughput of sweeps on a GPU: the seven-body mechanism to t = 0.03, end state saved.

    python benchmarks/gpu.py [members] > result.json      with diffrax installed, it is measured too

Members differ by 5 % in the driving torque, rtol = 1e-5, RK45. "kernel" is the time the GPU is busy, "sweep" the whole
call with all results on the device. diffrax integrates the same equations, solved by LU, with its Dopri5 under vmap.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import holonomic as h
from holonomic import problems

PEER_MEMBERS = 200_000  # what fits the memory of diffrax; ours is measured with as many, too


def machine() -> dict:
    import numba
    import numba_cuda
    from numba import cuda

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    return {"device": name, "numba": numba.__version__, "numba-cuda": numba_cuda.__version__, "holonomic": h.__version__}


def measure(members: int, stabilization) -> dict:
    problem = problems.seven_body()
    torque = 0.033 * np.linspace(0.95, 1.05, members)
    options = {
        "integrator": h.RK45(), "stabilization": stabilization, "rtol": 1e-5, "save_at": [0.03], "progress": False,
        "q0": problem.q0, "v0": problem.v0,
    }  # fmt: skip
    first = time.perf_counter()
    h.sweep(problem.system, 0.03, params={"mom": torque[:256]}, on="cuda", **options)
    first = time.perf_counter() - first
    whole, busy = np.inf, np.inf
    for _ in range(3):
        begin = time.perf_counter()
        runs = h.sweep(problem.system, 0.03, params={"mom": torque}, on="cuda", **options)
        whole = min(whole, time.perf_counter() - begin)
        busy = min(busy, runs.source.engine.seconds)
    kernel = next(iter(runs.source.engine.batches[0].run.overloads.values()))
    few = slice(0, members, members // 64)
    check = h.sweep(problem.system, 0.03, params={"mom": torque[few]}, **options)
    return {
        "stabilization": repr(stabilization), "members": members, "kernel runs/s": members / busy,
        "sweep runs/s": members / whole, "first call s": first, "registers": kernel.regs_per_thread,
        "local bytes": kernel.local_mem_per_thread, "threads per multiprocessor": 65536 // kernel.regs_per_thread // 32 * 32,
        "steps": float(np.mean(runs.steps)), "failed": len(runs.failed), "on the processor": runs.source.engine.aside,
        "from threads": float(np.max(np.abs(check.q - runs.q[few]))),
    }  # fmt: skip


def diffrax_rate(members: int) -> dict:
    """The same with diffrax: derivatives of the constraints by JAX, accelerations by LU."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    problem = problems.seven_body()
    p = {name: float(value) for name, value in problem.system.params.items()}
    sys.path.insert(0, "benchmarks")
    from gpu_peer import seven_body_field

    field = seven_body_field(p)
    start = jnp.concatenate([jnp.asarray(problem.q0), jnp.asarray(problem.v0)])

    def one(torque):
        control = diffrax.PIDController(rtol=1e-5, atol=1e-8)
        run = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri5(), 0.0, 0.03, None, start, args=torque, max_steps=4096,
            saveat=diffrax.SaveAt(t1=True), stepsize_controller=control,
        )  # fmt: skip
        return run.ys[0], run.stats["num_steps"]

    go = jax.jit(jax.vmap(one))
    torque = jnp.asarray(0.033 * np.linspace(0.95, 1.05, members))
    first = time.perf_counter()
    states, steps = go(torque)
    states.block_until_ready()
    first, best = time.perf_counter() - first, np.inf
    for _ in range(3):
        begin = time.perf_counter()
        states, steps = go(torque)
        states.block_until_ready()
        best = min(best, time.perf_counter() - begin)
    return {
        "diffrax": diffrax.__version__, "jax": jax.__version__, "members": members, "runs/s": members / best,
        "first call s": first, "steps": float(np.mean(np.asarray(steps))),
    }  # fmt: skip


def main():
    members = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1 << 22
    found = {"machine": machine(), "ours": []}
    for stabilization in (None, h.S_both2(), h.Projection()):
        found["ours"].append(measure(members, stabilization))
        print(json.dumps(found["ours"][-1]), file=sys.stderr, flush=True)
    try:
        found["peer"] = diffrax_rate(PEER_MEMBERS)
        found["ours beside it"] = measure(PEER_MEMBERS, None)
    except ImportError as problem:
        print(f"diffrax is not measured: {problem}", file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
