"""CasADi's IDAS on the semi-explicit index-1 form of the three problems, interpreted by CasADi and compiled by it."""

import casadi as ca
import implicit_common as c
import numpy as np

for name in c.TOLERANCES:
    case = c.Case(name)
    function = ca.Function.load(f"{c.FOLDER}/{name}.casadi")
    t, x, z = ca.SX.sym("t"), ca.SX.sym("x", len(case.x0)), ca.SX.sym("z", len(case.z0))
    ode, alg = function(t, x, z)
    dae = {"t": t, "x": x, "z": z, "ode": ode, "alg": alg}
    jit = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3"], "verbose": False}}
    for variant, options in (("IDAS index 1", {}), ("IDAS index 1, compiled", jit)):
        made = {}

        def run(tol, options=options, made=made):
            if tol not in made:
                made.clear()
                given = {"abstol": tol, "reltol": tol, "max_num_steps": 5000000, **options}
                made[tol] = ca.integrator("peer", "idas", dae, 0.0, case.t_end, given)
            found = np.array(made[tol](x0=case.x0, z0=case.z0)["xf"]).ravel()
            stats = made[tol].stats()
            return found, stats.get("nsteps"), stats.get("nfevals", 0)

        c.measure("CasADi", variant, case, run)
