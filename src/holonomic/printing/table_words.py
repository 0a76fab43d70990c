"""What members of a sweep share where their model is tables: words of `table_member`, and numbers that follow from data alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..assembly.collection import Collection, KindTable
from ..assembly.kinds import Function
from ..kernels.elements import BODY, FORCE, NORMS, ROWS, SPEEDS, STATE
from ..model.tape import Tape
from .elimination_words import EliminationOrder, eliminated
from .tape_passes import evaluate
from .word_places import HEAD, NONE, PART


class KindShape(NamedTuple):
    """What is known of a kind of elements wherever it stands; equal shapes run the same code."""

    what: int
    ends: tuple[tuple[int, int], ...]  # q and v of each end
    by_q: bool  # whether its columns are coordinates
    rows: int
    full: bool
    rates: bool
    own: int
    length: int  # numbers that its function writes
    function: str
    settling: str

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of each end."""
        return tuple(end[0 if self.by_q else 1] for end in self.ends)

    @property
    def order(self) -> tuple:
        """Bodies first, then states and forces, then rows."""
        return (BODY, STATE, FORCE, ROWS, SPEEDS, NORMS).index(self.what), *map(repr, self)


class WantedContext(NamedTuple):
    """A context that is wanted: kinds with the functions that are called, and what is eliminated.

    `weights`: "mass" where bodies give W⁻¹, "metric" where it is that of projections, and factors are written out; None: there is
    no elimination.
    """

    tables: Sequence[tuple[KindTable, str]]
    weights: str | None = None
    by_q: bool = False


class AlikeElements:
    """All elements of one shape in a context."""

    def __init__(self, shape: KindShape, function: Function):
        self.shape, self.function = shape, function
        self.ends: list[np.ndarray] = []  # lumps, of each element
        self.sources: list[np.ndarray] = []  # places in data
        self.first: list[int] = []  # rows in the model

    def add(self, table: KindTable, sources: np.ndarray) -> None:
        """More elements."""
        self.ends += list(table.ends)
        self.sources += list(sources)
        self.first += table.first.tolist()


class ContextTables(NamedTuple):
    """One context: its parts in order, where its words begin, and how long its factors are."""

    parts: list[AlikeElements]
    head: int
    length: int

    @property
    def parts_at(self) -> int:
        return self.head + len(HEAD)


def parts_of(c: Collection, tables: Sequence[tuple[KindTable, str]], by_q: bool) -> list[AlikeElements]:
    """Elements by their shapes."""
    found: dict[KindShape, AlikeElements] = {}
    for table, name in tables:
        kind, function = table.kind, table.kind.function(name)
        ends = tuple(_widths(c, lump) for lump in table.ends[0].tolist())
        settling, main = function.tapes
        shape = KindShape(
            kind.what, ends, by_q, kind.rows, bool(kind.full), bool(kind.rates), kind.own, function.length, main.text(),
            "" if settling is None else settling.text(),
        )  # fmt: skip
        found.setdefault(shape, AlikeElements(shape, function)).add(table, c.places(table, function))
    return sorted(found.values(), key=lambda part: part.shape.order)


def _widths(c: Collection, lump: int) -> tuple[int, int]:
    """Coordinates and velocities of a lump."""
    if lump < len(c.lumps):
        return c.nq * int(c.lumps.sizes[lump]), c.nv * int(c.lumps.sizes[lump])
    return c.states[lump - len(c.lumps)], 0


