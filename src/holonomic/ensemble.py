"""sweep(): many runs of one system over parameters and starts, and Ensemble, the record of them."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .errors import DONE, NEED_REFINED, NEED_TERMS, BadArgument, HolonomicError
from .failure import reason
from .initial import prepare
from .inputs import InputTables
from .kernels import state as s
from .kernels.batch import run_members
from .kernels.signatures import NX, Fn
from .model.system import Ode, System
from .naming import is_dae
from .plan import Plan
from .progress import Progress
from .running import Run, Workspace
from .simulate import _limits, choose, interval, model_of, plan_of, save_times, start_values
from .solution import Solution

BLOCK = 64  # members a thread takes at once


@dataclass(frozen=True)
class Failure:
    """One member that did not reach the end."""

    member: int
    t: float
    why: str


class Ensemble:
    """What many runs computed: arrays with the member as first axis, time as second."""

    def __init__(self, plan: Plan, t, x, k, data, status, reached, steps, params, failed):
        self.plan, self.t = plan, t
        self._x, self._k, self._data = x, k, data
        self._status, self.reached, self.steps = status, reached, steps
        self.params: dict[str, np.ndarray] = params
        self.failed: list[Failure] = failed

    def __len__(self) -> int:
        return len(self._x)

    @property
    def ok(self) -> np.ndarray:
        """Which members reached the end."""
        good = np.ones(len(self), dtype=bool)
        good[[failure.member for failure in self.failed]] = False
        return good

    @property
    def q(self) -> np.ndarray:
        """Positions, (member, time, coordinate); NaN where a member had stopped."""
        return self._x[:, :, : self.plan.model.nq]

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, (member, time, component); algebraic unknowns of a Dae, (member, time, row)."""
        return self.lam if is_dae(self.plan.model) else self.q

    @property
    def v(self) -> np.ndarray:
        """Velocities, (member, time, coordinate)."""
        nq, nv = self.plan.model.nq, self.plan.model.nv
        return self._x[:, :, nq : nq + nv]

    @property
    def a(self) -> np.ndarray:
        """Accelerations."""
        return self._k[:, :, : self.plan.model.nv]

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers (y of a Dae), (member, time, row)."""
        if len(self.plan.blocks) == 2 and not self.plan.model.is_ode:
            return self._k[:, :, self.plan.model.nv :]
        return np.array([self._member(m)._multipliers for m in range(len(self))])

    def _member(self, m: int) -> Solution:
        """One run, at the saved times."""
        x, k = self._x[m], self._k[m]
        return Solution._of(
            plan=self.plan, ended="end", _data=self._data[m], _arrays=(self.t, x, k), _events=(), _begin=None,
            _first=(float(self.t[0]), x[0]), _final=(float(self.t[-1]), x[-1], k[-1]), _steps_kept=False,
        )  # fmt: skip

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """All named outputs, (member, time, ...)."""
        found = [self._member(m)._outputs for m in range(len(self))]
        return {name: np.array([each[name] for each in found]) for name in self.plan.model.output_shapes}

    def __getitem__(self, name: str) -> np.ndarray:
        resolver = getattr(self.plan.model.system, "resolver", None)
        if resolver is not None and name in resolver:  # bodies, joints and forces of a mechanism
            return resolver.view_members(self, name)
        if name in self.plan.model.coordinates:
            return self.q[:, :, self.plan.model.coordinates.index(name)]
        if name in self.plan.model.output_shapes:
            return self.outputs[name]
        if name in self.params:
            return self.params[name]
        known = [*self.plan.model.coordinates, *self.plan.model.output_shapes, *self.params]
        raise BadArgument(f"there is no {name!r} in this ensemble; there is: {', '.join(known)}.")

    def mean(self, name: str) -> np.ndarray:
        """Mean over the members that reached the end, (time, ...)."""
        return np.nanmean(self[name][self.ok], axis=0)

    def quantiles(self, name: str, q=(0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles over the members that reached the end, (quantile, time, ...)."""
        return np.nanquantile(self[name][self.ok], q, axis=0)

    def extremes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest over the members that reached the end, (time, ...) each."""
        values = self[name][self.ok]
        return np.nanmin(values, axis=0), np.nanmax(values, axis=0)

    def to_xarray(self):
        """Return a Dataset with dimensions member, time and coordinate."""
        try:
            import xarray
        except ImportError:
            raise HolonomicError('to_xarray needs xarray: pip install "holonomic[xarray]".') from None
        model = self.plan.model
        variables: dict[str, Any] = {"q": (("member", "time", "coordinate"), self.q)}
        if model.nv:
            last = "coordinate" if model.nv == model.nq else "rate"
            variables["v"] = (("member", "time", last), self.v)
        for name, values in self.outputs.items():
            more = tuple(f"{name}_{i}" for i in range(values.ndim - 2))
            variables[name] = (("member", "time", *more), values)
        for name, values in self.params.items():
            variables[f"param_{name}"] = (("member", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
        return xarray.Dataset(variables, coords={"time": self.t, "coordinate": list(model.coordinates)})

    def __repr__(self) -> str:
        lines = [
            f"Ensemble of {len(self)} runs, t = {self.t[0]:g} .. {self.t[-1]:g}, {len(self.t)} times saved",
            f"  {self.plan!r}",
            f"  over: {', '.join(self.params) or 'initial values'}",
            f"  {int(np.sum(self.steps))} steps; {len(self.failed)} failed",
        ]
        lines += [f"    member {f.member} at t = {f.t:.6g}: {f.why}" for f in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"    ... and {len(self.failed) - 5} more")
        return "\n".join(lines)


def grid(**axes) -> dict[str, np.ndarray]:
    """Return all combinations of the given values, as arrays of equal length for `sweep`."""
    columns = zip(*itertools.product(*(np.asarray(values) for values in axes.values())), strict=True)
    return {name: np.array(column) for name, column in zip(axes, columns, strict=True)}


def sample(n: int, method: str = "sobol", seed: int = 0, **ranges) -> dict[str, np.ndarray]:
    """Draw n points of a space-filling design, each parameter between its two bounds.

    Parameters
    ----------
    n : int
        Number of members.
    method : {"sobol", "latin-hypercube"}
        Design, from `scipy.stats.qmc`.
    seed : int
        The same seed draws the same points.
    **ranges : (low, high)
        Bounds by name.
    """
    from scipy.stats import qmc

    makers = {"sobol": qmc.Sobol, "latin-hypercube": qmc.LatinHypercube}
    if method not in makers:
        raise BadArgument(f"method={method!r}: choose {', '.join(map(repr, makers))}.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The balance properties")  # of Sobol points, for n not a power of 2
        points = makers[method](d=len(ranges), rng=np.random.default_rng(seed)).random(n)
    return {name: low + (high - low) * points[:, i] for i, (name, (low, high)) in enumerate(ranges.items())}


def sweep(
    system,
    t_end,
    *,
    q0=None,
    v0=None,
    y0=None,
    params: Mapping[str, Any] | None = None,
    save_at=2,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    rtol: float | None = None,
    atol=None,
    step: float | None = None,
    constraint_tol: float | None = None,
    initial: str = "check",
    hold=None,
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    on: str = "threads",
    workers: int | None = None,
    progress: bool | None = None,
) -> Ensemble:
    """Run one system many times, over parameters and initial values.

    Parameters
    ----------
    system : System, Ode or Mechanism
        Compiled once; all members share it.
    t_end : float or (float, float)
        As for `simulate`.
    q0, v0, y0 : array_like
        One start for all members, or (member, entry) arrays.
    params : dict
        Parameters of the system by name, one value (or array) per member, all of one length; `grid` and `sample`
        make such dicts.
    save_at : int or array_like
        Times to keep; 2 keeps start and end.
    initial : {"check", "project"}
        Members whose start misses the constraints are refused, or moved onto them (`hold=` as for `simulate`).
    on : {"threads"}
        Where to run; threads on this machine, without Python's lock.
    workers : int, optional
        Number of threads; all cores if not given.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, max_steps, max_step, progress
        As for `simulate`.

    Returns
    -------
    Ensemble
        A member that fails never disturbs the others: see `runs.failed` (which, when, why).
    """
    if on != "threads":
        raise BadArgument(f'on={on!r}: sweeps run on "threads".')
    if hasattr(system, "to_system"):  # a Mechanism, from where it was assembled
        system, q, v = system.to_system()
        initial = "project" if q0 is None else initial  # other lengths: the same drawing, other speeds
        q0, v0 = q if q0 is None else q0, v if q0 is None and v0 is None else v0
    if not isinstance(system, System | Ode):
        raise BadArgument(f"sweep needs a System, an Ode or a Mechanism, got {type(system).__name__}.")
    changed = {name: np.asarray(values, dtype=float) for name, values in (params or {}).items()}
    members = _count(system, changed, {"q0": q0, "v0": v0, "y0": y0})
    began, q, v = start_values(system, _first(q0), _first(v0), _first(y0), t_end)
    t0, t1 = interval(began, t_end)
    model = model_of(system, q, v, t0)
    if model.interpreted:
        raise BadArgument("sweep needs a compiled system: trace=False runs one at a time, with simulate.")
    choice = choose(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol)
    X0 = _starts(members, (q, q0 if y0 is None else y0), (v, v0))
    plan = plan_of(model, choice, {}, None)
    if plan.integrator.starting_points:
        raise BadArgument(f"sweep does not start {choice.integrator!r}. Use BDF(), or a one-step method.")
    DATA = _data(model, plan, changed, members, t0, t1)
    failed = _consistent(model, X0, DATA, t0, choice.constraint_tol, initial, hold)
    save_t = save_times(save_at, t0, t1)
    if save_t is None:
        raise BadArgument("sweep keeps the same times of all members: give save_at, a number of times or times.")
    template = Run(plan, DATA[0], t0, X0[0], t1, save_t=save_t, **_limits(max_steps, max_step, None))
    unable = {f.member for f in failed}
    x, k, status, reached, steps = _run(plan, template, DATA, X0, save_t, unable, workers, progress)
    template.release()
    failed += [
        Failure(m, float(reached[m]), reason(int(status[m]), plan))
        for m in range(members)
        if status[m] != DONE and m not in unable
    ]
    return Ensemble(plan, save_t, x, k, DATA, status, reached, steps, changed, sorted(failed, key=lambda f: f.member))


def _run(plan, template, DATA, X0, save_t, skip, workers, progress):
    members, nx = len(DATA), int(plan.sizes[NX])
    nk = template.rec[2].shape[1]
    x = np.full((members, len(save_t), nx), np.nan)
    k = np.full((members, len(save_t), nk), np.nan)
    status, reached = np.zeros(members, dtype=np.int64), np.full(members, np.nan)
    steps, saved = np.zeros(members, dtype=np.int64), np.zeros(members, dtype=np.int64)
    order = max(plan.integrator.error_order, plan.choice.integrator.order - 1)
    S0, I0 = template.S.copy(), template.I.copy()
    X0, at_lam = _with_multipliers(plan, DATA, X0, float(S0[s.T]))

    def block(first: int, last: int) -> int:
        work = Workspace(plan)
        rec_t = np.empty(len(save_t))
        run_members(
            first, last, plan.slots, plan.fns, plan.sizes, plan.integrator.ip, plan.integrator.fp,
            plan.stabilization.sp, DATA, X0, at_lam, S0, I0, order, np.empty(DATA.shape[1]),
            np.empty(s.N_FLOATS), np.empty(s.N_INTS, dtype=np.int64),
            work.x, work.xn, work.xs, work.K, work.E, work.W, work.atol, work.turns, rec_t, save_t, *work.ev,
            *work.found, work.xe, work.ke, *work.rec_ev, x, k, status, reached, steps, saved,
        )  # fmt: skip
        return last - first

    todo = [m for m in range(members) if m not in skip]
    pieces = _pieces(todo)
    bar = Progress(0.0, float(max(1, members)), progress)
    count = workers or os.cpu_count() or 1
    while pieces:
        done = 0
        with ThreadPoolExecutor(count) as pool:
            try:
                for future in as_completed([pool.submit(block, first, last) for first, last in pieces]):
                    done += future.result()
                    bar.tell(float(done))
            except BaseException:  # Ctrl-C: those that run are waited for, the others are not begun
                pool.shutdown(cancel_futures=True)
                bar.close()
                raise
        missing = {NEED_REFINED: Fn.REFINED, NEED_TERMS: Fn.TERMS}
        wanted = [code for code in missing if np.any(status == code)]
        again = np.flatnonzero(np.isin(status, wanted)).tolist()
        for code in wanted:
            plan.add_function(missing[code])
        pieces = _pieces(again)
    bar.close()
    return x, k, status, reached, steps


def _pieces(members: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive members, cut into blocks."""
    pieces = []
    for _, group in itertools.groupby(enumerate(members), lambda pair: pair[1] - pair[0]):
        run = [m for _, m in group]
        pieces += [(run[i], min(run[-1] + 1, run[i] + BLOCK)) for i in range(0, len(run), BLOCK)]
    return pieces


