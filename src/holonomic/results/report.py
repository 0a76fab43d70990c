"""What a solution says of itself, in a terminal and in a notebook, and the references behind what ran."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..model.statement import rows_in_short
from ..planning.words import methods
from ..starting.rank import FEW
from .naming import is_dae, order_of
from .provenance import by_size, tolerances, versions
from .story import changes
from .switching import told
from .trail import remembered

Lines = list[tuple[str, str]]
ENDS_ALONE = (
    'beginning and end alone, as this has more than 10 000 coordinates; save_at= and keep=["tip", ...] ask for more, keep="all" '
    "for every step"
)


@remembered("facts")
def facts(sol) -> dict[str, Any]:
    """Return what ran, in numbers and words that can be saved with the arrays."""
    plan, begin = sol.plan, sol.trail.begin
    return {
        "plan": repr(plan),
        "summary": "\n".join([*methods(plan, sol.trail.earlier), *changes(sol)]),
        "tolerances": tolerances(plan),
        "pulls": plan.choice.stabilization.acts == "step" and plan.model.n_lam + plan.n_position > 0,
        "versions": {name: versions()[name] for name in ("holonomic", "llvmlite", "numpy")},
        "references": list(keys_of_run(sol)),
        "moved": [begin.moved_q, begin.moved_v, begin.moved_w],
        "impact": begin.impact is not None,
        "redundant": begin.redundant,
        "root": begin.root,
        "not_unique": list(begin.not_unique),
    }


def heading(sol) -> str:
    """Say over which time the run went and how it ended."""
    t0, t1 = sol.span
    ended = {
        "end": "reached its end",
        "interrupted": "interrupted, kept so far",
        "failed": "stopped by a failure, kept so far",
    }.get(sol.ended, f"ended by event {sol.ended!r}")
    return f"Solution from t = {t0:.6g} to {t1:.6g} s, {ended}"


def report_lines(sol) -> Lines:
    """Return the report as pairs (what, text)."""
    known, stats, model = facts(sol), sol.stats, sol.plan.model
    found: Lines = []
    tolerances = known["tolerances"]
    for line in known.get("summary", known.get("why", "")).splitlines():
        name, _, text = line.partition(": ")
        if name == "step" and tolerances["step"] is None and "atol" not in text:
            text += f", atol {_absolute(tolerances['atol'], tolerances['rtol'])}"
        found.append((name, text))
    if tolerances["constraint_tol"] is not None:
        what = "constraints" if model.n_constraints or model.n_lam else "invariants"
        found.append((what, f"kept to {tolerances['constraint_tol']:g}, as a distance"))
    kept = "every step kept" if sol.trail.steps_kept else f"{len(sol.t)} times kept"
    found.append(("steps", f"{stats['steps']}, {stats['rejected']} rejected, {kept}"))
    if sol.trail.named is not None:
        found.append(("kept", f"{sol.trail.named}; whole states at the beginning and the end"))
        sol = sol.ends
    if sol.trail.ends_alone:
        found.append(("kept", ENDS_ALONE))
    if stats["failed attempts"]:
        lost = stats["projection failures"]
        found.append(("failed", f"{stats['failed attempts']} attempts, {lost} of them in the projection"))
    pulls = f", {stats['pulls']} pulls" if known.get("pulls", True) else ""
    found.append(("evaluations", f"{stats['field evaluations']} of the field{pulls}"))
    if stats["residuals"]:
        found.append(
            ("implicit", f"{stats['residuals']} residuals, {stats['Jacobians']} Jacobians, "
             f"{stats['factorizations']} factorizations")
        )  # fmt: skip
    if model.nv:
        found.append(("pivot ratio", f"{stats['smallest pivot ratio']:.1e} at the smallest"))
    if stats["stiff"]:
        found.append(("stiffness", "met: the step was limited by stability"))
    if sol.error is not None:
        found.append(("error", str(sol.error)))
    found += _drift(sol)
    if not model.is_ode and len(sol.t):
        found.append(("energy", _energy(sol)))
    if sol.events:
        found.append(("events", ", ".join(f"{name} {len(log)}" for name, log in sol.events.items())))
    if sol.switches:
        found.append(("switches", told(sol.switches)))
    moved_q, moved_v, *moved_w = known["moved"]
    if known.get("impact"):
        found.append(("start", f"an impact: impulses of the constraints changed v by {moved_v:.1e}"))
    elif moved_q or moved_v:
        found.append(("start", f"moved onto the constraints, by {moved_q:.1e} in q and {moved_v:.1e} in v"))
    if model.nw and moved_w:
        found.append(("algebraic", f"solved for at every point; w0 was off by {moved_w[0]:.1e} at the start"))
    if known.get("root"):
        found.append(("solution for y", known["root"]))
    if known["not_unique"]:
        how = "as many rows as are redundant carry none" if known["redundant"] == "drop" else "the smallest are given"
        names = known["not_unique"]
        listed = ", ".join(map(repr, names)) if len(names) <= FEW else f"{rows_in_short(names)} (diagnose() lists them)"
        found.append(("not unique", f"reactions of {listed}; {how}"))
    if sol.trail.data is None:
        found.append(("loaded", "without the model: between its times sol(t) is cubic Hermite in (q, v), (v, a)"))
    found.append(("versions", ", ".join(f"{name} {version}" for name, version in known["versions"].items())))
    return found


def _energy(sol) -> str:
    """How well the total is kept; without a potential there is no total to keep."""
    if not sol.plan.model.has_potential:
        first, last = sol.energy.kinetic[[0, -1]]
        return f"kinetic {first:.3g} J at first, {last:.3g} J at last; without potential= there is no total"
    change = _largest(sol.energy.total - sol.energy.total[0])
    return f"changes by {change:.2e} J, {_largest(sol.energy_error):.1e} relative"


def _absolute(atol, rtol: float) -> str:
    if atol is None:
        return by_size(rtol)
    if np.ndim(atol) == 0:
        return f"{atol:g}"
    given = [value for value in atol if value is not None]
    return f"{min(given):g} to {max(given):g} by component" + (f", else {by_size(rtol)}" if len(given) < len(atol) else "")


def _drift(sol) -> Lines:
    found: Lines = []
    for level in sol.drift:
        worst = sol.drift.worst(level)
        row = "" if worst.label == level else f"{worst.label!r} "
        found.append(("drift" if not found else "", f"{level} {worst.value:.1e} ({row}at t = {worst.t:.6g})"))
    return found


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def as_text(sol) -> str:
    """Return the report for a terminal."""
    if sol.trail.single or sol.trail.parent is not None:
        return _states(sol)
    rows = report_lines(sol)
    wide = max(len(name) for name, _ in rows)
    return "\n".join([heading(sol), *(f"  {name:<{wide}}  {text}" for name, text in rows)])


def _states(sol) -> str:
    """A solution at chosen times: the state itself if it is one, else how many and where."""
    model = sol.plan.model
    letters = ["y"] if model.is_ode else ["q", "v", "s", "w", "a", "lam"]
    if is_dae(model):
        letters = ["x", "dx", "ddx"][: order_of(model)] + letters
    if sol.trail.single:
        values = {letter: getattr(sol, letter) for letter in letters}
        with np.printoptions(precision=8, threshold=20):
            parts = [f"  {letter:<3}  {value}" for letter, value in values.items() if value.size]
        return "\n".join([f"Solution at t = {float(sol.t):.8g} s", *parts])
    if not len(sol.t):
        return "Solution at no time"
    shown = [letter for letter in letters if letter not in ("s", "w") or getattr(model, f"n{letter}")]
    return f"Solution at {len(sol.t)} times from {sol.t[0]:.6g} to {sol.t[-1]:.6g} s: {', '.join(shown)}"


def as_html(sol) -> str:
    """Return the report for a notebook."""
    import html

    if sol.trail.single or sol.trail.parent is not None:
        return f"<pre>{html.escape(_states(sol))}</pre>"
    cell = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
    body = "".join(
        f'<tr><th style="{cell};font-weight:600">{html.escape(name)}</th><td style="{cell}">{html.escape(text)}</td></tr>'
        for name, text in report_lines(sol)
    )
    head = f"<strong>{html.escape(heading(sol))}</strong>"
    return f'<div>{head}<table style="margin-top:4px">{body}</table></div>'


SOFTWARE = ("lam-2015",)  # Numba, with which kernels are built


@cache
def bibliography() -> dict[str, str]:
    """Return the entries of references.bib by key."""
    text = (files("holonomic") / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^(?=@)", text, flags=re.MULTILINE)[1:]
    return {re.match(r"@\w+\{([^,]+),", entry).group(1): entry.strip() for entry in entries}  # type: ignore[union-attr]


def keys(plan) -> tuple[str, ...]:
    """Return the keys of the methods a plan uses, in the order formulation, integrator, stabilization."""
    choice, model = plan.choice, plan.model
    # without constraints the formulation does nothing
    used = [choice.formulation] if model.n_lam else []
    used += [choice.integrator, choice.stabilization]
    return tuple(dict.fromkeys(key for method in used for key in method.references))


def keys_of_run(sol) -> tuple[str, ...]:
    """Return the keys of all methods that a run used."""
    if sol.trail.data is None:
        return tuple(sol.trail.known["facts"]["references"])
    plans = [part.trail.plan for part in sol.trail.parts] or [sol.plan]
    return tuple(dict.fromkeys(key for plan in plans for key in keys(plan)))


def bibtex(wanted: tuple[str, ...]) -> str:
    """Return BibTeX entries."""
    known = bibliography()
    return "\n\n".join(known[key] for key in wanted) + "\n"