class TableWords:
    """Words of all contexts of a collection, written one behind the other.

    Parameters
    ----------
    c : Collection
    own : sequence of int
        Places in data that differ between members.
    n_data : int
        Numbers in data; what follows from them stands behind.

    Attributes
    ----------
    words : list of int
    room : int
        Numbers that a call works on.
    """

    def __init__(self, c: Collection, own: Sequence[int], n_data: int, first: int):
        self.c, self.n_data = c, n_data
        self.own = {place: k for k, place in enumerate(own)}
        self.words = [0] * first
        self.room = 0
        self._behind = n_data
        self._settled: list[tuple[int, Tape | None, np.ndarray]] = []  # place in common, tape, places in data
        self._factors: list[tuple[int, np.ndarray]] = []
        self._redundant: list[tuple[int, bool]] = []  # word, whether it is that of rows by q
        self._known: dict[tuple, int] = {}

    def common(self, data: np.ndarray) -> np.ndarray:
        """Numbers that all members share: data, and what follows from it."""
        found = np.empty(self._behind)
        found[: self.n_data] = data
        for place, tape, sources in self._settled:
            values = data[sources] if tape is None else evaluate(tape, data[sources])
            found[place : place + len(values)] = values
        for place, factors in self._factors:
            found[place : place + len(factors)] = factors
        return found

    def array(self) -> np.ndarray:
        """The words as they are now: how many rows repeat others is learnt on the way."""
        for place, by_q in self._redundant:
            self.words[place] = self.c.redundant_q if by_q else self.c.redundant
        return np.array(self.words, dtype=np.int32)

    def contexts(self, asked: Mapping[str, WantedContext]) -> dict[str, ContextTables]:
        """Write contexts, all their heads first: programs know these by their places."""
        found: dict[str, ContextTables] = {}
        for name, each in asked.items():
            found[name] = ContextTables(parts_of(self.c, each.tables, each.by_q), len(self.words), 0)
            self.words += [0] * (len(HEAD) + PART * len(found[name].parts))
        return {name: self._written(found[name], each) for name, each in asked.items()}

    def _written(self, context: ContextTables, asked: WantedContext) -> ContextTables:
        """Write a context, and return it with the length of its factors."""
        c, parts, by_q, weights = self.c, context.parts, asked.by_q, asked.weights
        head: dict[str, int] = {"N_Q": c.nq * c.n_bodies + c.n_states, "N_V": c.nv * c.n_bodies, "GAINS": c.at_gains}
        head["N_POSITION"] = c.n_constraints + c.n_invariants
        starts = [0, *accumulate(_widths(c, lump)[0 if by_q else 1] for lump in range(c.n_lumps))]
        columns = starts[-1]
        rows = [part for part in parts if part.shape.what >= ROWS]
        found = eliminated(
            [(k, e, part.shape.rows, part.ends[e]) for k, part in enumerate(parts) if weights and part in rows
             for e in range(len(part.ends))]
        )  # fmt: skip
        n = found.n_rows
        head |= {"N_ROWS": n, "N_COLUMNS": columns, "N_ENTRIES": found.n_entries}
        writes = [0, *accumulate(len(part.ends) * part.shape.length for part in parts)]
        if weights is None:
            writes = [0] * len(parts) + [0]
        line = max([1, *(part.shape.length for part in parts), *(max(part.shape.widths) ** 2 for part in parts)])
        given = max([0, *(len(part.function.sources) for part in parts)])
        settled = max([0, *(part.function.settled for part in parts)])
        sizes = {
            "AT_F": columns, "AT_A": columns, "AT_B": columns, "AT_G": n, "AT_LAM": n, "AT_R": n, "AT_DIAGONAL": n, "AT_LINE": line,
            "GIVEN": given, "SETTLED": settled, "AT_O": writes[-1], "AT_L": found.n_entries,
        }  # fmt: skip
        if weights == "metric":  # of what is written out, places behind ρ and the lengths of the rows; W⁻¹ stands behind the rows
            del sizes["AT_O"], sizes["AT_L"]
            head |= {"AT_O": 1 + n, "AT_W": writes[-1], "AT_L": 1 + n + writes[-1] + columns}
            context = context._replace(length=1 + n + writes[-1] + columns + found.n_entries)
        at = 0
        for name, size in sizes.items():
            head[name] = at
            at += size
        self.room = max(self.room, at)
        at_given, at_settled = head.pop("GIVEN"), head.pop("SETTLED")
        for k, part in enumerate(parts):
            base = context.parts_at + PART * k
            first = part.first if weights is None else [found.first.get((k, e), 0) for e in range(len(part.ends))]
            self.words[base : base + PART] = [
                len(part.ends), self._list(("places", by_q), part, self._places(part)), self._numbers(part),
                self._list(("ends", by_q), part, [starts[lump] for ends in part.ends for lump in ends.tolist()]),
                self._new(first), writes[k], at_given, at_settled,
            ]  # fmt: skip
        if weights:
            head |= self._elimination(context, found, writes, starts, head.get("AT_W"))
        if weights == "metric":
            places, values = c.weights_of("q" if by_q else "v")
            order = [place for lump in range(c.n_lumps) for place in self._columns(lump, by_q)]
            head |= {
                "COLUMN_ORDER": self._new(order), "FACTORS": self._behind,
                "METRIC": self._new([NONE if places[i] < 0 else self._code(int(places[i])) for i in order]),
            }  # fmt: skip
            self._factors.append((self._behind, np.array([values[i] for i in order], dtype=float)))
            self._behind += len(order)
        for name, value in head.items():
            self.words[context.head + HEAD.index(name)] = value
        self._redundant.append((context.head + HEAD.index("REDUNDANT"), by_q))
        return context

    def _columns(self, lump: int, by_q: bool) -> list[int]:
        """The model's numbers of the columns of a lump."""
        c = self.c
        if lump >= len(c.lumps):
            return c.state_places(lump).tolist() if by_q else []
        each = c.nq if by_q else c.nv
        return [each * body + i for body in c.lumps[lump] for i in range(each)]

    def _places(self, part: AlikeElements) -> list[int]:
        """Places in x of the arguments of all elements: q of the ends, then v of the ends."""
        c, found = self.c, []
        nq = c.nq * c.n_bodies + c.n_states
        for ends in part.ends:
            lumps = ends.tolist()
            found += [place for lump in lumps for place in self._columns(lump, True)]
            found += [nq + place for lump in lumps for place in self._columns(lump, False)]
        return found

    def _code(self, place: int) -> int:
        """How a place in data is written down: as it is, or, where it is of a member's own, below -1."""
        return place if place not in self.own else -2 - self.own[place]

    def _numbers(self, part: AlikeElements) -> int:
        """Where the numbers of all elements stand: in what is shared, or, below zero, what they are to be made of."""
        found, settling = [], part.function.tapes[0]
        for sources in part.sources:
            key = ("numbers", part.shape.settling or part.function.settled, tuple(sources.tolist()))
            if key not in self._known:
                if any(place in self.own for place in sources.tolist()):
                    self._known[key] = -1 - self._new([self._code(place) for place in sources.tolist()])
                else:
                    self._known[key] = self._behind
                    self._settled.append((self._behind, settling, sources))
                    self._behind += part.function.settled
            found.append(self._known[key])
        return self._new(found)

    def _list(self, key: tuple, part: AlikeElements, values: list[int]) -> int:
        """Words that may be there already."""
        known = (*key, tuple(values))
        if known not in self._known:
            self._known[known] = self._new(values)
        return self._known[known]

    def _new(self, values: Sequence[int]) -> int:
        self.words += [int(value) for value in values]
        return len(self.words) - len(values)

    def _elimination(
        self, context: ContextTables, found: EliminationOrder, writes: list[int], starts: list[int], at_W: int | None
    ) -> dict[str, int]:
        """Words of the elimination: what is added where, and what pivots do."""
        parts = context.parts
        weights = {}  # of lumps: place of W⁻¹, whether it is whole
        for k, part in enumerate(parts):
            if part.shape.what == BODY:
                for e, ends in enumerate(part.ends):
                    weights[int(ends[part.shape.own])] = writes[k] + e * part.shape.length, part.shape.full
        words: list[int] = []
        for lump, touches in found.touches.items():
            W, full = (at_W + starts[lump], False) if at_W is not None else weights[lump]
            width = starts[lump + 1] - starts[lump]
            blocks = []
            for k, e, end in touches:
                shape = parts[k].shape
                place = writes[k] + e * shape.length + 3 * shape.rows + sum(shape.widths[:end])
                blocks.append((place, sum(shape.widths), shape.rows, found.first[k, e]))
            for one, others in found.pairs(touches):
                place, step, rows, first = blocks[one]
                words += [place, step, rows, W, width, int(full), len(others)]
                words += [word for other in others for word in blocks[other][:3]]
                for i in range(rows):
                    for number, other in enumerate(others):
                        _, _, m, before = blocks[other]
                        last = i + 1 if number == len(others) - 1 else m
                        words += [found.place[first + i, before + j] for j in range(last)]
        order = [0] * found.n_rows
        for (k, e), first in found.first.items():
            for i in range(parts[k].shape.rows):
                order[first + i] = parts[k].first[e] + i
        touches_at = self._new(words)
        points = []
        for pivot in range(found.n_rows):
            below = found.below[pivot]
            targets = [found.place[below[i], below[j]] for i in range(len(below)) for j in range(i + 1)]
            points += [found.place[pivot, pivot], self._new([len(below), *below, *targets])]
        n_touches = sum(len(found.pairs(touches)) for touches in found.touches.values())
        return {"TOUCHES": touches_at, "N_TOUCHES": n_touches, "POINTS": self._new(points), "ROW_ORDER": self._new(order)}