def _count(system, params, starts) -> int:
    """Return the number of members; all arrays must agree on it."""
    lengths = {}
    for name, values in params.items():
        own = (system.params or {}).get(name)
        if own is None:
            known = ", ".join(system.params or {}) or "none"
            raise BadArgument(f"params={{{name!r}: ...}}: the system has no such parameter; known: {known}.")
        if values.ndim != np.ndim(own) + 1 or values.shape[1:] != np.shape(own):
            raise BadArgument(f"params[{name!r}] has shape {values.shape}; expected (members, *{np.shape(own)}).")
        lengths[name] = len(values)
    for name, values in starts.items():
        if values is not None and np.ndim(values) == 2:
            lengths[name] = len(values)
    if not lengths:
        raise BadArgument("nothing to sweep over: give params={name: values} or a (member, entry) array of starts.")
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadArgument(
            f"all arrays run along the members and must have equal length, got {text}. For products use grid()."
        )
    members = next(iter(lengths.values()))
    if not members:
        raise BadArgument(f"there is nothing to run: {next(iter(lengths))!r} has no members.")
    return members


def _first(values):
    return values if values is None or np.ndim(values) < 2 else np.asarray(values)[0]


def _starts(members: int, *parts) -> np.ndarray:
    """Return (member, entry): each part is the first member's vector, and what was given, for one or for all."""
    rows = [
        np.broadcast_to(np.asarray(given, dtype=float) if np.ndim(given) == 2 else first, (members, len(first)))
        for first, given in parts
    ]
    return np.ascontiguousarray(np.hstack(rows))


