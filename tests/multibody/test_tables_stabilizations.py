"""Stabilizations of tables that move the whole state at once, or know of the other level: as on compiled code."""

from dataclasses import replace

import numpy as np
import pytest

from holonomic import (
    DOP853,
    RK4,
    ForwardEulerStabilization,
    InvariantStabilization,
    PostStabilization,
    Projection,
    S_full,
    simulate,
)
from holonomic.errors import IncompatibleMethods
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Bend, Direction, Variant
from holonomic.planning.offered import metric_of

from .machines import four_bar, planetary_gear
from .test_tables import arm, ball_chain, both, controlled, everything, sleigh, welded

WAYS = {
    "its own metric": lambda n: Variant(), "weights": lambda n: Variant(metric=tuple(1.0 + np.arange(n) % 3)),
    "orthogonal": lambda n: Variant(direction=Direction("orthogonal")),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [four_bar, everything, welded, sleigh, controlled, arm],
                         ids=["four-bar", "every force", "welded", "sleigh", "states", "arm"])  # fmt: skip
def test_moves_of_the_whole_state_are_those_of_compiled_code(make, way):
    (tables, code), data, x = both(make())
    variant, random = WAYS[way](len(x)), np.random.default_rng(1)
    own = variant if variant != Variant() else replace(variant, metric=metric_of(None, code))
    rows, positions = tables.n_lam + tables.n_constraints + tables.n_invariants, tables.n_constraints + tables.n_invariants
    r, e, found = random.uniform(-1, 1, rows), random.uniform(-1, 1, len(x)), []
    for model, given, how in ((tables, data[0], variant), (code, data[1], own)):
        ask = lambda fn, a, b, model=model, given=given, how=how: model.evaluate(fn, 0.3, a, b, given, how)
        F = ask(Fn.FULL_FACTOR, x, np.zeros(0))
        moves = [ask(fn, F, b) for fn, b in ((Fn.FULL_SOLVE, r), (Fn.FULL_TANGENT, e), (Fn.FULL_INVERSE, r))]
        moves += [ask(Fn.FULL_SPREAD, x, r), ask(Fn.CURVATURE, x, e[: model.nq])]
        if way != "orthogonal":
            moves += [ask(Fn.POS_SPREAD, x, r[:positions]), ask(Fn.VEL_SPREAD, x, r[positions:])]
        found.append(np.concatenate([F[1 : 1 + rows], *moves]))
    assert found[0] == pytest.approx(found[1], rel=1e-10, abs=1e-11 * (1.0 + np.abs(found[1]).max()))


STABILIZATIONS = [
    S_full(), Projection(on="full"), Projection(on="full", at="new"), Projection(D="orthogonal"), PostStabilization("cheap-full"),
    PostStabilization(freeze="inverse"), PostStabilization("full", freeze="inverse"), ForwardEulerStabilization(alpha=0.8),
    PostStabilization(D="orthogonal", F="1.14", alpha=0.1),
]  # fmt: skip


@pytest.mark.parametrize("stabilization", STABILIZATIONS, ids=repr)
def test_runs_agree_with_compiled_code(stabilization):
    for make in (four_bar, lambda: ball_chain(2)):
        how = {"stabilization": stabilization, "integrator": RK4(), "step": 5e-3}
        sol, known = (simulate(make(), 0.1, compile=tier, **how) for tier in ("never", "now"))
        assert sol.plan.tier == "tables"
        assert sol.q == pytest.approx(known.q, abs=1e-13) and sol.v == pytest.approx(known.v, abs=1e-12)


BENDS = [
    Bend(), Bend(integral=True), Bend(D="blocks"), Bend(D="mass"), Bend("4.8"), Bend("4.8", "mass"), Bend("1.14"),
    Bend("1.14", "blocks"), Bend("1.14", "mass"), Bend(D="blocks", integral=True),
]  # fmt: skip


@pytest.mark.parametrize("make", [four_bar, sleigh, controlled, lambda: ball_chain(3)],
                         ids=["four-bar", "sleigh", "states", "ball chain"])  # fmt: skip
def test_the_field_is_bent_towards_invariants_as_in_compiled_code(make):
    (tables, code), data, x = both(make())
    for model, own in zip((tables, code), data, strict=True):
        own[model.data_places["gains"].start] = 3.0
    plain = code.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[1])[:-1]
    for bend in BENDS:
        if bend.D == "mass" and code.system.kinematics is not None:
            with pytest.raises(IncompatibleMethods, match=r'^the mechanism as tables does not offer D="mass" in space\.'):
                tables.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[0], Variant(bend=bend))
            continue
        variant = Variant(bend=bend)
        asked = zip((tables, code), data, strict=True)
        found, known = (model.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), own, variant)[:-1] for model, own in asked)
        assert found == pytest.approx(known, rel=1e-10, abs=1e-11 * (1.0 + np.abs(known).max())), bend
        assert np.abs(known - plain).max() > 1e-3, bend


def test_runs_with_terms_towards_invariants_agree_with_compiled_code():
    how = {"stabilization": InvariantStabilization(gain=10.0), "integrator": DOP853(), "save_at": 5}
    sol, known = (simulate(four_bar(), 0.3, compile=tier, **how) for tier in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-7 and sol.lam == pytest.approx(known.lam, abs=1e-6)
    assert sol["A"].force == pytest.approx(known["A"].force, abs=1e-6)


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_rows_that_repeat_others_are_not_moved_with_the_whole_state():
    with pytest.raises(IncompatibleMethods, match=r"^rows of the mechanism as tables repeat others, and then it moves positions"):
        simulate(planetary_gear(5.0), 0.1, compile="never", step=1e-3, integrator=RK4(), stabilization=S_full())
