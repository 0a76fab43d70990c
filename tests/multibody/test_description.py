"""Mechanisms in words."""

from holonomic import simulate
from holonomic.multibody import Mechanism, rod

from .machines import four_bar


def test_a_mechanism_says_what_it_is_made_of_by_kind():
    m = four_bar()
    m.torsion_spring("B", stiffness=1.0)
    m.drive("A", speed=2.0)
    said = m.describe().splitlines()
    starts = [" ".join(line.split()) for line in said]
    assert starts[0].startswith("planar mechanism, gravity (0, -9.81)")
    assert any(line.startswith("bodies 3, ") for line in starts)
    assert any(line.startswith("revolute joints 4: ") for line in starts)
    assert any(line.startswith("spring force 1: ") for line in starts)
    assert any(line.startswith("drives 1: ") for line in starts)
    assert any(line.startswith("freedom 0 degrees of freedom; 9 of 9 rows") for line in starts)
    assert starts[-1] == "runs as code, compiled for it"


def test_what_it_says_of_its_next_run_is_so():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (2, 0)), links=20, mass=1.0, first=m.ground)
    assert m.describe().endswith("tables at first, code once that pays")
    assert simulate(m, 0.001).plan.tier == "tables"
    assert simulate(four_bar(), 0.001).plan.tier == "code"


def test_a_large_one_is_described_in_as_many_lines():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (50, 0)), links=500, mass=2.5, first=m.ground)
    said = m.describe()
    assert "500, 2.5 kg in all: rope 0, rope 1, rope 2, rope 3, ..." in said
    assert "500 degrees of freedom; 1000 of 1000 rows independent" in said
    assert "as it is drawn" in said and "more than 100 bodies" in said
    assert len(said.splitlines()) == 7


def test_what_does_not_assemble_says_so():
    m = Mechanism()
    assert "empty" in m.describe()
    m.body("a", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("O", m.ground, "a", at=(0, 0))
    m.distance("far", m.ground, "a", at=((0, 5), (1, 0)), length=1.0)
    assert "does not assemble" in m.describe() and "'far'" in m.describe()
