"""Which solution a Dae's y has at the start, where f contains y: the one taken, others near it, the one a guess leads to.

y is solved for at every point by Newton's method from y without its share in f, shifted by an amount that is chosen here
and kept in data. A branch of solutions is not left unnoticed on the way: between two neighbouring ones the determinant of
the equations has another sign, which ends the run.
"""

from __future__ import annotations

import numpy as np

from ..errors import InconsistentState, OtherSolutionWarning
from ..kernels.signatures import Fn
from ..model.given_numbers import vector
from ..model.refusals import warn

STEPS = 40
SOLVED = 1e-9  # last step of Newton's method, beside 1 + |y|
APART = 1e-5  # of two solutions, beside 1 + |y|
NEAR = 10.0  # how far away another one is looked for, in 1 + |y|
REACHES = (0.3, 1.0, 3.0)  # of 1 + |y|: where Newton's method starts to look for others
DIRECTIONS = 6  # at random, beside the axes


def take_root(model, t: float, x: np.ndarray, data: np.ndarray, lam0=None) -> str:
    """Choose the solution for y of a Dae by a guess, or warn of others near the one taken; return what the report says of it."""
    if not model.lam_in_force:
        if lam0 is not None:
            _check(vector(lam0, "lam0", model.n_constraints // model.order), _usual(model, t, x, data), t)
        return ""
    data[model.data_places["root"]] = 0.0  # chosen anew, whatever was chosen with these data before
    equation = model.equation_of_y(t, x, data)
    y = _usual(model, t, x, data)
    found = _newton(equation, y) if np.all(np.isfinite(y)) else None
    is_solved = found is not None and not _apart(found, y)
    if lam0 is None:
        others = _others(equation, y if is_solved else equation(np.zeros(len(y)))[2])
        if not is_solved:
            if others:
                raise InconsistentState(
                    f"the equations for y are not solved from where they are looked into first at t = {t:.6g}, but y = "
                    f"{_text(others[0])} solves them. Pass lam0={_text(others[0])}."
                )
            return ""
        _note(model, equation, y, data, shifted=False)
        if others:
            warn(
                f"at t = {t:.6g} the equations for y have another solution near the one that is taken, y = {_text(y)}: y = "
                f"{_text(others[0])}. Pass lam0={_text(y)} to take the first, lam0={_text(others[0])} for the other.",
                OtherSolutionWarning,
            )
        beside = f"; another one is {_text(others[0])}" if others else ""
        return f"y = {_text(y)} at the start{beside}"
    guess = vector(lam0, "lam0", len(y))
    found = _newton(equation, guess)
    if found is None:
        raise InconsistentState(
            f"lam0={_text(guess)} leads to no solution of the equations for y at t = {t:.6g}: Newton's iteration from there "
            f"does not converge. {f'One solution is y = {_text(y)}.' if is_solved else 'Give another lam0.'}"
        )
    _note(model, equation, found, data, shifted=not is_solved or _apart(found, y))
    return f"y = {_text(found)} at the start, by lam0"


def _note(model, equation, y: np.ndarray, data: np.ndarray, shifted: bool) -> None:
    """Write into data what leads to this solution: where Newton's method begins, and the sign of its determinant."""
    _, J, begin, plain = equation(y)
    turned = float(np.linalg.det(J) * np.linalg.det(plain) < 0.0)
    data[model.data_places["root"]] = [*((y - begin) if shifted else np.zeros(len(y))), turned]


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.max(np.abs(one - other)) > APART * (1.0 + np.max(np.abs(other))))


def _usual(model, t, x, data) -> np.ndarray:
    """y as it is found without a guess."""
    return model.evaluate(Fn.MULTIPLIERS, t, x, np.zeros(0), data)


def _check(given: np.ndarray, y: np.ndarray, t: float) -> None:
    if np.max(np.abs(given - y), initial=0.0) > 1e-6 * (1.0 + np.max(np.abs(y), initial=0.0)):
        raise InconsistentState(f"lam0={_text(given)}, but at t = {t:.6g} y is {_text(y)}. Leave lam0 out; it is computed.")


def _newton(equation, y: np.ndarray) -> np.ndarray | None:
    """The solution that Newton's method comes to from y, steps no longer than the reach; None where it comes to none."""
    for _ in range(STEPS):
        r, J = equation(y)[:2]
        try:
            move = np.linalg.solve(J, r)
        except np.linalg.LinAlgError:
            return None
        size = np.max(np.abs(move))
        if not np.isfinite(size):
            return None
        y = y - move * min(1.0, (1.0 + np.max(np.abs(y))) / max(size, 1e-300))
        if size <= SOLVED * (1.0 + np.max(np.abs(y))):
            return y
    return None


def _others(equation, y: np.ndarray) -> list[np.ndarray]:
    """Other solutions near y, the nearest first."""
    random = np.random.default_rng(11)
    ways = [*np.eye(len(y)), *-np.eye(len(y)), *random.uniform(-1.0, 1.0, (DIRECTIONS, len(y)))]
    size, found = 1.0 + np.max(np.abs(y)), []
    for reach in REACHES:
        for way in ways:
            other = _newton(equation, y + reach * size * way)
            if other is None or np.max(np.abs(other - y)) > NEAR * size:
                continue
            if all(_apart(other, known) for known in (y, *found)):
                found.append(other)
    return sorted(found, key=lambda other: float(np.linalg.norm(other - y)))


def _text(y: np.ndarray) -> str:
    return f"[{', '.join(f'{value:.6g}' for value in y)}]"
