"""Laws with branches, run in every way there is: right, or refused with a reason, and never wrong in silence."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from .laws import TABLE, Law
from .random_laws import COUNT, random_law
from .recorded import recorded, right
from .reference import instants, integrate
from .runners import RUNNERS, error_of, fits, side_by_side, verdict

KINDS = sorted({law.kind for law in TABLE.values()})
MAY_BE_REFUSED = 0.1  # of what a runner is asked for
CANNOT_SLIDE = ("Radau", "BDF", "generalized alpha")  # they say so, of dry friction and whatever else holds a mass


def judged(cases):
    """Verdicts by case."""
    return {(key, runner): verdict(law, runner, *right(key, law)) for key, law, runner in cases if fits(law, runner)}


def agreed(found, most_refused):
    """Fail where a run is wrong, breaks, or where more are refused than may be."""
    counts = Counter(said for said, _ in found.values())
    bad = [f"{key}, {runner}: {said}, {why}" for (key, runner), (said, why) in found.items() if said in ("wrong", "broken")]
    refused = [f"{key}, {runner}: {why}" for (key, runner), (said, why) in found.items() if said == "refused"]
    assert not bad, f"{dict(counts)}\n" + "\n".join(bad)
    assert len(refused) <= most_refused * len(found), f"{dict(counts)}\n" + "\n".join(refused)


def of_kind(kind, runner):
    return [(key, law, runner) for key, law in TABLE.items() if law.kind == kind]


def drawn(keys, count, seed):
    """A sample of laws, each with a runner."""
    r = random.Random(seed)
    return [(key, r.choice([name for name in RUNNERS if name != "input"])) for key in r.sample(keys, count)]


def test_each_reference_is_that_of_its_law_and_accurate():
    for key, law in TABLE.items():
        states, accuracy = right(key, law)
        assert len(states) == len(instants(law.end)) and accuracy < 1e-5, key


def test_references_are_closed_forms_where_there_are_some():
    on = lambda t: math.floor(t) * 0.3 + min(t % 1.0, 0.3)  # seconds of a force of 1 N
    states, _ = right("jumping: int(10 t) % 10", TABLE["jumping: int(10 t) % 10"])
    assert states[:, 1] == pytest.approx([on(t) for t in instants(3.3)], abs=1e-9)
    for name in ("brake", "brake first", "in one line", "sign times", "select", "where", "masks", "copysign"):
        law = TABLE[f"friction: {name}"]
        speed = [0.0 if t < 1 else t - 1 if t < 2 else max(3.0 - t, 0.0) for t in instants(law.end)]
        assert right(f"friction: {name}", law)[0][:, 1] == pytest.approx(speed, abs=1e-9), name


def test_a_reference_without_branches_is_that_of_kutta():
    law = Law("none", "spring", lambda q: -9.0 * q, 2.0, (0.3, 1.2))
    t = instants(2.0)
    exact = np.stack([0.3 * np.cos(3 * t) + 0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t) - 0.9 * np.sin(3 * t)], axis=1)
    assert np.max(np.abs(integrate(law, 1e-3) - exact)) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key, law in TABLE.items() if law.w is not None])
def test_a_mass_that_is_held_moves_as_with_very_short_steps(key):
    """The midpoint rule knows nothing of surfaces, and chatters about them within one step's change of speed."""
    law, steps = TABLE[key], 400_000
    (q, v), h, f = law.start, law.end / steps, law.f
    for k in range(steps):
        a = float(f(k * h, q, v))
        middle = q + h / 2 * v, v + h / 2 * a
        q, v = q + h * middle[1], v + h * float(f((k + 0.5) * h, *middle))
    assert (q, v) == pytest.approx(right(key, law)[0][-1], abs=2e-4)


@pytest.mark.parametrize(("key", "runner"), drawn(sorted(TABLE), 40, 1))
def test_a_law_of_the_table(key, runner):
    agreed(judged([(key, TABLE[key], runner)]), 1.0)


@pytest.mark.parametrize(("key", "runner"), drawn([key for key in recorded() if key.startswith("random")], 25, 2))
def test_a_random_law(key, runner):
    agreed(judged([(key, random_law(int(key.split()[1])), runner)]), 1.0)


REFUSED = ("friction: grip of t", "friction: grip that returns", "jumping: int(10 t) % 10", "jumping: round")  # by tables


@pytest.mark.parametrize("tier", ["now", "never"])
@pytest.mark.parametrize("seed", range(3))
def test_laws_beside_each_other_in_one_mechanism(seed, tier):
    """Each moves its own cart as if it were alone, whatever wakes or changes at the others."""
    keys = random.Random(f"beside {seed}").sample([key for key in sorted(TABLE) if not key.startswith(REFUSED)], 6)
    laws = [TABLE[key] for key in keys]
    for key, law, states in zip(keys, laws, side_by_side(laws, tier), strict=True):
        known, accuracy = right(key, law)
        assert error_of(states, known[: len(states)]) <= 5e-4 + 10 * accuracy, key


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_law_in_every_way(kind, runner):
    slides = kind == "friction" and runner.startswith(CANNOT_SLIDE)
    agreed(judged(of_kind(kind, runner)), 1.0 if slides else MAY_BE_REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_random_laws(part):
    """A thousand, each in three ways: left open, left open at a tight tolerance, and in one that is drawn."""
    r, cases = random.Random(part), []
    for seed in range(part, COUNT, 20):
        law, key = random_law(seed), f"random {seed}"
        if key in recorded():
            cases += [(key, law, runner) for runner in ("automatic", "automatic, tight", r.choice(list(RUNNERS)))]
    assert len(cases) > 140
    agreed(judged(cases), MAY_BE_REFUSED)
