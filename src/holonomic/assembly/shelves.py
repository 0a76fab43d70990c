"""Tables as `kernels.eights` takes them: eight elements side by side, and a context for some of them.

Lumps stand on shelves, one for each kind of body. `arrange` lays out one context of a collection: which kinds are called, what
their columns are, where everything lies, and the program of elimination.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..kernels.eights import EIGHTS, SHELF
from ..kernels.elements import BODY, FORCE, NORMS, ROWS, SPEEDS, STATE
from .collection import Collection, Context, KindTable
from .front_program import FrontProgram, Fronts, Structure
from .kinds import Function
from .shared_room import Places, SharedRoom

TRUE_EIGHT = 0x0101010101010101  # eight of these, as one whole number


def groups_of(count: int) -> int:
    """Into how many groups of eight so many elements go."""
    return -(-count // 8)


def places(count: int, width: int, start: int = 0) -> np.ndarray:
    """Place of the first number of each of so many elements with `width` numbers, eight side by side.

    A table is cut into eight pieces that stand side by side: of a chain, what is joined stands at the same place of neighbouring
    groups, and is read without looking up where each of eight is.
    """
    e, groups = np.arange(count), groups_of(count)
    return start + 8 * width * (e % groups) + e // groups


def standing(count: int) -> np.ndarray:
    """The how manyth each of so many elements is where they stand: so all eight of a group go in the same way."""
    e, groups = np.arange(count), groups_of(count)
    group, longer = e % groups, count % groups  # some groups have one element more than the others
    return group * (count // groups) + np.minimum(group, longer) + e // groups


def in_their_order(own: np.ndarray) -> np.ndarray:
    """Places of elements, as they stand."""
    ordered = np.empty_like(own)
    ordered[standing(len(own))] = own
    return ordered


def joined(rows: list[np.ndarray]) -> np.ndarray:
    """Whole numbers, one row after the other."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *rows]).astype(np.int64, copy=False)


def in_eights(x: np.ndarray) -> np.ndarray:
    """Rows of a table, eight to a group, each group column by column; a group of fewer is filled up with its last."""
    groups = groups_of(len(x))
    eights = np.empty((groups, x.shape[1], 8), dtype=x.dtype)
    for piece in range(8):
        own = x[groups * piece : groups * (piece + 1)]
        eights[: len(own), :, piece] = own
        if piece:
            eights[len(own) :, :, piece] = eights[len(own) :, :, piece - 1]
    return eights


def whole_eights(flags: np.ndarray) -> np.ndarray:
    """Which eights, the last index, are true in all places."""
    return np.ascontiguousarray(flags).view(np.int64)[..., 0] == TRUE_EIGHT


def marked(x: np.ndarray, count: int = 0) -> np.ndarray:
    """Eight places, the last index, as `native.eight` reads them: ~p where p, p + 1, ... follow one another.

    `x` has one row for each group of `count` elements; copies in the last of a group need not follow where it begins a row of eight
    places, of which the others are copies, too.
    """
    following = x - x[..., :1] == np.arange(8)
    if count:
        first = max(0, count - 7 * len(x))  # of the groups with copies
        copies = np.arange(first, len(x))[:, None] + len(x) * np.arange(8) >= count
        copies = copies.reshape(len(copies), *(1,) * (x.ndim - 2), 8)
        following[first:] |= copies & (x[first:, ..., :1] % 8 == 0)
    x, together = np.array(x), whole_eights(following)
    x[together, 0] = ~x[together, 0]
    return x


def shortened(x: np.ndarray) -> np.ndarray:
    """Places that are `marked`, a word for eight: ~p where they follow one another, else where the eight are, behind all words.

    Eight times the same place, as of a number that all elements share, stand there once.
    """
    eights = x.reshape(-1, 8)
    words = eights[:, 0].copy()
    apart = np.flatnonzero(words >= 0)
    own = eights[apart]
    same = whole_eights(own == own[:, :1])
    values, which = np.unique(own[same, 0], return_inverse=True)
    many = len(apart) - len(which)
    words[apart[~same]] = len(words) + 8 * np.arange(many)
    words[apart[same]] = len(words) + 8 * (many + which)
    return np.concatenate([words, own[~same].ravel(), np.repeat(values, 8)])


