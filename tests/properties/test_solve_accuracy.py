"""Accelerations and multipliers against 50 digits: mass ratios, rank nearly lost, scaling, singular M.

`python tests/properties/test_solve_accuracy.py` prints the table of docs/accuracy.md.
"""

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest

from holonomic import System, problems
from holonomic.errors import NEED_REFINED, NEED_TERMS, OK, SINGULAR
from holonomic.kernels.evaluate import RHO_PLAIN, RHO_REFINED, RHO_WEIGHED
from holonomic.kernels.memory import RUN
from holonomic.kernels.saddle import HETEROGENEOUS, dense_saddle, dense_work, kinematic_scales
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import evaluate_compiled
from holonomic.model.compiled import invoke
from holonomic.model.emit import python_source
from holonomic.model.graphs import tapes
from holonomic.model.model_base import PLAIN
from holonomic.planning.choice import make_choice
from holonomic.planning.plan import Plan
from holonomic.planning.reuse import model_of

EPS = np.finfo(float).eps
NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Case:
    """A system and a state on its constraints."""

    system: System
    q: np.ndarray
    v: np.ndarray


# the cases


def chain(masses, angles, rates, scales=None):
    """Point masses on rods of length 1, gravity 9.81; `scales` multiply the rows."""
    n = len(masses)
    scales = np.ones(n) if scales is None else scales

    def rod(i):
        def g(q, p):
            x, y = q[2 * i] - (q[2 * i - 2] if i else 0), q[2 * i + 1] - (q[2 * i - 1] if i else 0)
            return p.s[i] * (x**2 + y**2 - 1)

        return g

    system = System(
        mass=lambda p: np.diag([p.m[k // 2] for k in range(2 * n)]),
        force=lambda p: np.array([-9.81 * p.m[k // 2] * (k % 2) for k in range(2 * n)]),
        constraint={f"rod {i + 1}": rod(i) for i in range(n)},
        params={"m": masses, "s": scales},
    )
    q = np.cumsum(np.column_stack([np.sin(angles), -np.cos(angles)]), axis=0).ravel()
    v = np.cumsum(np.column_stack([rates * np.cos(angles), rates * np.sin(angles)]), axis=0).ravel()
    return Case(system, q, v)


RATES = np.array([1.2, -0.7, 0.4, 1.9])


def straight_chain(ratio):
    """Light masses between rods in line: their acceleration is what two pulls leave that nearly cancel."""
    return chain([ratio, ratio, ratio, 1.0], np.full(4, 0.4), RATES)


def bent_chain(ratio):
    """The same with rods at angles: the light masses are held in both directions."""
    return chain([ratio, 1.0, ratio, 1.0], np.array([0.3, -0.8, 1.1, 0.2]), RATES)


def four_bars(n, angle):
    """A02 at this angle from its change point, turning at 3 rad/s."""
    psi = np.pi / 2 - angle
    q = np.array([c for i in range(n + 1) for c in (i + np.sin(psi), np.cos(psi))])
    v = np.tile([3 * np.cos(psi), -3 * np.sin(psi)], n + 1)
    return Case(problems.four_bars(n).system, q, v)


def light_rods(ratio, angle):
    """A parallelogram of three bodies, its cranks lighter than the coupler by `ratio`, at this angle from flat."""
    crank, length = 1.0, 1.5

    def place(q, k, along):
        return q[3 * k] + along * np.cos(q[3 * k + 2]), q[3 * k + 1] + along * np.sin(q[3 * k + 2])

    def joint(first, second):
        return lambda q: np.array([a - b for a, b in zip(first(q), second(q), strict=True)])

    system = System(
        mass=lambda p: np.diag([m * part for m in (p.rods, 1.0, 2 * p.rods) for part in (1.0, 1.0, 0.1)]),
        force=lambda p: np.array([-9.81 * m * part for m in (p.rods, 1.0, 2 * p.rods) for part in (0.0, 1.0, 0.0)]),
        constraint={
            "O": joint(lambda q: place(q, 0, -crank / 2), lambda q: (0.0, 0.0)),
            "A": joint(lambda q: place(q, 0, crank / 2), lambda q: place(q, 1, -length / 2)),
            "B": joint(lambda q: place(q, 2, crank / 2), lambda q: place(q, 1, length / 2)),
            "C": joint(lambda q: place(q, 2, -crank / 2), lambda q: (length, 0.0)),
        },
        params={"rods": ratio},
    )
    c, s, rate = np.cos(angle), np.sin(angle), 3.0
    q = np.array([c / 2, s / 2, angle, c + length / 2, s, 0.0, length + c / 2, s / 2, angle])
    v = rate * np.array([-s / 2, c / 2, 1.0, -s, c, 0.0, -s / 2, c / 2, 1.0])
    return Case(system, q, v)


def parallel_rows(angle):
    """Two rows that differ by `angle`."""
    first = lambda q: q[0] ** 2 + 0.3 * q[1] * q[2] + 0.7 * q[1] - 1
    system = System(
        mass=np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]]),
        force=[1.3, -0.7, 0.4],
        constraint={"first": first, "second": lambda q, p: first(q) + p.angle * (q[2] + 0.5 * q[1] ** 2)},
        params={"angle": angle},
    )
    return Case(system, np.array([0.8, 0.4, 0.3]), np.array([0.5, -0.2, 0.7]))


def scaled_rows(scale):
    """Rows in units a million million times apart."""
    scales = [1 / scale, scale, 1 / scale, scale]
    return chain([1.0, 2.0, 0.5, 1.5], np.array([0.3, -0.8, 1.1, 0.2]), RATES, scales)


def nearly_singular_mass(lack):
    """M nearly singular, but only in a direction that the constraint holds."""
    system = System(
        mass=lambda p: np.array([[1, 1 - p.lack, 0], [1 - p.lack, 1, 0], [0, 0, 2.5]]),
        force=[0.7, -1.1, 0.3],
        constraint={"tie": lambda q: q[0] - q[1] + 0.4 * q[2] ** 2 - 0.1},
        params={"lack": lack},
    )
    return Case(system, np.array([0.1, 0.1, 0.5]), np.array([0.3, 0.1, -0.5]))


def massless_coordinate(mass):
    """A coordinate without inertia (0) or with a negative one, tied to the others by a constraint."""
    system = System(
        mass=lambda p: np.diag([1, 1, p.third]),
        force=[0.3, -9.81, 0.1],
        constraint={"rod": lambda q: q[0] ** 2 + q[1] ** 2 - 1, "tie": lambda q: q[2] - q[0] * q[1]},
        params={"third": mass},
    )
    return Case(system, np.array([0.6, -0.8, -0.48]), np.array([0.8, 0.6, -0.28]))


# the three solves, and the truth


class Measured:
    """What the plain, the refined and the dense solve give at one state, and their errors."""

    def __init__(self, case: Case):
        self.model = model = model_of(case.system, case.q, case.v, 0.0)
        self.x = np.concatenate([case.q, case.v])
        self.data = model.data()
        self.plain, self.refined = self._compiled(Fn.FIELD), self._compiled(Fn.REFINED)
        self.dense, self.dense_status = self._dense()
        self.rho = self.plain[-1]
        self._solve_exactly()

    def _compiled(self, fn):
        fns, lengths = self.model.table((fn,))
        out = np.empty(lengths[fn])
        invoke(fns, int(fn), 0.0, self.x, NOTHING, self.data, out)
        return out

    def _dense(self):
        model = self.model
        nq, nv, nl = model.nq, model.nv, model.n_lam
        flat = self._compiled(Fn.TERMS)
        W = np.zeros(dense_work(nq, nv, nl))
        W[: len(flat)] = flat
        row = np.full(nq + nv + nl + 1, np.nan)
        at_G = nq + nv * nv + nv
        return row, dense_saddle(W, nq, nv, nl, nv + nl, len(flat), at_G, at_G + nl * nv, row)

    def _solve_exactly(self):
        """M, f, G, γ from the traced graph in 50 digits, then v' and λ; the state is taken as exact."""
        model = self.model
        nq, nv, nl = model.nq, model.nv, model.n_lam
        with mpmath.workdps(50):
            tape = tapes(derived(model), (Fn.TERMS,))[Fn.TERMS]
            space = {"math": mpmath}
            exec(python_source(tape, "terms"), space)
            flat = [mpmath.mpf(0)] * len(tape.outputs)
            exactly = lambda values: [mpmath.mpf(float(value)) for value in values]
            space["terms"](mpmath.mpf(0), exactly(self.x), [], exactly(self.data), flat)
            M = np.array(flat[nq : nq + nv * nv]).reshape(nv, nv)
            f = flat[nq + nv * nv : nq + nv * nv + nv]
            at = nq + nv * nv + nv
            G = np.array(flat[at : at + nl * nv]).reshape(nl, nv)
            matrix = np.block([[M, G.T], [G, np.full((nl, nl), mpmath.mpf(0))]])
            right = [*f, *(-gamma for gamma in flat[at + nl * nv :])]
            solution = mpmath.lu_solve(mpmath.matrix(matrix.tolist()), mpmath.matrix(right))
            self.a, self.lam = solution[:nv], solution[nv:]
            self.weights = [mpmath.norm(row.tolist()) for row in G]  # λ counts as the force it exerts
            self.kappa = scaled_condition(matrix, nv)

    def error(self, row) -> float:
        """The larger of the relative errors of v' and of the forces ‖G_i‖ λ_i, in the largest norm."""
        nq, nv = self.model.nq, self.model.nv
        if not np.all(np.isfinite(row)):
            return np.inf
        with mpmath.workdps(50):
            a = [mpmath.mpf(float(x)) for x in row[nq : nq + nv]]
            lam = [mpmath.mpf(float(x)) for x in row[nq + nv : -1]]
            wrong_a = max(abs(x - y) for x, y in zip(a, self.a, strict=True)) / max(map(abs, self.a))
            forces = [w * abs(y) for w, y in zip(self.weights, self.lam, strict=True)]
            gaps = [w * abs(x - y) for w, x, y in zip(self.weights, lam, self.lam, strict=True)]
            return float(max(wrong_a, max(gaps) / max(forces)))

    def used(self):
        """What the step loop computes at this state, its status, and which solve it came from."""
        plan = plan_of(self.model)
        K, W = np.zeros((1, plan.size.nrow)), np.zeros(plan.size.work_end + 8)
        while True:
            status = evaluate_compiled(plan.for_kernels(self.data), RUN.new(), 0.0, self.x, K, 0, W)
            if status not in (NEED_REFINED, NEED_TERMS):
                break
            plan.add_function(Fn.REFINED if status == NEED_REFINED else Fn.TERMS)
        rows = {"plain": self.plain, "refined": self.refined, "dense": self.dense}
        which = next((name for name, row in rows.items() if np.array_equal(row, K[0])), None)
        return K[0], status, which

    @property
    def uneven(self) -> bool:
        """Whether masses differ so much that the pivot ratio does not tell what is lost."""
        nq, nv = self.model.nq, self.model.nv
        flat = self._compiled(Fn.TERMS)
        nl = self.model.n_lam
        return kinematic_scales(flat, nq, nq + nv * nv + nv, nv, nl, np.zeros(nv + nl)) > HETEROGENEOUS


def plan_of(model):
    """A plan as `simulate` makes it, without its checks of the start: here rank is nearly lost on purpose."""
    choice = make_choice(model, "auto", "auto", None, None, 1e-6, 1e-9, 1e-10)
    return Plan(model, choice, None)


def derived(model):
    found = model._derived(PLAIN)
    return found[0] if isinstance(found, tuple) else found


def scaled_condition(matrix, nv) -> float:
    """Condition number of [M Gᵀ; G 0] in the largest norm, M and the rows of G scaled to the size of 1."""
    scale = [1 / mpmath.sqrt(matrix[i, i]) if matrix[i, i] > 0 else mpmath.mpf(1) for i in range(nv)]
    for row in matrix[nv:]:
        scale.append(1 / max(abs(x) * s for x, s in zip(row[:nv], scale, strict=False)))
    scaled = mpmath.matrix((matrix * np.outer(scale, scale)).tolist())
    return float(mpmath.mnorm(scaled, mpmath.inf) * mpmath.mnorm(scaled**-1, mpmath.inf))


CASES = {
    **{f"mass ratio 1e-{k}, rods in line": lambda k=k: straight_chain(10.0**-k) for k in range(0, 11, 2)},
    **{f"mass ratio 1e-{k}, rods at angles": lambda k=k: bent_chain(10.0**-k) for k in range(0, 11, 5)},
    **{f"four bars, n = 1, 1e-{k} from flat": lambda k=k: four_bars(1, 10.0**-k) for k in range(2, 8)},
    **{f"four bars, n = 2, 1e-{k} from flat": lambda k=k: four_bars(2, 10.0**-k) for k in range(2, 8)},
    **{
        f"rods 1e-{m} of the coupler, 1e-{k} from flat": lambda m=m, k=k: light_rods(10.0**-m, 10.0**-k)
        for m in (2, 6, 10)
        for k in range(1, 4)
    },
    **{f"rows 1e-{k} from parallel": lambda k=k: parallel_rows(10.0**-k) for k in range(2, 9)},
    **{f"rows scaled by 1e±{k}": lambda k=k: scaled_rows(10.0**k) for k in range(0, 7, 3)},
    **{f"M singular to 1e-{k}": lambda k=k: nearly_singular_mass(10.0**-k) for k in (2, 6, 10, 14)},
    "massless coordinate": lambda: massless_coordinate(0.0),
    "coordinate of negative mass": lambda: massless_coordinate(-0.3),
}


@pytest.fixture(scope="module")
def measured():
    """All cases, each measured once."""
    return {name: Measured(make()) for name, make in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_solve_that_is_used_loses_no_more_than_the_condition_of_the_equations(measured, name):
    """ε κ is what rounding M, f, G, γ can cost any solve; the plain one may also lose ε/ρ."""
    m = measured[name]
    row, status, which = m.used()
    if status == SINGULAR:
        assert m.kappa > 1e14
        return
    assert status == OK
    allowed = max(m.kappa, 1 / m.rho) if which == "plain" else m.kappa
    assert m.error(row) <= 10 * EPS * allowed


@pytest.mark.parametrize("name", [name for name in CASES if name != "massless coordinate"])
def test_the_plain_solve_loses_no_more_than_its_pivot_ratio_says(measured, name):
    """What makes ρ worth returning: the loss is at most some ε/ρ, whatever it comes from."""
    m = measured[name]
    if m.rho > 1e-12:  # below, ρ itself is made of rounding
        assert m.error(m.plain) <= 10 * EPS / m.rho


@pytest.mark.parametrize("name", CASES)
def test_the_pivot_ratio_decides_which_solve_is_used(measured, name):
    m = measured[name]
    _, status, which = m.used()
    finite = np.all(np.isfinite(m.plain))
    if finite and m.rho > (RHO_WEIGHED if m.uneven else RHO_PLAIN):
        assert which == "plain"
    elif finite and m.rho > RHO_REFINED and not m.uneven:
        assert which == "refined"
    else:
        assert status == m.dense_status and (status != OK or which == "dense")


@pytest.mark.parametrize("name", CASES)
def test_above_its_threshold_each_solve_is_as_good_as_a_run_needs(measured, name):
    """The plain one to 1e-11, as rtol goes to 1e-10; the refined one like dense LU, or like ε κ / 10."""
    m = measured[name]
    if np.all(np.isfinite(m.plain)) and m.rho > (RHO_WEIGHED if m.uneven else RHO_PLAIN):
        assert m.error(m.plain) <= 1e-11
    elif np.all(np.isfinite(m.plain)) and m.rho > RHO_REFINED and not m.uneven:
        assert m.error(m.refined) <= max(10 * m.error(m.dense), 0.1 * EPS * m.kappa)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("rods 1e-")])
def test_light_rods_on_a_heavy_coupler_cost_no_accuracy(measured, name):
    """ε over the distance from flat, which is what rounding of the state costs, times 100."""
    m = measured[name]
    row, status, _ = m.used()
    assert status == OK and m.error(row) <= 100 * EPS * 10.0 ** int(name.split(", 1e-")[1][0])


def test_scaling_the_rows_changes_neither_pivot_ratio_nor_accuracy(measured):
    found = [measured[f"rows scaled by 1e±{k}"] for k in (0, 3, 6)]
    assert [m.rho for m in found] == pytest.approx([found[0].rho] * 3, rel=1e-12)
    assert all(m.error(m.plain) <= 20 * EPS for m in found)


def test_mass_that_is_definite_on_the_tangent_space_only_costs_no_accuracy(measured):
    for name in ("M singular to 1e-6", "M singular to 1e-10", "M singular to 1e-14", "massless coordinate"):
        row, status, _ = measured[name].used()
        assert status == OK and measured[name].error(row) <= 10 * EPS


if __name__ == "__main__":
    print("| case | ρ | κ | plain | refined | dense | used |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, make in CASES.items():
        m = Measured(make())
        _, status, which = m.used()
        errors = [m.error(row) for row in (m.plain, m.refined)]
        errors.append(m.error(m.dense) if m.dense_status == OK else np.nan)
        cells = ["no number" if e == np.inf else "refused" if np.isnan(e) else f"{e:.1e}" for e in errors]
        used = which if status == OK else "refused"
        print(f"| {name} | {m.rho:.1e} | {m.kappa:.1e} | {' | '.join(cells)} | {used} |")
