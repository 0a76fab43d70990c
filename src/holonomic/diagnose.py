"""diagnose(): what a system asks of a method, without simulating it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import Assembling, GivenStart, as_code, missed_multipliers, opened, refuse_unknown, relative_tolerance
from .automatic.advice import Advice, advice, kind_of, words_of
from .automatic.indicators import Indicators, indicators_at
from .automatic.reasons import described
from .errors import BadArgument, IncompatibleMethods, InconsistentState, RedundancyWarning, SingularPosition
from .kernels.signatures import Fn
from .model.dae import Dae
from .model.given_numbers import vector
from .model.input_tables import InputTables
from .model.model_base import Variant
from .planning.reuse import traced_model
from .simulate import simulate
from .starting.initial import Start, prepare
from .starting.rank import terms
from .starting.roots import take_root

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGE = 600  # velocities, from which on the operators of tables are asked where there are no matrices of the whole system
POINTS = 60  # of a run at which indicators are drawn


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a system asks of a method at one state; `print` it, or read its fields.

    `recommended` and `discouraged` name methods with the reason and the equation behind it, the best first.
    """

    system: str  # "System", "Ode" or "Dae"
    unknowns: int  # velocities of a System, entries of y, or of x of a Dae
    freedom: int
    index: int
    rows: tuple[str, ...]  # constraint rows by name
    rank: int
    redundant: tuple[str, ...]  # rows whose reactions are not unique, by name
    note: str  # what is wrong with the position, if anything is
    kind: str
    indicators: Indicators
    recommended: tuple[Advice, ...]
    discouraged: tuple[Advice, ...]
    _run: tuple[Any, Any, GivenStart]  # what simulate() is called with

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and words, for JSON."""
        names = ("system", "unknowns", "freedom", "index", "rank", "note", "kind")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found |= {"rows": list(self.rows), "redundant": list(self.redundant), "indicators": self.indicators.as_dict()}
        for part in ("recommended", "discouraged"):
            found[part] = [{"method": a.method, "reason": a.reason, "source": a.source} for a in getattr(self, part)]
        return found

    def along(self, t_end: float | None = None) -> tuple[np.ndarray, list[Indicators]]:
        """Simulate and return times in s, and the indicators there.

        Parameters
        ----------
        t_end : float, optional
            End in seconds; that of the problem, or of `diagnose(..., t_end=)`, if not given.
        """
        what, end, start = self._run
        end = end if t_end is None else t_end
        if end is None:
            raise BadArgument("how far? Pass t_end= to diagnose() or to this call.")
        sol = simulate(what, end, **as_code(what, start._asdict()))
        t0, t1 = sol.span
        there = sol(np.linspace(t0, t1, POINTS))
        longest, forward = abs(t1 - t0), 1.0 if t1 >= t0 else -1.0
        data, plan = sol.trail.data.copy(), sol.plan
        tables, found = sol.trail.inputs, []
        for t, x in zip(there.t, there.trail.arrays[1], strict=True):
            tables.set(data, float(t), forward)
            choice = {"rtol": plan.choice.rtol, "longest": longest, "direction": forward}
            rows = _rows(plan.model, plan.rows, data)
            found.append(indicators_at(plan.model, float(t), x, data, rows, **choice))
        return there.t, found

    def plot(self, t_end: float | None = None, *, style: str = "light") -> Figure:
        """Draw the indicators along a run, rates over time; return the Matplotlib figure."""
        from .view.study_plots import indicators_figure

        return indicators_figure(*self.along(t_end), style=style)

    def __repr__(self) -> str:
        what = "state" if self.system == "Ode" else "degree of freedom"
        many = what if self.freedom == 1 else what.replace("degree", "degrees").replace("state", "states")
        lines = [f"{self.system} with {self.freedom} {many}, index {self.index}: {words_of(self.kind)}"]
        named = ", ".join(self.rows) if len(self.rows) <= 12 else f"{', '.join(self.rows[:11])} and {len(self.rows) - 11} more"
        if self.rows:
            lines.append(f"  constraints       {named}; rank {self.rank} of {len(self.rows)}")
        if self.redundant:
            lines.append(f"  redundant         {', '.join(self.redundant)}: their reactions are not unique")
        if self.note:
            lines.append(f"  position          {self.note}")
        if self.indicators.condition is not None:
            lines.append(f"  conditioning      {self.indicators.condition:.2g}, of the scaled saddle-point matrix")
        for line in described(self.indicators):
            name, _, text = line.partition(": ")
            lines.append(f"  {name:<16}  {text}")
        for title, found in (("recommended", self.recommended), ("discouraged", self.discouraged)):
            for i, each in enumerate(found):
                lines.append(f"  {title if i == 0 else '':<16}  {each}")
        return "\n".join(lines)


def diagnose(
    system,
    t_end: float | tuple[float, float] | None = None,
    *positional,
    q0=None,
    v0=None,
    y0=None,
    s0=None,
    w0=None,
    x0=None,
    dx0=None,
    ddx0=None,
    lam0=None,
    rtol: float | None = None,
    initial: str = "check",
    hold=None,
    **unknown,
) -> Diagnosis:
    """Say what a system asks of a method at a state, without simulating.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        What is looked at; a problem brings its start and end, a mechanism its start.
    t_end : float or (float, float), optional
        End of the run that you plan, or (t0, t_end); bounds the longest step considered. Seconds.
    q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0 : array_like
        The state, as for `simulate`; lam0 is checked, or a guess of a Dae's y.
    rtol : float
        Relative tolerance that you plan, 1e-6.
    initial : {"check", "project", "impact"}
        Check the state, or move it onto the constraints; "impact": its velocity by impulses.
    hold : sequence of str or int, optional
        With initial="project": coordinates that stay where they are, as for `simulate`.
    *positional, **unknown
        Refused, with the name that it has here.

    Returns
    -------
    Diagnosis
        What was found, and the methods that suit it; `print` tells it.

    Raises
    ------
    BadArgument, UnknownArgument, InconsistentState
        As for `simulate`.

    Examples
    --------
    >>> from holonomic import diagnose
    >>> from holonomic.problems import seven_body
    >>> found = diagnose(seven_body())
    >>> found.unknowns, found.rank, found.freedom
    (7, 6, 1)
    """
    if positional or unknown:
        refuse_unknown(diagnose, positional, unknown, system)
    rtol = relative_tolerance(rtol)
    given = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold)
    what, (system, t0, t1, q, v, extras, _) = system, opened("diagnose", system, t_end, given, by_size=True, endless=True)
    model = traced_model(system, q, v, t0, extras, _refusal)
    large = not model.has_terms and model.nv > LARGE and model.system.along_mass is not None
    if not model.has_terms and not large and isinstance(what, Assembling):  # then it is compiled
        given = given._replace(compile="now")
        system, t0, t1, q, v, extras, _ = opened("diagnose", what, t_end, given, endless=True)
        model = traced_model(system, q, v, t0, extras, _refusal)
    if not model.has_terms and not large:
        raise IncompatibleMethods(
            f"diagnose looks at matrices of the whole system, which {model.name} does not offer{model.system.without_terms}. Use "
            "simulate: it says by itself where a run is stiff, or near a singular position."
        )
    if not model.dense and isinstance(what, Assembling):
        given = given._replace(compile="never")
    data = model.data()
    InputTables(model).begin(data, t0, 1.0)
    note = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RedundancyWarning)
            begin = prepare(model, t0, q, v, data, tol=1e-10, initial=initial, hold=hold, redundant="minimum-norm")
    except SingularPosition as problem:
        note, begin = str(problem), Start(q, v)
    x = np.concatenate([begin.q, begin.v])
    if not note:
        _check_multipliers(model, t0, begin, data, lam0, initial)
    longest = abs(t1 - t0)
    found = indicators_at(model, t0, x, data, _rows(model, begin.rows, data), rtol=rtol, longest=longest)
    kind = kind_of(found)
    recommended, discouraged = advice(model, found, kind)
    is_dae = isinstance(system, Dae)
    labels = model.constraint_labels[: found.rows] if is_dae else model.row_labels
    if begin.rows is not None:
        given = given._replace(redundant="minimum-norm")
    end = None if not np.isfinite(longest) else (t0, t1)
    return Diagnosis(
        system="Dae" if is_dae else "Ode" if model.is_ode else "System",
        unknowns=model.nq // model.order if model.is_ode else model.nv,
        freedom=found.freedom,
        index=_index(model, is_dae),
        rows=() if model.is_ode and not is_dae else tuple(labels),
        rank=found.rank,
        redundant=begin.not_unique,
        note=note,
        kind=kind,
        indicators=found,
        recommended=recommended,
        discouraged=discouraged,
        _run=(what, end, given),
    )


def _rows(model, rows, data) -> tuple[int, ...] | None:
    """Independent rows, where some repeat others; runs of tables keep all."""
    known = None if model.dense else model.redundancy_of(data)
    return rows if known is None else known[0]


def _check_multipliers(model, t0: float, begin: Start, data, lam0, initial: str) -> None:
    """Take the solution for y of a Dae that a guess leads to; refuse multipliers that do not follow from the equations."""
    if isinstance(model.system, Dae) and initial != "free":
        take_root(model, t0, begin.q, data, lam0)
    elif lam0 is not None and initial == "free":
        raise BadArgument('lam0 with initial="free" is what a run begins with, and diagnose makes none. Leave it out.')
    elif lam0 is not None:
        x, size = np.concatenate([begin.q, begin.v]), model.nq + model.nv
        given = vector(lam0, "lam0", model.n_lam)
        variant = Variant() if begin.rows is None else Variant(kept=begin.rows)
        lam = model.evaluate(Fn.FIELD, t0, x, np.zeros(0), data, variant)[size : size + model.n_lam]
        G = None if begin.rows is None else terms(model, t0, begin.q, begin.v, data)[2]
        text = missed_multipliers(model.row_labels, lam, given, G)
        if text is not None:
            raise InconsistentState(text)


def _refusal(why: str) -> str:
    """Why a system that is not compiled is not looked at; `why` it cannot be traced, or nothing with trace=False."""
    what = f"plain Python does not have: {why}" if why else "trace=False does not have. Use trace=True."
    return f"diagnose() needs exact derivatives, which {what}"


def _index(model, is_dae: bool) -> int:
    """How often constraints must be differentiated until the equations are an ODE in all unknowns."""
    if is_dae:
        return model.order + 1
    if not model.n_lam:
        return 0
    return 3 if model.n_constraints else 2