def turned(into: np.ndarray) -> np.ndarray:
    """`into` as `eights.into_places` reads it: marked where 64 places take eight neighbours each of eight pieces of the model."""
    into = np.array(into)
    blocks = into[: len(into) // 64 * 64].reshape(-1, 8, 8)
    some = whole_eights(whole_eights(blocks - blocks[:, :1] == np.arange(8)[:, None]))
    blocks[some, 0, 0] = ~blocks[some, 0, 0]
    return into


def part_key(table: KindTable, some: np.ndarray) -> tuple[int, int, int]:
    """What tells some elements of a table from others."""
    return id(table), int(some[0]), len(some)


def of_part(x: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Rows of some elements of a table."""
    return x if len(some) == len(x) else x[some]


class Shelves:
    """Where lumps stand: those of one kind of body side by side.

    Attributes
    ----------
    widths : (bodies' tables, 3) array
        Of q, v and columns.
    starts : (bodies' tables, 3) array
        Where a shelf begins among each.
    lumps : (lumps, 3) array
        Place of the first number of each lump.
    shelf : (lumps,) array
        On which it stands.
    """

    def __init__(self, c: Collection, columns: int, by: str):
        self._c, self._by = c, by
        each = np.array([c.nq, c.nv, columns])
        tables = c.of(BODY, STATE)
        self.tables, self.columns = tables, columns
        self.ends = [np.ascontiguousarray(table.ends[:, table.kind.own]) for table in tables]
        self.is_body = [table.kind.what == BODY for table in tables]
        self.groups = np.array([groups_of(len(ends)) for ends in self.ends], dtype=np.int64)
        of_state = np.array([1, 0, int(by != "v")])  # states have no velocities
        self.widths = np.array([
            each * c.lumps.sizes[ends[0]] if body else of_state * c.states[ends[0] - len(c.lumps)]
            for ends, body in zip(self.ends, self.is_body, strict=True)
        ])  # fmt: skip
        sizes = 8 * self.groups[:, None] * self.widths
        self.starts = np.cumsum(sizes, axis=0) - sizes
        self.sizes = sizes.sum(axis=0)  # places of q, v and columns
        self.lumps = np.empty((c.n_lumps, 3), dtype=np.int64)
        self.shelf = np.empty(c.n_lumps, dtype=np.int64)
        for k, ends in enumerate(self.ends):
            self.shelf[ends] = k
            for which in range(3):
                self.lumps[ends, which] = places(len(ends), self.widths[k, which], self.starts[k, which])
        # bodies of lumps, row by row; of states the places of their numbers in the model
        self._bodies = [
            c.lumps.of(ends) if body else np.array([c.state_places(lump) for lump in ends])
            for ends, body in zip(self.ends, self.is_body, strict=True)
        ]
        self._maps: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def maps(self, which: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which number of the model stands at each place, as it is and `turned`, and at which place each number of the model."""
        if (which, each) not in self._maps:
            into, back = self._map(which, each)
            self._maps[which, each] = into, turned(into), back
        return self._maps[which, each]

    def _map(self, which: int, each: int) -> tuple[np.ndarray, np.ndarray]:
        into = np.empty(self.sizes[which], dtype=np.int64)
        counts = np.array([len(ends) for ends in self.ends])
        back = np.empty(int(counts @ self.widths[:, which]), dtype=np.int64)
        for k, bodies in enumerate(self._bodies):
            width, start = self.widths[k, which], self.starts[k, which]
            if width == 0:
                continue
            model = self._numbers(bodies, which, each).reshape(len(bodies), width) if self.is_body[k] else bodies
            own = in_eights(model).ravel()
            into[start : start + len(own)] = own
            back[model] = places(len(bodies), width, start)[:, None] + 8 * np.arange(width)
        return into, back

    def _numbers(self, bodies: np.ndarray, which: int, each: int) -> np.ndarray:
        """Of lumps the model's numbers: coordinates, velocities, or both, one after the other, in columns by the whole state."""
        c, apart = self._c, lambda each: (each * bodies[:, :, None] + np.arange(each)).reshape(len(bodies), -1)
        if which < 2 or self._by != "x":
            return apart(each)
        return np.concatenate([apart(c.nq), c.nq * c.n_bodies + c.n_states + apart(c.nv)], axis=1)


def arrange(
    c: Collection, tables: list[tuple[KindTable, str]], room: SharedRoom, *, by: str = "v", weights: str | None = None,
    factors: bool = False, calls: bool = False, metric: tuple[np.ndarray, np.ndarray] | None = None,
) -> Context:  # fmt: skip
    """Return a context for these tables, each with the name of the function that is called; it works once the room is there.

    `by` says what the columns of rows are, velocities, coordinates, or "x", both. `weights`: "mass" where bodies give W⁻¹,
    "metric" where it is that of projections, the mechanism's own unless another `metric` is given as `Collection` has it; None:
    nothing is eliminated. With `factors`, what kinds write is what the operator writes, behind ρ and the lengths of the rows; with
    `calls`, another one takes the context, too, in whose room it is written.
    """
    columns = {"v": c.nv, "q": c.nq, "x": c.nq + c.nv}[by]
    return _Arranged(c, tables, room, columns, by, weights, factors, calls, metric).context


class _Arranged:
    """The making of one context."""

    def __init__(
        self, c: Collection, tables, room: SharedRoom, columns: int, by: str, weights: str | None, factors: bool, calls: bool,
        metric,
    ):  # fmt: skip
        self.c, self.context, self.columns, self.room = c, Context(EIGHTS, c.shared), columns, room
        self.by, self.how = by, (columns, by != "v" and bool(c.states))
        self.shelves = shelves = c.once(self.how, lambda: Shelves(c, columns, by))
        self.full = np.zeros(len(shelves.tables), dtype=np.int64)
        self.W, self.steps = np.zeros(len(shelves.tables), dtype=np.int64), np.zeros(len(shelves.tables), dtype=np.int64)
        if weights == "mass":
            self.full[:] = [table.kind.full for table in shelves.tables]
        # of each part with rows: elements, their ends, where rows and G begin, numbers that it writes, widths of columns
        self._nodes: list[tuple] = []
        parts = [part for table, name in tables for part in self._parts(table, name)]
        norms = bool(weights) or by == "x"  # whether rows of quaternions stand beside the others
        n_rows = sum(table.kind.height(name) * len(table.ends) for table, name in tables if norms or table.kind.what != NORMS)
        self.at = 8 * groups_of(1 + n_rows) if factors else 0  # a multiple of eight, as all places are
        self.rows, self.most_numbers, self.most_arguments, self.end_words = 0, 0, 1, 0
        words = [self._kind(*part) for part in parts]
        head = self.context.memory
        head.kinds, head.n_kinds = self.context.hold(words), len(words)
        head.n_rows, head.places_rows = n_rows, self.rows
        head.n_position = c.n_constraints + (len(c.norms.ends) if c.norms is not None else 0)
        self._model_order()
        self._row_maps(n_rows, norms)
        program, written = FrontProgram(np.zeros(1), np.zeros(0), 0, 0, 0, 0, 8), self.at
        if weights == "metric":
            given = c.weights_of(by)
            self._metric(given if metric is None else metric, np.ones(len(shelves.tables), dtype=bool))
        elif weights == "mass" and by == "q" and c.states:  # no projection moves them: W⁻¹ = 0
            n = c.nq * c.n_bodies + c.n_states
            self._metric((np.full(n, -1), np.full(n, np.inf)), ~np.array(shelves.is_body))
        head.shelves, head.n_shelves = self.context.hold(self._shelf_words()), len(shelves.tables)
        if weights is not None:
            program = self._program()
            self.at += program.panels
        self.context.length = self.at
        head.redundant = {"v": c.redundant, "q": c.redundant_q, "x": 0}[by]
        head.measured = int(by == "x")
        head.at_gains = c.at_gains
        self._rooms(program, self.at if not factors else written if calls else 0)

    def _parts(self, table: KindTable, name: str):
        """Elements of one kind whose ends are alike in whether their W⁻¹ is whole: kind, name, ends, elements."""
        ends = table.ends
        if table.kind.what < ROWS or (self.full == self.full[:1]).all():
            return [(table, name, ends, np.arange(len(ends)))]
        full = self.full[self.shelves.shelf[ends]]
        if (full == full[:1]).all():
            return [(table, name, ends, np.arange(len(ends)))]
        alike = np.unique(full, axis=0, return_inverse=True)[1].ravel()
        chosen = [np.flatnonzero(alike == k) for k in range(alike.max() + 1)]
        return [(table, name, ends[some], some) for some in chosen]

    def _kind(self, table: KindTable, name: str, ends: np.ndarray, some: np.ndarray) -> list[int]:
        """The words of one part of a table, see `KIND`."""
        kind, function, count, hold, s = table.kind, table.kind.function(name), len(ends), self.context.hold, self.shelves
        height = kind.height(name)
        groups, many, widths = groups_of(count), ends.shape[1], s.widths[s.shelf[ends[0]]]
        if kind.what == BODY and name == "main":
            own = int(s.shelf[ends[0, 0]])
            self.W[own], self.steps[own] = self.at, function.length
        part = part_key(table, some)
        of_numbers = part, function.sources
        numbers_at, numbers = self.c.once(of_numbers, lambda: self._numbers_of(table, function, some))
        what = BODY if name == "energy" else kind.what  # energies stand one after the other, forces are added up
        whole = int(self.full[s.shelf[ends[0]]] @ (1 << np.arange(many))) if kind.what >= ROWS else int(kind.full)
        alone = 0 if function.calls else count
        key = (*self.how, part, alone)
        ends_at = self.c.once(key, lambda: shortened(marked(in_eights(s.lumps[ends].reshape(count, 3 * many)), alone)))
        words = [
            what, function.eight, count, many, function.settled, height, function.length, self.at, whole,
            int(kind.rates), hold(ends_at), hold(numbers_at), self.rows, groups, hold(widths),
            int(widths[:, 2].sum()), int(s.shelf[ends[0, kind.own]]),
            self.room.numbers((of_numbers, function.settling), numbers, 8 * groups * function.settled),
            numbers.each, function.settling, self.end_words,
        ]  # fmt: skip
        self.most_numbers = max(self.most_numbers, numbers.each)
        block = int(widths[:, 2].max()) ** 2  # of W⁻¹, where the diagonal of S is computed
        self.most_arguments = max(self.most_arguments, int(widths[:, :2].sum()), int(widths[:, 2].sum()), block)
        self.rows += 8 * groups * height
        self.at += 8 * function.length * (1 if what == FORCE else groups)
        if kind.what >= ROWS:
            self.end_words += many * groups
            self._nodes.append((table, some, ends, words[12], words[7] + 24 * height, function.length, widths[:, 2], height))
        return words

    def _numbers_of(self, table: KindTable, function: Function, some: np.ndarray) -> tuple[np.ndarray, Places]:
        """Places in data of the numbers of some elements, as kinds have them; and which part of data that is."""
        numbers = of_part(self.c.places(table, function), some)
        seen = Places(numbers.shape[1], int(numbers.min(initial=1 << 62)), int(numbers.max(initial=-1)) + 1)
        return shortened(marked(in_eights(numbers))), seen

    def _shelf_words(self) -> np.ndarray:
        s = self.shelves
        words = np.zeros((len(s.tables), SHELF), dtype=np.int64)
        words[:, 0], words[:, 1:4], words[:, 4:7] = s.groups, s.widths, s.starts
        words[:, 7], words[:, 8], words[:, 9] = self.W, self.steps, self.full
        return words

    def _model_order(self) -> None:
        c, head, s = self.c, self.context.memory, self.shelves
        for which, (name, each) in enumerate((("q", c.nq), ("v", c.nv), ("c", self.columns))):
            into, as_turned, back = s.maps(which, each)
            setattr(head, f"into_{name}", self.context.hold(as_turned))
            setattr(head, f"from_{name}", self.context.hold(back))
            setattr(head, f"n{name}", len(back))
            setattr(head, f"places_{name}", len(into))
            if name == "c":
                self.into_c = into

    def _row_maps(self, n_rows: int, norms: bool) -> None:
        """Places of the rows of the model: of all that are eliminated, or, where nothing is, of velocities and of positions."""
        head = self.context.memory
        all_rows, positions = ("rows", n_rows, () if norms else (NORMS,)), ("position", head.n_position, (SPEEDS,))
        layout = tuple((*part_key(table, some), start, m) for table, some, _, start, *_, m in self._nodes)
        for name, many, without in (all_rows, positions) if self.by != "x" else (all_rows,):
            # where there are no rows of velocities alone and none of quaternions, both are the same
            kinds = {table.kind.what for table, *_ in self._nodes} if many else set()
            key = ("rows", self.by == "x", many, layout, tuple(sorted(kinds.difference(without))))
            back, into = self.c.once(key, partial(self._row_map, many if kinds else 0, without))
            setattr(head, f"from_{name}", self.context.hold(back))
            setattr(head, f"into_{name}", self.context.hold(into))

    def _row_map(self, many: int, without: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Place of each of so many rows of the model, and which of them stands at each place, `turned`."""
        back, into = np.full(max(1, many), -1, dtype=np.int64), np.zeros(self.rows, dtype=np.int64)
        for table, some, _, start, *_, m in self._nodes:
            if many and table.kind.what not in without:
                model = self._rows_of(table, some)
                back[model] = places(len(some), m, start)[:, None] + 8 * np.arange(m)
                own = in_eights(model).ravel()
                into[start : start + len(own)] = own
        return back, turned(into)

    def _rows_of(self, table: KindTable, some: np.ndarray) -> np.ndarray:
        """The model's rows of some elements: by the whole state those of positions, then those of velocities."""
        own = of_part(table.first, some)[:, None] + np.arange(table.kind.rows)
        of_velocity = self.context.memory.n_position + own
        if self.by != "x" or table.kind.what == NORMS:
            return own
        return of_velocity if table.kind.what == SPEEDS else np.concatenate([own, of_velocity], axis=1)

    def _metric(self, given, which: np.ndarray) -> None:
        """W⁻¹ of the columns on some shelves is that of a metric."""
        head, s = self.context.memory, self.shelves
        head.at_weights = self.at
        self.W[which], self.steps[which] = (self.at + s.starts[:, 2])[which], s.widths[which, 2]
        self.at += int(s.sizes[2])
        places, factors = given
        head.metric = self.context.hold(places[self.into_c])
        head.factors = self.context.hold(factors[self.into_c], float)

    def _program(self) -> FrontProgram:
        """Write the program of elimination into the context."""
        s, head = self.shelves, self.context.memory
        weights = np.empty(len(s.shelf), dtype=np.int64)
        for k, ends in enumerate(s.ends):
            weights[ends] = places(len(ends), self.steps[k], self.W[k])
        row_place, place, stride, of = [], [], [], []
        number, first = 0, {}
        parts = sorted(self._nodes, key=lambda node: -len(node[1]))
        for _, _, ends, start, at, length, widths, m in parts:
            count = len(ends)
            row_place.append(in_their_order(places(count, m, start)))
            begin = places(count, length, at)
            for j in range(ends.shape[1]):
                place.append(begin + 8 * int(widths[:j].sum()))
                stride.append(np.full(count, int(widths.sum())))
                of.append((number, marked(in_eights(weights[ends[:, j]][:, None]), count)[:, 0]))
            first[start] = number
            number += count
        key = ("structure", self.how, *((*part_key(table, some), start, m) for table, some, _, start, *_, m in parts))
        sort, fronts = self.c.once(key, lambda: self._structure(parts))
        written = fronts.program(
            s.widths[s.shelf, 2], self.full[s.shelf], weights, joined(place)[sort], joined(stride)[sort], joined(row_place), self.at
        )
        head.program, head.order = self.context.hold(written.words), self.context.hold(written.order)
        head.groups = len(written.order)
        head.weights_of = self.context.hold(self._weights_of(of, [first[start] for _, _, _, start, *_ in self._nodes]))
        return written

    def _structure(self, parts) -> tuple[np.ndarray, Fronts]:
        """The order of elimination, and in which order touches are told lump by lump."""
        heights, node, lump, number = [], [], [], 0
        for _, _, ends, *_, m in parts:
            count = len(ends)
            heights.append(np.full(count, m))
            for j in range(ends.shape[1]):
                node.append(number + standing(count))
                lump.append(ends[:, j])
            number += count
        node, lump = joined(node), joined(lump)
        sort = np.argsort(lump, kind="stable")
        return sort, _fronts(self.c, Structure(joined(heights), node[sort], lump[sort], len(self.shelves.shelf)))

    @staticmethod
    def _weights_of(of, numbers) -> np.ndarray:
        """For the ends of every eight elements the places of W⁻¹."""
        ends = [np.stack([place for number, place in of if number == each], axis=1).ravel() for each in numbers]
        return shortened(np.concatenate([np.zeros(0, dtype=np.int64), *ends]))

    def _rooms(self, program: FrontProgram, kept: int) -> None:
        """What lies where in the room of a call."""
        head = self.context.memory
        most = max(head.places_q, head.places_v, head.places_c)
        sizes = (
            ("at_q", head.places_q), ("at_v", head.places_v), ("at_f", most), ("at_a", most), ("at_b", most),
            ("at_r", self.rows), ("at_s", self.rows), ("at_g", self.rows), ("at_diagonal", self.rows),
            ("at_arg", 8 * max(2, self.most_arguments, self.most_numbers)), ("at_front", program.front),
            ("at_block", program.block), ("at_left", program.left), ("at_sides", program.sides), ("at_kept", kept),
        )  # fmt: skip
        self.room.numbers_of_call(self.context, sizes)


def _fronts(c: Collection, structure: Structure) -> Fronts:
    """The order of elimination of a structure, found once for a collection."""
    for each in c.orders:
        if all(np.array_equal(one, other) for one, other in zip(each.structure, structure, strict=True)):
            return each
    c.orders.append(Fronts(structure))
    return c.orders[-1]