def shapes_of(context: ContextTables) -> dict[str, Any]:
    """What `table_member` knows of the parts of a context beforehand."""
    shapes = [part.shape for part in context.parts]
    return {
        "n_parts": len(shapes), "head": context.head, "parts_at": context.parts_at,
        "what": tuple(shape.what for shape in shapes),
        "arguments": tuple(sum(map(sum, shape.ends)) for shape in shapes),
        "given": tuple(len(part.function.sources) for part in context.parts),
        "ends": tuple(len(shape.ends) for shape in shapes),
        "widths": tuple(shape.widths for shape in shapes),
        "columns": tuple(sum(shape.widths) if shape.what != BODY else shape.widths[shape.own] for shape in shapes),
        "wide": tuple(shape.ends[shape.own][0] for shape in shapes),
        "before": tuple(sum(end[0] for end in shape.ends[: shape.own]) for shape in shapes),
        "full": tuple(shape.full for shape in shapes),
        "rates": tuple(shape.rates for shape in shapes),
        "weights": tuple(shape.widths[shape.own] ** (2 if shape.full else 1) for shape in shapes),
        "rows": tuple(shape.rows for shape in shapes),
        "lengths": tuple(shape.length for shape in shapes),
        "has_rows": any(shape.what >= ROWS for shape in shapes),
    }  # fmt: skip