def _with_multipliers(plan: Plan, DATA, X0, t0: float) -> tuple[np.ndarray, int]:
    """Return starts with room for what a formulation adds, and where λ is to be entered from the field; -1: nowhere."""
    model, at = plan.model, X0.shape[1]
    X = np.zeros((len(X0), int(plan.sizes[NX])))
    X[:, :at] = X0
    for block in plan.blocks[2:]:
        if block.name == "lam" and not model.is_ode:
            return X, at
        if block.name == "lam" and block.size:  # of a Dae
            for m in range(len(X)):
                X[m, at : at + block.size] = model.evaluate(Fn.MULTIPLIERS, t0, X0[m], np.zeros(0), DATA[m])
        at += block.size
    return X, -1


def _data(model, plan, changed, members, t0, t1) -> np.ndarray:
    data = model.data()
    direction = 1.0 if t1 >= t0 else -1.0
    plan.enter_gains(data, direction)
    tables = InputTables(model)
    if len(tables.breaks):
        raise BadArgument("sweep cannot follow inputs given as tables; give them as functions of t.")
    tables.set(data, t0, direction)
    data = plan.extended(data)
    DATA = np.tile(data, (members, 1))
    for name, values in changed.items():
        where, _ = model.places[name]
        DATA[:, where] = values.reshape(members, -1)
    return DATA


def _consistent(model, X0, DATA, t0, tol, initial, hold) -> list[Failure]:
    """Check or project the start of every member; return those that cannot start."""
    failed = []
    for m in range(len(X0)):
        try:
            begin = prepare(
                model, t0, X0[m, : model.nq].copy(), X0[m, model.nq :].copy(), DATA[m], tol=tol, initial=initial,
                hold=hold, redundant=None,
            )  # fmt: skip
        except HolonomicError as problem:
            failed.append(Failure(m, t0, str(problem)))
            continue
        X0[m] = np.concatenate([begin.q, begin.v])
        if model.n_invariants:
            places = model.data_places["invariants"]
            DATA[m, places] = 0.0
            r = model.evaluate(Fn.RESIDUAL, t0, X0[m], np.zeros(0), DATA[m])
            DATA[m, places] = r[model.n_constraints : model.n_constraints + model.n_invariants]
    return failed

