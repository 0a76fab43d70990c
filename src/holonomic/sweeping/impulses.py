"""Impulses with which the members of a sweep begin: nothing of them is kept, they follow from the starts that were given."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import BadArgument, HolonomicError, RedundancyWarning
from ..loop.batch import enter_tables
from ..results.naming import rows_of, stems, unknown
from ..starting.impulse import Impact
from ..starting.initial import prepare
from .job import Job
from .members import rows_of as starts_of


def impact_of(job: Job, first: int, last: int) -> Impact:
    """Return what caught a stretch of members, with a last axis that runs along them; NaN where one cannot start."""
    if job.initial != "impact":
        raise BadArgument('the members did not begin with an impact: impulses come with sweep(..., initial="impact").')
    model, n = job.plan.model, last - first
    q, by_row = np.full((model.nq, n), np.nan), np.full((model.n_lam, model.nv, n), np.nan)
    DATA, tables = job.data_of(first, last), job.tables.for_kernels(job.tables.rows(first, last))
    Q, V = starts_of(job.q0, first, last), starts_of(job.v0, first, last)
    for m in range(n):
        if len(job.tables.at):
            enter_tables(m, job.t0, job.forward, DATA[m], tables)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RedundancyWarning)  # the sweep has warned of it
                begin = prepare(
                    model, job.t0, Q[m].copy(), V[m].copy(), DATA[m], tol=job.program.tol, initial="impact", hold=None,
                    redundant=job.program.redundant,
                )  # fmt: skip
        except HolonomicError:  # it is in runs.failed
            continue
        assert begin.impact is not None
        q[:, m], by_row[:, :, m] = begin.impact.q, begin.impact.by_row
    return Impact(q, by_row)


def impulses(job: Job, first: int, last: int, label: str | None = None) -> np.ndarray:
    """-GᵀΛ of all rows, or of one constraint, on a stretch of members, (member, nv)."""
    rows: slice | list[int] = slice(None)
    if label is not None:
        labels = job.plan.model.row_labels if not job.plan.model.is_ode else []
        rows = rows_of(label, labels)
        if not rows:
            raise unknown(label, "constraint", {"constraints": stems(labels)})
    parts = [impact_of(job, begin, min(begin + job.chunk, last)).by_row for begin in range(first, last, job.chunk)]
    return np.concatenate([part[rows].sum(axis=0).T for part in parts])
