"""References of 20 digits: what is stored agrees with them as far as it says, and runs reach them."""

import numpy as np
import pytest

from holonomic import simulate
from holonomic.errors import BadArgument
from holonomic.problems import catalogue, kepler, seven_body
from holonomic.problems.problem import exact_references
from holonomic.results.pairs import Pairs

KNOWN = {name: entries for name, entries in exact_references().items() if not isinstance(entries, str)}
# stored references of these two are exact for 9.81, √3 and 2π; the doubles next to them make the rest, see the page
OF_DECIMALS = {"pendulum-a01": 12.7, "kepler": 13.6}


def digits(exact: Pairs, values) -> float:
    error = np.max(np.abs((exact - np.asarray(values)).high) / np.maximum(1.0, np.abs(values)))
    return -np.log10(max(error, 1e-30))


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_stored_references_have_the_digits_that_they_promise(name):
    problem = catalogue()[name]()
    for entry in KNOWN[name]:
        exact, stored = problem.exact_reference(entry["t"]), problem.reference(entry["t"])
        for level, promised in stored.digits.items():
            values, wanted = getattr(stored, level, None), getattr(exact, level, None)
            if values is None or wanted is None:
                continue
            if stored.components is not None and level != "lam":
                wanted = wanted[list(stored.components)]
            promised = min(promised, OF_DECIMALS.get(name, promised))
            assert digits(wanted, values) >= promised - 0.5, (entry["t"], level)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_two_runs_agree_on_eighteen_digits_of_positions_and_mostly_more(name):
    for entry in KNOWN[name]:
        assert entry["agreement"]["tolerance"]["y" if "y" in entry else "q"] > 18


def test_seven_bodies_reach_theirs():
    problem = seven_body()
    sol, known = simulate(problem, precision="double-double", rtol=1e-21, save_at=[0.03]), problem.exact_reference()
    assert np.max(np.abs((sol.exact.q[-1] - known.q).high)) < 1e-19
    assert known.q[0].text(20) == "15.810771195153706888" and known.digits["q"] > 20


def test_without_one_the_message_says_how_to_get_it():
    with pytest.raises(BadArgument, match="precision='double-double'"):
        kepler(c=0.3).exact_reference(1.0)
    with pytest.raises(BadArgument, match=r"t = 0\.02"):
        seven_body().exact_reference(0.02)
    with pytest.raises(BadArgument, match="no reference of many digits"):
        seven_body(m1=0.05).exact_reference()
