"""Orders of q, v and λ for every formulation with every fixed-step implicit integrator, beside what theory says.

    python benchmarks/orders.py                          # prints the tables
    python benchmarks/orders.py --page docs/orders.md
    python benchmarks/orders.py --check                  # exit code 1 where an order misses theory by more than 0.2

A bead that is heavier one way than the other, on an elliptic wire that moves; errors are the largest at twenty times of the
whole run, the order is the slope between n and 2 n steps. Of a method's own λ, which with index 2 and 3 needs some steps,
they are those of the last three quarters.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from stamp import stamp

import holonomic
from holonomic import (
    BDF,
    DOP853,
    GGL,
    PHEM56,
    RATTLE,
    BackwardEuler,
    FixedBDF,
    GaussLegendre,
    GaussLegendre4,
    GeneralizedAlpha,
    ImplicitMidpoint,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    LobattoIIIAB,
    Overdetermined,
    ProjectedInvariants,
    Projection,
    Radau,
    StateSpace,
    StrangenessFree,
    Trapezoidal,
    UnderlyingODE,
    simulate,
)
from holonomic.study.table import Table
from holonomic.testing import bead

FORMULATIONS = (
    UnderlyingODE(), Index1(), StrangenessFree(), StateSpace(), Overdetermined(), Index2(), GGL(), ProjectedInvariants("Pa"),
    ProjectedInvariants("Pb"), ProjectedInvariants("Pc"), Index3(),
)  # fmt: skip
INTEGRATORS = (
    BackwardEuler(), FixedBDF(2), FixedBDF(3), BDF(), Trapezoidal(), ImplicitMidpoint(), GaussLegendre4(), GaussLegendre(3),
    Radau(), GeneralizedAlpha(), RATTLE(), RATTLE(order=4), RATTLE(order=6), LobattoIIIAB(4), PHEM56(),
)  # fmt: skip
GAUSS = (GaussLegendre4(), GaussLegendre(3))
# steps of the coarser run by order: errors clear of rounding (of λ in index 3, ε/h²), their leading terms ruling
STEPS = {1: 400, 2: 200, 3: 100, 4: 40, 5: 40, 6: 20, 9: 40, 13: 25}
MULTISTEP = {5: 80}
FINER = {13: 35}  # of the finer run, where twice as many leave rounding
REDUCED = (90, 135)  # both, for high orders with index 3, where q alone has them
SLACK, ROUNDING = 0.2, 1e-11
PARTS = ("q", "v", "lam", "own")

HEAD = """# Orders of implicit methods

The tables have the orders of q, v and λ observed with fixed steps, over the whole run. The system is a bead on an elliptic
wire that moves; the bead is three times as heavy one way as the other. This command writes the page:

```sh
python benchmarks/orders.py --page docs/orders.md
```

λ is `sol.lam`, which with every method follows from q and v and has their order. The last number is the order of the method's
own λ, `sol.unknowns["lam"]`, from a quarter of the run on, if it has one at the ends of steps. ProjectedInvariants and
StateSpace have none; the midpoint rule and Gauss's method have theirs inside the step; RATTLE and Lobatto's method give λ(q, v).

A dash means that the two do not go together, that there is no such λ, or that the number is rounding. If theory says less
than the order of the integrator, the number is bold:

- Radau IIA with s stages, 3 for order 5, 5 for 9, 7 for 13 [HW96, Sec. VII.4 and VII.6]: its own λ of index 2 has order s; with
  index 3, v has order s and its own λ s - 1.
- Gauss with s stages [HW96]: with constraints among the equations it has order s for even s, s + 1 for odd s; q of index 2
  and v of `ProjectedInvariants("Pa")` keep 4 and 6 with 2 and 3 stages. With index 3 it is refused.
  `Projection` along the multipliers, which it takes by itself, brings back order 2s.
- Trapezoidal rule with index 3: its own λ is summed up from what is left at the start, with alternating sign; theory promises
  it no order.
- BDF loses no order; its own λ of index 2 and 3 has it from the step on at which the past is the formula's own.
"""


HIGH = """## High orders

