"""What a run along switches has that its field alone does not say: the algebraic unknowns of a Dae, a mean as the field is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..kernels.signatures import Fn
from ..planning.workspace import Workspace
from .onto_constraints import OntoConstraints


def enter_means(plan, pieces: Iterable[tuple[np.ndarray, int, int]], t: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Enter the mean of the y on the sides of switches where the motion goes along them, with the shares of the mean field.

    `pieces` are stretches of rows with the data that the run had there.
    """
    model = plan.model
    size = model.nq + model.nv
    for data, first, last in pieces:
        modes = data[model.data_places["modes"]]  # a view
        along = np.flatnonzero(np.isnan(modes))
        if not len(along):
            continue
        onto = OntoConstraints(plan, data, Workspace(plan).loop.state.W)
        sides = np.where(np.eye(len(along) + 1, len(along), -1), np.inf, -np.inf)  # all false, then each of them true
        for row in range(first, last):
            fields, values = [], []
            for ways in (np.full(len(along), np.nan), *sides):
                modes[along] = ways
                onto.evaluate(t[row], x[row])
                fields.append(onto.row[:size].copy())
                values.append(model.evaluate(Fn.MULTIPLIERS, t[row], x[row, :size], np.zeros(0), data))
            none = fields[1]
            shares = np.linalg.lstsq((np.array(fields[2:]) - none).T, fields[0] - none, rcond=None)[0]
            y[row] = values[1] + shares @ (np.array(values[2:]) - values[1])
        modes[along] = np.nan
