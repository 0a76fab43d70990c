"""The package's own expression graph beside CasADi: operations of model functions, and the time in which they are derived.

    python benchmarks/derivatives.py [--page docs/derivatives.md] [--turns 3] [--only seven-body,...]

For every problem and some mechanisms, the functions that methods use are derived and recorded: of explicit methods, and the
equations of three formulations with their Jacobians. Each turn is one process of each kind; the shortest time counts. Needs casadi.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLAIN = (
    "FIELD", "REFINED", "TERMS", "RESIDUAL", "POS_FACTOR", "POS_SOLVE", "POS_TANGENT", "VEL_FACTOR", "VEL_SOLVE", "VEL_TANGENT",
    "FULL_FACTOR", "FULL_SOLVE", "FULL_TANGENT", "ENERGY", "OUTPUTS",
)  # fmt: skip
NOT_OF_ODES = ("REFINED", "TERMS", "VEL_FACTOR", "VEL_SOLVE", "VEL_TANGENT", "ENERGY")
IMPLICIT = ("EQUATIONS", "BY_Y", "BY_SLOPE")
FORMULATIONS = ("GGL", "Index1", "Index2", "Index3")


def mechanisms() -> dict[str, Callable]:
    """Mechanisms out of bodies beside the problems; most of the problems are, too."""
    import scale

    return {
        "chain of 20 rods": lambda: scale.chain(20), "20 rods, branches, springs": lambda: scale.branches(20),
        "chain of 10 balls": lambda: scale.ball_chain(10), "net of 4 by 4": lambda: scale.net(4),
    }  # fmt: skip


class Asked(BaseException):
    """What a model would have been made of; no error."""


def models(only: list[str] | None):
    """Yield names and what `Model` is given in a run of each."""
    import holonomic
    from holonomic import problems
    from holonomic.model.compiled import Model
    from holonomic.model.extra_states import NONE

    made, ours = Model.__init__, mechanisms()

    def asked(self, system, q0, v0, t0=0.0, extras=NONE):
        raise Asked(system, q0, v0, t0, extras)

    for name in only or [*problems.catalogue(), *ours]:
        found = None
        Model.__init__ = asked
        try:
            if name in ours:
                system, q, v = ours[name]().to_system()
                holonomic.simulate(system, 1.0, q0=q, v0=v)
            else:
                holonomic.simulate(problems.get(name))
        except Asked as what:
            found = what.args
        finally:
            Model.__init__ = made
        if found is not None:
            yield name, found


def values_of(tape, t: float, a, b, data) -> list[float]:
    """What a tape computes, one operation after the other."""
    from holonomic.graph.on_numbers import BY_NAME

    given, values = ((t,), a, b, data), []
    for name, *operands in tape.nodes:
        if name == "const":
            values.append(float(operands[0]))
        elif name == "in":
            values.append(float(given[operands[0]][operands[1]]))
        else:
            values.append(BY_NAME[name](*(values[k] for k in operands)))
    return [0.0 if place is None else values[place] for place in tape.outputs]


def numbers(model, tapes: dict, x) -> dict[str, list[float]]:
    """Values of functions near a start; of factors what is solved with them, because their own order is a matter of choice."""
    import numpy as np

    random, data = np.random.default_rng(5), np.append(model.data(), random_gains())
    x = x + 0.03 * random.uniform(-1, 1, len(x))
    b, found = random.uniform(-1, 1, 2000), {}
    for fn, tape in tapes.items():
        level, _, action = fn.name.partition("_")
        if action == "FACTOR":
            F = values_of(tape, 0.1, x, b, data)
            for solve, made in tapes.items():
                if solve.name in (f"{level}_SOLVE", f"{level}_TANGENT"):
                    found[solve.name] = values_of(made, 0.1, F, b, data)
        elif action not in ("SOLVE", "TANGENT"):
            values = values_of(tape, 0.1, x, b, data)
            found[fn.name] = values[:-1] if fn.name in ("FIELD", "REFINED") else values  # ρ depends on the order of pivots
    return found


def random_gains() -> list[float]:
    """What may stand behind the data of a model in some formulations: more than is read."""
    return [0.3] * 500


def measured(only: list[str] | None, with_values: bool = False) -> dict[str, dict]:
    """Seconds of the processor, operations of every function, and values if asked for, by problem."""
    import numpy as np

    import holonomic
    from holonomic.kernels.signatures import Fn
    from holonomic.model.compiled import Model
    from holonomic.model.dae import Dae
    from holonomic.model.model_base import PLAIN as NOTHING
    from holonomic.model.model_base import Variant

    def once(given) -> tuple[float, dict[str, int], dict[str, list[float]]]:
        gc.collect()
        began = time.process_time()
        model = Model(*given)
        wanted = tuple(Fn[name] for name in PLAIN if not (model.is_ode and name in NOT_OF_ODES))
        made = {"": model.tapes(wanted, NOTHING)}
        order = getattr(given[0], "order", 2)
        for name in FORMULATIONS if not model.is_ode else FORMULATIONS[1 : order + 2] if isinstance(given[0], Dae) else ():
            formulation = getattr(holonomic, name)()
            try:
                made[f"{name}: "] = model.tapes(tuple(Fn[each] for each in IMPLICIT), Variant(formulation=formulation))
            except (ValueError, RuntimeError):  # a formulation that this problem does not go with
                continue
        took = time.process_time() - began
        counts = {f"{of}{fn.name}": len(tape) for of, tapes in made.items() for fn, tape in tapes.items()}
        if not with_values:
            return took, counts, {}
        x, values = np.concatenate([given[1], given[2]]), {}
        for of, tapes in made.items():
            start = np.concatenate([x, np.full(500, 0.2)])[: len(x) + (500 if of else 0)]
            values |= {f"{of}{name}": each for name, each in numbers(model, tapes, start).items()}
        return took, counts, values

    found = {}
    for name, given in models(only):
        once(given)  # what is loaded and looked up for the first time is not compared
        seconds, counts, values = once((replace(given[0]), *given[1:]))  # a system of its own: nothing is remembered
        found[name] = {"seconds": seconds, "counts": counts} | ({"values": values} if with_values else {})
    return found


def by_turns(turns: int, only: str | None) -> tuple[dict, dict]:
    """The shortest times of each kind."""
    best: dict[str, dict] = {}
    for _ in range(turns):
        for kind in ("own", "casadi"):
            command = [sys.executable, __file__, "--child", kind, *(["--only", only] if only else [])]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            now = json.loads(done.stdout.splitlines()[-1])
            known = best.setdefault(kind, now)
            for name, each in now.items():
                known[name]["seconds"] = min(known[name]["seconds"], each["seconds"])
    return best["own"], best["casadi"]


def page(own: dict, theirs: dict) -> str:
    """The table as Markdown."""
    lines = [
        "| problem | operations, CasADi | own | ratio | largest ratio of one function | ms, CasADi | own | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    sums = [0.0] * 4
    for name, mine in own.items():
        other = theirs[name]
        a, b = sum(other["counts"].values()), sum(mine["counts"].values())
        ratios = {fn: mine["counts"][fn] / count for fn, count in other["counts"].items() if count}
        worst = max(ratios, key=ratios.__getitem__)
        s, t = 1e3 * other["seconds"], 1e3 * mine["seconds"]
        sums = [x + y for x, y in zip(sums, (a, b, s, t), strict=True)]
        lines.append(
            f"| {name} | {a} | {b} | {b / a:.2f} | {ratios[worst]:.2f} ({worst}, {other['counts'][worst]}) | {s:.1f} | {t:.1f} | "
            f"{t / s:.2f} |"
        )
    a, b, s, t = sums
    lines.append(f"| all | {a:.0f} | {b:.0f} | {b / a:.2f} | | {s:.0f} | {t:.0f} | {t / s:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only")
    parser.add_argument("--child", choices=("own", "casadi"))
    parser.add_argument("--values", action="store_true")
    asked = parser.parse_args()
    only = asked.only.split(",") if asked.only else None
    if asked.child:
        if asked.child == "casadi":
            import casadi_graph

            casadi_graph.install()
        print(json.dumps(measured(only, asked.values)))
        return
    table = page(*by_turns(asked.turns, asked.only))
    if asked.page is None:
        print(table)
        return
    from stamp import stamp

    text = asked.page.read_text()
    head, _, rest = text.partition("<!-- measured -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    asked.page.write_text(f"{head}<!-- measured -->\nMeasured on {stamp()}.\n\n{table}\n<!-- end -->{tail}")


if __name__ == "__main__":
    main()