q, v, λ, own λ, over a run of 4.5 s instead of one. Between errors that are too large and rounding there is little room for
order 13: its own λ of index 2, and v of index 3, are on their way to order 7."""


@cache
def problem(t_end: float = 1.0):
    return bead(speed=0.5, rise=2.0, g=3.0, t_end=t_end, heavy=3.0)


@cache
def reference(t_end: float, times: int):
    return simulate(problem(t_end), integrator=DOP853(), rtol=1e-13, atol=1e-13, save_at=times + 1)


def errors(formulation, integrator, stabilization, n: int) -> dict[str, float]:
    """Largest errors at common times of the run, which is longer for high orders: they would be rounding else."""
    t_end, times = (4.5, 5) if integrator.order > 8 else (1.0, 20)
    sol = simulate(problem(t_end), formulation=formulation, integrator=integrator, stabilization=stabilization, step=t_end / n)
    known, at = reference(t_end, times), np.arange(times + 1) * n // times
    found = {part: float(np.abs(getattr(sol, part)[at] - getattr(known, part)).max()) for part in PARTS[:3]}
    own = sol.unknowns.get("lam")
    if own is None or integrator.multipliers_in_stages:
        return found | {"own": np.nan}
    return found | {"own": float(np.abs(own[at] - known.lam)[times // 4 :].max())}


def orders(formulation, integrator, stabilization=None) -> dict[str, float] | None:
    """Observed orders; None where the two do not go together."""
    n = STEPS[integrator.order]
    if isinstance(integrator, BDF):
        n = MULTISTEP[integrator.order] * (2 if isinstance(formulation, UnderlyingODE) else 1)
    finer = FINER.get(integrator.order, 2 * n)
    if integrator.order > 8 and formulation.index == 3:
        n, finer = REDUCED
    try:
        coarse, fine = (errors(formulation, integrator, stabilization, k) for k in (n, finer))
    except IncompatibleMethods:
        return None
    return {p: float(np.log(coarse[p] / fine[p]) / np.log(finer / n)) if fine[p] >= ROUNDING else np.nan for p in PARTS}


def theory(formulation, integrator, stabilization=None) -> dict[str, float]:
    """Orders that theory gives; NaN where it gives none."""
    p = float(integrator.order)
    wanted = dict.fromkeys(PARTS, p)
    index, imposed = formulation.index, bool(formulation.keeps)
    stages = (p + 1) / 2
    if isinstance(integrator, Radau) and index == 2 and type(formulation) is not ProjectedInvariants:
        wanted["own"] = stages
    if isinstance(integrator, Radau) and index == 3:
        wanted |= {"v": stages, "lam": stages, "own": stages - 1}
    if integrator in GAUSS and imposed and stabilization is None:
        s = int(p) // 2
        wanted = dict.fromkeys(PARTS, float(s + s % 2))
        if isinstance(formulation, Index2):
            wanted["q"] = p
        if formulation == ProjectedInvariants("Pa"):
            wanted["v"] = p
    if isinstance(integrator, Trapezoidal) and index == 3:
        wanted["own"] = np.nan
    return wanted


def cell(found, wanted, order: int) -> str:
    """Orders as text, those in bold of which theory says less than the order of the integrator."""
    if found is None:
        return "-"
    texts = []
    for part in PARTS:
        text = "-" if np.isnan(found[part]) else f"{found[part]:.1f}"
        reduced = np.isnan(wanted[part]) or wanted[part] < order
        texts.append(f"**{text}**" if reduced and text != "-" else text)
    return " ".join(texts)


def table(formulations, stabilization, integrators):
    """The table, and what misses theory."""
    rows, missed = [], []
    for formulation in formulations:
        cells = [f"`{formulation!r}`"]
        for integrator in integrators:
            found, wanted = orders(formulation, integrator, stabilization), theory(formulation, integrator, stabilization)
            cells.append(cell(found, wanted, integrator.order))
            for part in PARTS if found else ():
                if found[part] < wanted[part] - SLACK:
                    missed.append(f"{formulation!r} {integrator!r} {part}: {found[part]:.2f}, theory {wanted[part]:g}")
        rows.append(tuple(cells))
    names = tuple(repr(integrator).replace("()", "") for integrator in integrators)
    return Table("", ("formulation", *names), tuple(rows)), missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    plain, missed = table(FORMULATIONS, None, INTEGRATORS)
    some = (Index1(), Index2(), GGL(), ProjectedInvariants("Pa"), ProjectedInvariants("Pb"))
    projected, more = table(some, Projection(), (BackwardEuler(), FixedBDF(3), Trapezoidal(), *GAUSS, Radau(), PHEM56()))
    missed += more
    high, more = table((Index1(), Index2(), GGL(), Index3()), None, (Radau(order=9), Radau(order=13)))
    missed += more
    text = "\n\n".join([
        HEAD.rstrip(), "## Without stabilization\n\nq, v, λ, own λ:", plain.markdown(), "## With Projection\n\nq, v, λ, own λ:",
        projected.markdown(), HIGH, high.markdown(),
        f"Measured on {stamp()}, with holonomic {holonomic.__version__}.",
    ]) + "\n"  # fmt: skip
    if given.page:
        Path(given.page).write_text(text, encoding="utf-8")
    else:
        print(text)
    print("\n".join(missed) or "every order is within 0.2 of theory")
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
