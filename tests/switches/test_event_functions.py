"""Events of random functions, all of whose changes of sign are known: none is missed, none is made up."""

import warnings
from collections import Counter

import numpy as np
import pytest

from holonomic import System, simulate

from .event_functions import COUNT, END, MOTIONS, event_function
from .intervals import changes_of_sign

NEAR = 1e-7  # the motion itself is good to less than that


def times_found(made):
    """When the package finds an event function zero, and whether it warned."""
    force, (q0, v0), _, _ = MOTIONS[made.motion]
    system = System(mass=np.eye(1), force=lambda q: [force(q[0])])
    event = lambda t, q, v: made.f(t, q[0], v[0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = simulate(system, END, q0=[q0], v0=[v0], rtol=1e-11, atol=1e-13, events={"zero": event}, max_time=30.0)
    return sol.events["zero"].t, bool(told)


def compared(made):
    """How many zeros there are, were missed, were made up, and whether a warning said so."""
    found, told = times_found(made)
    left, missed = list(found), 0
    for t in made.times:
        near = [x for x in left if abs(x - t) < NEAR]
        if near:
            left.remove(min(near, key=lambda x, t=t: abs(x - t)))
        else:
            missed += 1
    return Counter(zeros=len(made.times), missed=missed, made_up=len(left), told=bool(told and missed))


def agreed(seeds):
    """Fail where a zero was missed or made up, with the functions and all numbers."""
    counts, bad = Counter(), []
    for seed in seeds:
        made = event_function(seed)
        one = compared(made)
        counts += one
        if one["missed"] or one["made_up"]:
            bad.append(f"seed {seed}, {made.kind} on a {made.motion}: {dict(one)}\n{made.text}")
    assert not bad, f"{dict(counts)}, {len(bad)} functions\n" + "\n".join(bad)


def test_counted_zeros_are_those_of_dense_samples():
    t = np.linspace(0.0, END, 3_000_001)
    for seed in (0, 1, 5, 14, 15, 28, 42):  # smooth and slow enough for that
        made = event_function(seed)
        _, _, q, v = MOTIONS[made.motion]
        sign = np.sign(made.f(t, q(t), v(t)))
        if made.kind in ("fourier", "chirp"):
            assert t[1:][sign[1:] != sign[:-1]] == pytest.approx(made.times, abs=2e-6)


def test_a_closed_form_is_counted_whole():
    times = changes_of_sign(lambda t: 1e-9 - abs(t % 0.5 - 0.25), 0.0, END)
    assert times == pytest.approx([0.25 + 0.5 * k + side * 1e-9 for k in range(6) for side in (-1, 1)], abs=1e-14)


@pytest.mark.parametrize("seed", range(0, COUNT, 40))
def test_no_zero_is_missed(seed):
    agreed([seed])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_no_zero_of_a_thousand_functions_is_missed(part):
    agreed(range(part, COUNT, 20))
