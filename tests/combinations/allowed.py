"""Which methods go together: allowed.csv, written from the checks, read through by a person, compared by a test.

    python tests/combinations/allowed.py        writes the file; look at what has changed before committing it

A pendulum with every stabilization, other kinds of systems with the one that is chosen for them; x: runs, -: refused.
"""

import csv
import io
from functools import cache
from pathlib import Path

from catalogue import EXPLICIT, FORMULATIONS, INTEGRATORS, KINDS, STABILIZATIONS, model_for

from holonomic import BackwardEuler, BadArgument, IncompatibleMethods
from holonomic.arguments import Asked
from holonomic.planning.fit import check_fit
from holonomic.planning.reuse import plan_of

FILE = Path(__file__).with_name("allowed.csv")
STEP = 1e-3  # of integrators that have no error estimate: so short that no gain is too strong for it


def fits(model, formulation, integrator, stabilization) -> bool:
    """Whether a combination is let through, by the checks of methods and by the formulation when it is written down."""
    step = None if integrator.adaptive else STEP
    try:
        choice = Asked(formulation, integrator, stabilization, step=step).choice(model)
        check_fit(choice, model)
        return integrator.takes != "residual" or can_be_written(model, formulation)
    except (IncompatibleMethods, BadArgument):
        return False


@cache
def can_be_written(model, formulation) -> bool:
    """Whether a formulation takes the equations of a model; which integrator asks makes no difference."""
    integrator = BackwardEuler()
    try:
        plan_of(model, Asked(formulation, integrator, None, step=STEP).choice(model), {}, None)
    except IncompatibleMethods:
        return False
    return True


def table() -> str:
    """Return the file as it should be."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["system", "integrator", "stabilization", *map(repr, FORMULATIONS)])
    for kind, (system, start) in KINDS.items():
        model = model_for(system, start)
        for integrator in (*EXPLICIT, *INTEGRATORS):
            for stabilization in STABILIZATIONS if kind == "pendulum" else ["auto"]:
                cells = ["x" if fits(model, each, integrator, stabilization) else "-" for each in FORMULATIONS]
                lines.writerow([kind, repr(integrator), stabilization if stabilization == "auto" else repr(stabilization), *cells])
    return out.getvalue()


@cache
def kept() -> dict[tuple[str, str, str, str], bool]:
    """Return what the file says by system, formulation, integrator and stabilization."""
    head, *lines = csv.reader(io.StringIO(FILE.read_text(encoding="utf-8")))
    return {
        (kind, formulation, integrator, stabilization): cell == "x"
        for kind, integrator, stabilization, *cells in lines
        for formulation, cell in zip(head[3:], cells, strict=True)
    }


def listed(kind, formulation, integrator, stabilization) -> bool:
    """Whether the file allows a combination."""
    return kept()[kind, repr(formulation), repr(integrator), repr(stabilization)]


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
    print(f"wrote {FILE}: {sum(kept().values())} of {len(kept())} combinations are allowed")
