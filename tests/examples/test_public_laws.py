"""Force laws and constraints as they are written in public repositories: traced without a change, or refused by line."""

import numpy as np
import pytest
from public_laws import LAWS

from holonomic import RK45, Ode, System, simulate
from holonomic.errors import UntraceableFunction

RUN = [one for one in LAWS if not one.refused]
REFUSED = [one for one in LAWS if one.refused]


def name(one):
    return getattr(one.function, "__name__", type(one.function).__name__)


def run(one, trace, rtol=1e-8):
    how = {"integrator": RK45(), "rtol": rtol, "atol": 1e-2 * rtol}
    if one.kind == "ode":
        return simulate(Ode(one.function, trace=trace), 0.4, y0=one.start[0], **how)
    q0, v0 = one.start
    rows = {"force": one.function} if one.kind == "force" else {"force": -9.81 * np.ones(len(q0)), "constraint": one.function}
    return simulate(System(mass=np.eye(len(q0)), **rows, trace=trace), 0.4, q0=q0, v0=v0, **how)


@pytest.mark.parametrize("one", RUN, ids=name)
def test_a_law_runs_as_it_is_written(one):
    sol = run(one, True)
    # The same method on the same numbers; but compiled steps end on switches, plain ones go over them and need more of them for
    # the same digits. Rounding decides on which side of a jump a stage falls: the cart that is pushed left and right differs by
    # 1e-6, the smooth laws by 1e-9.
    traced, plain = sol.end, run(one, False, 1e-11 if sol.switches else 1e-8).end
    assert np.allclose(np.append(traced.q, traced.v), np.append(plain.q, plain.v), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("one", REFUSED, ids=name)
def test_a_law_that_needs_numbers_is_refused_by_line(one):
    with pytest.raises(UntraceableFunction, match=one.refused):
        run(one, True)


def test_sixty_laws_of_which_fifty_five_run():
    assert len(LAWS) == 60 and len(RUN) == 55
    assert len({one.address for one in LAWS}) >= 50
